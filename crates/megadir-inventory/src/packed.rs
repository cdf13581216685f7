//! Compact rows that wait to be sorted or written, never stored. Directories are mostly packed as
//! [`columns`], single rows here.
//!
//! ```text
//! row: mask of the fields (2), type (1), length of the name (2), fields, name
//! field: LEB128; times as differences to mtime
//! ```

pub(crate) mod columns;

use megadir::{Attributes, FileType};

use self::columns::Columns;
use crate::row::{Facts, Key, NUMBERS, Row, device_number, nanoseconds};

const HEAD_BYTES: usize = 5;
const FIELDS_BYTES_MAX: usize = NUMBERS * 10;
const MODIFIED: usize = 1;
const CHANGED: usize = 2;
const BORN: usize = 3;
/// errno may be negative.
const ERRNO: usize = 11;
const ACCESSED: usize = 13;
const OTHER_TIMES: [usize; 3] = [CHANGED, BORN, ACCESSED];
const INODE_HIGH: usize = 5;
const ALL_QUERIED: u16 = ((1 << NUMBERS) - 1) & !(1 << INODE_HIGH) & !(1 << ERRNO);

/// Rows of one directory, sorted by name, without errors and hashes.
///
/// Passed from the sorter to a sink without unpacking: a writer copies the bytes into its row group. A
/// directory with many entries arrives in several of these, which ascend. `last_name_bytes` is the length of
/// the last name, which is at the end of `bytes`.
#[derive(Clone, Copy, Debug)]
pub struct PackedRows<'a> {
    pub(crate) root: u32,
    pub(crate) parent: &'a [u8],
    pub(crate) bytes: &'a [u8],
    pub(crate) rows: u32,
    pub(crate) in_columns: bool,
    pub(crate) last_name_bytes: u16,
}

impl<'a> PackedRows<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Iterates over the rows.
    ///
    /// One iterator for both forms, so that callers need not know which one the rows have. Damage ends it
    /// early.
    pub fn iter(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let Self { root, parent, in_columns, .. } = *self;
        let mut bytes = if in_columns { &[] } else { self.bytes };
        let mut columns = self.columns().map(|columns| (columns.each_name().enumerate(), columns));
        std::iter::from_fn(move || {
            let (facts, name) = match &mut columns {
                None => unpack(&mut bytes)?,
                Some((names, columns)) => {
                    let (row, name) = names.next()?;
                    let numbers = std::array::from_fn(|at| columns.numbers[at].get(row));
                    (facts(columns.kind.get(row)? as u8, &numbers), name)
                }
            };
            Some(Row { key: Key { root, parent, name }, facts, error: None })
        })
    }

    pub(crate) fn ends(&self) -> Option<(&'a [u8], &'a [u8])> {
        let first = match self.columns() {
            Some(columns) => columns.each_name().next()?,
            None => unpack_numbers(&mut { self.bytes })?.2,
        };
        Some((first, &self.bytes[self.bytes.len() - usize::from(self.last_name_bytes)..]))
    }

    fn columns(&self) -> Option<Columns<'a>> {
        if self.in_columns { Columns::take(&mut { self.bytes }, self.len()) } else { None }
    }
}

/// Unknown numbers are 0.
///
/// All numbers of a row in the order of the columns; a bit in `have` for each that is there. Unsigned numbers
/// are kept by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) values: [i64; NUMBERS],
    pub(crate) have: u16,
    pub(crate) kind: u8,
}

impl Numbers {
    #[inline]
    pub(crate) fn new(facts: &Facts) -> Self {
        let (mut values, mut have) = ([0; NUMBERS], 0);
        for (bit, (value, number)) in values.iter_mut().zip(facts.numbers()).enumerate() {
            *value = number.unwrap_or(0);
            have |= u16::from(number.is_some()) << bit;
        }
        Self { values, have, kind: facts.kind as u8 }
    }

    /// The usual row, whose attributes are all there, without the detour over [`Facts`]: this runs once for
    /// each entry of a scan.
    #[inline]
    pub(crate) fn queried(listed: FileType, attributes: &Attributes) -> Self {
        let Attributes { have, error, kind, mode, links, user, group, inode, size_bytes, .. } = *attributes;
        let Attributes { device, allocated_bytes, .. } = *attributes;
        if !have.contains(Facts::WANT) || error != 0 {
            return Self::new(&Facts::new(listed, attributes));
        }
        let Attributes { modified, changed, born, accessed, .. } = *attributes;
        let [modified, changed, born, accessed] = [modified, changed, born, accessed].map(nanoseconds);
        let device = device_number(device.0, device.1) as i64;
        let (mode, user, group) = (mode.into(), user.into(), group.into());
        let (size, inode, links) = (size_bytes as i64, inode as i64, links as i64);
        let allocated = allocated_bytes as i64;
        let values = [
            size, modified, changed, born, inode, 0, device, mode, user, group, links, 0, allocated, accessed,
        ];
        Self { values, have: ALL_QUERIED, kind: kind as u8 }
    }

    #[inline]
    pub(crate) fn newest_ns(&self) -> Option<i64> {
        [CHANGED, MODIFIED].into_iter().find(|&time| self.have & 1 << time != 0).map(|time| self.values[time])
    }
}

#[inline]
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[inline]
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// LEB128: seven bits a byte, lowest first.
#[inline]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Times other than mtime are stored as differences to it, since they are equal or near for most files.
/// Differences wrap, so every value comes back. The bytes are put together in an array on the stack and
/// copied once.
pub(crate) fn pack(out: &mut Vec<u8>, row: &Numbers, name: &[u8]) {
    let mut numbers = row.values;
    let modified = numbers[MODIFIED];
    for time in OTHER_TIMES {
        numbers[time] = zigzag(numbers[time].wrapping_sub(modified)) as i64;
    }
    for signed in [MODIFIED, ERRNO] {
        numbers[signed] = zigzag(numbers[signed]) as i64;
    }
    let mut bytes = [0; HEAD_BYTES + FIELDS_BYTES_MAX];
    let mut at = HEAD_BYTES;
    for (bit, number) in numbers.into_iter().enumerate() {
        if row.have & (1 << bit) == 0 {
            continue;
        }
        let mut number = number as u64;
        while number >= 0x80 {
            bytes[at] = number as u8 | 0x80;
            number >>= 7;
            at += 1;
        }
        bytes[at] = number as u8;
        at += 1;
    }
    let [low, high] = row.have.to_ne_bytes();
    // Names of 64 KiB exist on no file system, and a batch rejects them.
    let [short, long] = (name.len() as u16).to_ne_bytes();
    bytes[..HEAD_BYTES].copy_from_slice(&[low, high, row.kind, short, long]);
    out.extend_from_slice(&bytes[..at]);
    out.extend_from_slice(name);
}

#[inline]
fn facts(kind: u8, numbers: &[Option<i64>; NUMBERS]) -> Facts {
    Facts::from_numbers(FileType::ALL[usize::from(kind)], numbers)
}

#[inline]
pub(crate) fn unpack<'b>(bytes: &mut &'b [u8]) -> Option<(Facts, &'b [u8])> {
    let (kind, numbers, name) = unpack_numbers(bytes)?;
    Some((facts(kind, &numbers), name))
}

type Unpacked<'b> = (u8, [Option<i64>; NUMBERS], &'b [u8]);

/// The reverse of [`pack`]. Times other than mtime can only be restored when all numbers are read, because
/// mtime may come later.
#[inline]
pub(crate) fn unpack_numbers<'b>(bytes: &mut &'b [u8]) -> Option<Unpacked<'b>> {
    let (&[low, high, kind, short, long], mut rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let mask = u16::from_ne_bytes([low, high]);
    let mut numbers = [None; NUMBERS];
    for (bit, number) in numbers.iter_mut().enumerate() {
        if mask & (1 << bit) == 0 {
            continue;
        }
        *number = Some(take_varint(&mut rest)? as i64);
    }
    for signed in [MODIFIED, ERRNO].into_iter().chain(OTHER_TIMES) {
        numbers[signed] = numbers[signed].map(|number| unzigzag(number as u64));
    }
    let modified = numbers[MODIFIED].unwrap_or(0);
    for time in OTHER_TIMES {
        numbers[time] = numbers[time].map(|since| since.wrapping_add(modified));
    }
    let (name, after) = rest.split_at_checked(usize::from(u16::from_ne_bytes([short, long])))?;
    *bytes = after;
    Some((kind, numbers, name))
}

#[cfg(test)]
mod tests {
    use super::{Numbers, pack, unpack};
    use crate::row::Facts;
    use megadir::{Attributes, FileType, StatMask, Time};

    #[test]
    fn attributes_are_equal_in_both_encodings() {
        let full = Attributes {
            have: Facts::WANT | StatMask::MOUNT,
            kind: FileType::Fifo,
            mode: 0o1234,
            links: u64::MAX,
            user: 1,
            group: u32::MAX,
            inode: 2,
            size_bytes: 3,
            modified: Time { seconds: -4, nanoseconds: 5 },
            changed: Time { seconds: i64::MAX, nanoseconds: 6 },
            born: Time { seconds: 7, nanoseconds: 8 },
            device: (9, 10),
            allocated_bytes: 12,
            accessed: Time { seconds: 13, nanoseconds: 14 },
            mount: 11,
            ..Attributes::NOTHING
        };
        let fields = [
            StatMask::TYPE,
            StatMask::SIZE,
            StatMask::MODIFIED,
            StatMask::CHANGED,
            StatMask::BORN,
            StatMask::MODE,
            StatMask::OWNER,
        ];
        let lacking = fields.into_iter().chain([
            StatMask::LINKS,
            StatMask::INODE,
            StatMask::DEVICE,
            StatMask::ALLOCATED,
            StatMask::ACCESSED,
        ]);
        let mut all: Vec<Attributes> =
            lacking.map(|field| Attributes { have: Facts::WANT.without(field), ..full }).collect();
        all.extend([full, Attributes::NOTHING, Attributes { error: 13, ..Attributes::NOTHING }]);
        all.push(Attributes { error: 5, ..full });
        for attributes in all {
            let facts = Facts::new(FileType::Directory, &attributes);
            let numbers = Numbers::queried(FileType::Directory, &attributes);
            assert_eq!(numbers, Numbers::new(&facts), "{attributes:?}");
            assert_eq!(numbers.newest_ns(), facts.changed_ns.or(facts.modified_ns));
        }
    }

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
            allocated_bytes: Some(u64::MAX),
            accessed_ns: Some(i64::MAX),
            hash: None,
        };
        let some = Facts { changed_ns: Some(7), group: Some(8), ..Facts::NOTHING };
        let rows = [(full, &b"name"[..]), (Facts::NOTHING, b""), (some, &[0xff; 255])];
        let mut bytes = Vec::new();
        rows.iter().for_each(|(facts, name)| pack(&mut bytes, &Numbers::new(facts), name));
        let mut rest = &bytes[..];
        for row in rows {
            assert_eq!(unpack(&mut rest), Some(row));
        }
        assert_eq!(unpack(&mut rest), None);
    }
}
