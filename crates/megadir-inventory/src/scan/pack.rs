//! Rows as bytes while they wait to be sorted: what is not known takes no room, and small numbers take little.
//!
//! ```text
//! row: which fields follow (2), type (1), length of the name (2), the fields, the name
//! field: seven bits a byte, the lowest first, the highest bit set where more follow; times as differences to mtime
//! ```
//!
//! Hashes come later and are not here. Nothing here is kept: the bytes are read back by the process that made them.

use megadir::FileType;

use crate::row::Facts;

/// What precedes the fields of a row, bytes.
const HEAD_BYTES: usize = 5;
/// What the fields may take, bytes: twelve of at most ten.
const FIELDS_BYTES_MAX: usize = 120;

/// A row's fields as numbers without sign, in their order.
#[inline]
fn numbers(facts: &Facts) -> [Option<u64>; 12] {
    let modified_ns = facts.modified_ns.unwrap_or(0);
    let since = |time_ns: i64| zigzag(time_ns.wrapping_sub(modified_ns));
    [
        facts.size_bytes,
        facts.modified_ns.map(zigzag),
        facts.changed_ns.map(since),
        facts.born_ns.map(since),
        facts.inode,
        facts.inode_high,
        facts.device,
        facts.mode.map(u64::from),
        facts.user.map(u64::from),
        facts.group.map(u64::from),
        facts.links,
        facts.errno.map(|errno| zigzag(errno.into())),
    ]
}

/// Makes facts of a row's fields.
#[inline]
fn facts(kind: FileType, numbers: [Option<u64>; 12]) -> Facts {
    let [size_bytes, modified, changed, born, inode, inode_high, device, mode, user, group, links, errno] =
        numbers;
    let modified_ns = modified.map(unzigzag);
    let since = |difference| unzigzag(difference).wrapping_add(modified_ns.unwrap_or(0));
    Facts {
        kind,
        size_bytes,
        modified_ns,
        changed_ns: changed.map(since),
        born_ns: born.map(since),
        inode,
        inode_high,
        device,
        mode: mode.map(|mode| mode as u16),
        user: user.map(|user| user as u32),
        group: group.map(|group| group as u32),
        links,
        errno: errno.map(|errno| unzigzag(errno) as i32),
        sha256: None,
    }
}

/// Returns a number without sign that is small where the number is near 0.
#[inline]
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[inline]
fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Appends a row.
#[inline]
pub(super) fn pack(out: &mut Vec<u8>, facts: &Facts, name: &[u8]) {
    let mut bytes = [0; HEAD_BYTES + FIELDS_BYTES_MAX];
    let (mut mask, mut at) = (0u16, HEAD_BYTES);
    for (bit, number) in numbers(facts).into_iter().enumerate() {
        let Some(mut number) = number else { continue };
        mask |= 1 << bit;
        while number >= 0x80 {
            bytes[at] = number as u8 | 0x80;
            number >>= 7;
            at += 1;
        }
        bytes[at] = number as u8;
        at += 1;
    }
    let [low, high] = mask.to_ne_bytes();
    // No file system has names of 64 KiB; a batch refuses them.
    let [short, long] = (name.len() as u16).to_ne_bytes();
    bytes[..HEAD_BYTES].copy_from_slice(&[low, high, facts.kind as u8, short, long]);
    out.extend_from_slice(&bytes[..at]);
    out.extend_from_slice(name);
}

/// Takes a row from the front of bytes; `None` when there is none.
#[inline]
pub(super) fn unpack<'b>(bytes: &mut &'b [u8]) -> Option<(Facts, &'b [u8])> {
    let (&[low, high, kind, short, long], mut rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let mask = u16::from_ne_bytes([low, high]);
    let mut numbers = [None; 12];
    for (bit, number) in numbers.iter_mut().enumerate() {
        if mask & (1 << bit) == 0 {
            continue;
        }
        let (mut value, mut shift) = (0, 0);
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        *number = Some(value);
    }
    let (name, after) = rest.split_at_checked(usize::from(u16::from_ne_bytes([short, long])))?;
    *bytes = after;
    Some((facts(FileType::ALL[usize::from(kind)], numbers), name))
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};
    use crate::row::Facts;
    use megadir::FileType;

    #[test]
    fn rows_come_back_as_they_were() {
        let full = Facts {
            kind: FileType::Symlink,
            size_bytes: Some(u64::MAX),
            modified_ns: Some(i64::MIN),
            changed_ns: Some(-1),
            born_ns: Some(0),
            inode: Some(1),
            inode_high: Some(2),
            device: Some(3),
            mode: Some(0o7777),
            user: Some(u32::MAX),
            group: Some(4),
            links: Some(5),
            errno: Some(-6),
            sha256: None,
        };
        let some = Facts { changed_ns: Some(7), group: Some(8), ..Facts::NOTHING };
        let rows = [(full, &b"name"[..]), (Facts::NOTHING, b""), (some, &[0xff; 255])];
        let mut bytes = Vec::new();
        rows.iter().for_each(|(facts, name)| pack(&mut bytes, facts, name));
        let mut rest = &bytes[..];
        for row in rows {
            assert_eq!(unpack(&mut rest), Some(row));
        }
        assert_eq!(unpack(&mut rest), None);
    }
}
