//! Rows as bytes while they wait to be sorted: what is not known takes no room.
//!
//! ```text
//! row: which fields follow (2), type (1), length of the name (2), the fields, the name
//! ```
//!
//! Hashes come later and are not here. Nothing here is kept: the bytes are read back by the process that made them.

use megadir::FileType;

use crate::row::Facts;

/// What precedes the fields of a row, bytes.
const HEAD_BYTES: usize = 5;

/// Tells which fields follow, and appends them.
macro_rules! put {
    ($facts:expr, $out:expr, $($bit:literal: $field:ident),*) => {{
        let mut mask = 0u16;
        $(if let Some(value) = $facts.$field {
            mask |= 1 << $bit;
            $out.extend_from_slice(&value.to_ne_bytes());
        })*
        mask
    }};
}

/// Takes back the fields that follow.
macro_rules! take {
    ($mask:expr, $bytes:expr, $facts:expr, $($bit:literal: $field:ident: $type:ty),*) => {{
        let mut rest: &[u8] = $bytes;
        $(if $mask & (1 << $bit) != 0 {
            let (value, after) = rest.split_first_chunk()?;
            $facts.$field = Some(<$type>::from_ne_bytes(*value));
            rest = after;
        })*
        rest
    }};
}

/// Appends a row.
#[inline]
pub(super) fn pack(out: &mut Vec<u8>, facts: &Facts, name: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    let mask = put!(facts, out, 0: size_bytes, 1: modified_ns, 2: changed_ns, 3: born_ns, 4: inode, 5: inode_high,
        6: device, 7: mode, 8: user, 9: group, 10: links, 11: errno);
    let [low, high] = mask.to_ne_bytes();
    // No file system has names of 64 KiB; a batch refuses them.
    let [short, long] = (name.len() as u16).to_ne_bytes();
    out[start..start + HEAD_BYTES].copy_from_slice(&[low, high, facts.kind as u8, short, long]);
    out.extend_from_slice(name);
}

/// Takes a row from the front of bytes; `None` when there is none.
#[inline]
pub(super) fn unpack<'b>(bytes: &mut &'b [u8]) -> Option<(Facts, &'b [u8])> {
    let (&[low, high, kind, short, long], rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let mask = u16::from_ne_bytes([low, high]);
    let mut facts = Facts { kind: FileType::ALL[usize::from(kind)], ..Facts::NOTHING };
    let rest = take!(mask, rest, facts, 0: size_bytes: u64, 1: modified_ns: i64, 2: changed_ns: i64, 3: born_ns: i64,
        4: inode: u64, 5: inode_high: u64, 6: device: u64, 7: mode: u16, 8: user: u32, 9: group: u32, 10: links: u64,
        11: errno: i32);
    let (name, after) = rest.split_at_checked(usize::from(u16::from_ne_bytes([short, long])))?;
    *bytes = after;
    Some((facts, name))
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
