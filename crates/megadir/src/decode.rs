//! The record format of all batches: the kernel's `linux_dirent64`, so getdents64 is decoded in place.
//!
//! ```text
//! byte  0        8        16   18 19
//!       | inode  | offset | len |t| name ... NUL | padding to a multiple of 8 |
//! ```
//!
//! Padding is uninitialised: the name ends at the *first* NUL among the last eight bytes (`filldir64`).
//! Records are checked once per batch (`check`), so that iterating cannot fail.

pub(crate) const HEADER_BYTES: usize = 19;
pub(crate) const RECORD_BYTES_MIN: usize = 24;
pub(crate) const TYPE_AT: usize = 18;

/// Fields as in the buffer, not yet as an [`Entry`](crate::Entry): `offset` is the position after this
/// record, and `kind` one of the kernel's `DT_*`. `terminated` is the name with its NUL, for system calls
/// that need one; `name` is without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) inode: u64,
    pub(crate) offset: i64,
    pub(crate) record_bytes: u16,
    pub(crate) kind: u8,
    pub(crate) name: &'a [u8],
    terminated: &'a [u8],
}

impl<'a> Record<'a> {
    /// Not copied; a name with a NUL ends there.
    #[cfg(any(unix, windows))]
    #[inline]
    pub(crate) fn c_name(&self) -> &'a std::ffi::CStr {
        std::ffi::CStr::from_bytes_until_nul(self.terminated).unwrap_or(c"")
    }

    #[inline]
    pub(crate) fn is_dot(&self) -> bool {
        self.name[0] == b'.' && (self.name.len() == 1 || (self.name.len() == 2 && self.name[1] == b'.'))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) entries: usize,
    pub(crate) unknown_types: usize,
}

impl Checked {
    #[inline]
    pub(crate) fn count(&mut self, record: &Record<'_>) {
        if !record.is_dot() {
            self.entries += 1;
            self.unknown_types += usize::from(record.kind == 0);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) at: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn rest_bytes(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    #[inline]
    fn next(&mut self) -> Option<Record<'a>> {
        let header: &[u8; RECORD_BYTES_MIN] = self.rest.first_chunk()?;
        let record_bytes = u16::from_ne_bytes([header[16], header[17]]);
        let length = usize::from(record_bytes);
        if length < RECORD_BYTES_MIN {
            return None;
        }
        let (record, rest) = self.rest.split_at_checked(length)?;
        let name_bytes = name_length(record)?;
        let terminated = record.get(HEADER_BYTES..=HEADER_BYTES + name_bytes)?;
        let name = &terminated[..name_bytes];
        if name.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(Record {
            inode: u64::from_ne_bytes(*header.first_chunk()?),
            offset: i64::from_ne_bytes(*header[8..].first_chunk()?),
            record_bytes,
            kind: header[TYPE_AT],
            name,
            terminated,
        })
    }
}

#[inline]
fn name_length(record: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut tail = u64::from_le_bytes(*record.last_chunk()?);
    if record.len() < HEADER_BYTES + 8 {
        let of_header = HEADER_BYTES + 8 - record.len();
        tail |= (1 << (8 * of_header)) - 1;
    }
    // Lowest set bit: first zero byte (Hacker's Delight, section 6-1).
    let zeros = tail.wrapping_sub(LOW) & !tail & HIGH;
    if zeros == 0 {
        return None;
    }
    Some(record.len() - 8 + (zeros.trailing_zeros() / 8) as usize - HEADER_BYTES)
}

pub(crate) fn check(bytes: &[u8]) -> Result<Checked, Malformed> {
    let mut records = Records::new(bytes);
    let mut checked = Checked::default();
    for record in &mut records {
        checked.count(&record);
    }
    match records.rest_bytes() {
        0 => Ok(checked),
        rest => Err(Malformed { at: bytes.len() - rest }),
    }
}

pub(crate) fn record_length(name: &[u8]) -> usize {
    (HEADER_BYTES + name.len() + 1).next_multiple_of(8)
}

pub(crate) fn encode(bytes: &mut Vec<u8>, inode: u64, offset: i64, kind: u8, name: &[u8]) -> bool {
    let length = record_length(name);
    let Ok(record_bytes) = u16::try_from(length) else { return false };
    let end = bytes.len() + length;
    bytes.extend_from_slice(&inode.to_ne_bytes());
    bytes.extend_from_slice(&offset.to_ne_bytes());
    bytes.extend_from_slice(&record_bytes.to_ne_bytes());
    bytes.push(kind);
    bytes.extend_from_slice(name);
    bytes.resize(end, 0);
    true
}

/// Sets the unknown types. `kind_of` gets an entry's number in the batch, from 0 and without `.` and `..`, and its name.
pub(crate) fn resolve_types(bytes: &mut [u8], mut kind_of: impl FnMut(usize, &[u8]) -> u8) {
    let (mut at, mut entry) = (0, 0);
    while let Some(record) = Records::new(&bytes[at..]).next() {
        let next = at + usize::from(record.record_bytes);
        if !record.is_dot() {
            if record.kind == 0 {
                let kind = kind_of(entry, record.name);
                bytes[at + TYPE_AT] = kind;
            }
            entry += 1;
        }
        at = next;
    }
}

/// Fuzz target: arbitrary bytes must not panic, and accepted buffers must be whole records.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let mut copy = bytes.to_vec();
    resolve_types(&mut copy, |_, _| 8);
    let Ok(checked) = check(bytes) else { return };
    let records: Vec<_> = Records::new(bytes).collect();
    let total: usize = records.iter().map(|record| usize::from(record.record_bytes)).sum();
    assert_eq!(total, bytes.len(), "accepted records cover the buffer");
    assert_eq!(records.iter().filter(|record| !record.is_dot()).count(), checked.entries);
    for record in records {
        assert!(!record.name.is_empty());
        let searched_from = (usize::from(record.record_bytes) - 8).saturating_sub(HEADER_BYTES);
        assert!(searched_from <= record.name.len());
        assert!(!record.name[searched_from..].contains(&0));
    }
}

#[cfg(test)]
mod tests {
    use super::{Records, check, encode, resolve_types};
    use proptest::prelude::*;

    #[test]
    fn padding_behind_the_nul_may_hold_anything() {
        for length in 1..64 {
            let name = vec![b'x'; length];
            let mut bytes = Vec::new();
            assert!(encode(&mut bytes, 7, -3, 8, &name));
            let end = 19 + length + 1;
            bytes[end..].fill(0xee);
            let record = Records::new(&bytes).next().unwrap();
            assert_eq!((record.name, record.inode, record.offset, record.kind), (&name[..], 7, -3, 8));
        }
    }

    #[test]
    fn a_record_without_a_nul_is_malformed() {
        let mut bytes = Vec::new();
        encode(&mut bytes, 1, 1, 8, b"abcd");
        encode(&mut bytes, 1, 1, 8, b"abcd");
        bytes[24 + 23] = b'e';
        assert_eq!(check(&bytes).unwrap_err().at, 24);
    }

    #[test]
    fn a_record_of_odd_length_has_its_nul_searched_in_the_name_alone() {
        for length in [24_u16, 25, 26, 27, 28] {
            let mut bytes = vec![b'n'; usize::from(length)];
            bytes[16..18].copy_from_slice(&length.to_ne_bytes());
            bytes[18] = 0;
            *bytes.last_mut().unwrap() = 0;
            let record = Records::new(&bytes).next().unwrap();
            assert_eq!(record.name.len(), usize::from(length) - 20);
            bytes[19] = 0;
            assert!(Records::new(&bytes).next().is_none_or(|record| record.name[0] != 0 || length > 27));
        }
    }

    #[test]
    fn a_name_too_long_for_a_record_is_refused() {
        assert!(!encode(&mut Vec::new(), 1, 1, 8, &vec![b'x'; 70_000]));
    }

    proptest! {
        #[test]
        fn encoding_round_trips(
            entries in prop::collection::vec(
                (any::<u64>(), any::<i64>(), 0u8..15, prop::collection::vec(1u8.., 1..300)), 0..40)
        ) {
            let mut bytes = Vec::new();
            for (inode, offset, kind, name) in &entries {
                prop_assert!(encode(&mut bytes, *inode, *offset, *kind, name));
            }
            let decoded: Vec<_> = Records::new(&bytes)
                .map(|r| (r.inode, r.offset, r.kind, r.name.to_vec()))
                .collect();
            prop_assert_eq!(&decoded, &entries);
            let dots = entries.iter().filter(|e| e.3 == b"." || e.3 == b"..").count();
            prop_assert_eq!(check(&bytes).unwrap().entries, entries.len() - dots);
            resolve_types(&mut bytes, |_, _| 4);
            prop_assert!(Records::new(&bytes).all(|r| r.kind != 0 || r.is_dot()));
        }

        #[test]
        fn cut_off_buffers_are_malformed_never_a_panic(
            name in prop::collection::vec(1u8.., 1..300), cut in 1usize..24
        ) {
            let mut bytes = Vec::new();
            encode(&mut bytes, 1, 2, 8, &name);
            bytes.truncate(bytes.len() - cut);
            prop_assert!(check(&bytes).is_err() || bytes.is_empty());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            super::fuzz(&bytes);
        }
    }
}
