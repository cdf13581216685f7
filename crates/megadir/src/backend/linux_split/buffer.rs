//! Buffers of records, and their records before a position.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::attributes::Attributes;
use crate::backend::linux_getdents::{malformed, read};
use crate::batch::Batch;
use crate::decode::{Checked, Malformed, Records};
use crate::dir::Dir;
use crate::error::Result;
use crate::options::RECORD_BYTES_MAX;
use crate::stat::Examine;

pub(super) struct Filled {
    buffer: Box<[u8]>,
    pub(super) length: usize,
    checked: Checked,
    pub(super) rows: Vec<Attributes>,
}

impl Filled {
    pub(super) fn new(buffer_bytes: usize) -> Self {
        let buffer = vec![0; buffer_bytes].into_boxed_slice();
        Self { buffer, length: 0, checked: Checked::default(), rows: Vec::new() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn has_room(&self) -> bool {
        self.length + RECORD_BYTES_MAX < self.buffer.len()
    }

    pub(super) fn batch(&self) -> Batch<'_> {
        Batch::from_checked(self.bytes(), self.checked, true)
    }

    pub(super) fn scan(&self, before: Option<i64>, end: i64, path: &Path) -> Result<Scanned> {
        scan(self.bytes(), before, end).map_err(|bad| malformed(path, bad))
    }

    pub(super) fn keep(&mut self, inside: &Scanned) {
        self.length = inside.inside_bytes;
        self.checked = inside.inside;
    }

    pub(super) fn examine(&mut self, directory: &Dir, examine: &mut dyn Examine) -> Result<()> {
        let batch = Batch::from_checked(&self.buffer[..self.length], self.checked, true);
        crate::stat::examine(examine, directory, batch, &mut self.rows)
    }

    /// Page faults then do not count for the next call.
    pub(super) fn touch(&mut self) {
        self.buffer.fill(1);
    }

    pub(super) fn fill(
        &mut self,
        directory: BorrowedFd<'_>,
        want_bytes: usize,
        path: &Path,
        calls: &AtomicU64,
    ) -> Result<()> {
        calls.fetch_add(1, Ordering::Relaxed);
        let want_bytes = want_bytes.min(self.buffer.len());
        self.length = read(directory, &mut self.buffer[..want_bytes], path)?;
        Ok(())
    }
}

/// Positions found in a buffer. Inside means before the share's end.
///
/// Made by one pass over a buffer before any entry is returned: it checks the records and finds where the
/// share ends, so that returned records need no further check. `ascending` is `false` if positions do not
/// ascend within the buffer; such a directory cannot be divided. `past_end` is `true` if a record at or past
/// the share's end was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) inside_bytes: usize,
    /// Includes `.` and `..`.
    pub(crate) inside_records: usize,
    pub(crate) inside: Checked,
    pub(crate) past_end: bool,
    pub(crate) ascending: bool,
    /// Offset of the first record, which is the position of the second.
    pub(crate) first_offset: i64,
    /// Offset of the last record, which is the position of the next call's first record.
    pub(crate) last_offset: i64,
}

/// Scans a buffer's positions. `before` is the position of its first record, if known. Offsets may repeat
/// (names of equal hash in ext4) but must not descend.
pub(crate) fn scan(bytes: &[u8], before: Option<i64>, end: i64) -> std::result::Result<Scanned, Malformed> {
    let mut records = Records::new(bytes);
    let mut position = before;
    let mut scanned = Scanned { ascending: true, last_offset: before.unwrap_or(0), ..Scanned::default() };
    let mut at = 0;
    for record in &mut records {
        scanned.ascending &= position.is_none_or(|position| record.offset >= position);
        scanned.past_end |= end != i64::MAX && position.is_some_and(|position| position >= end);
        if at == 0 {
            scanned.first_offset = record.offset;
        }
        at += usize::from(record.record_bytes);
        if !scanned.past_end {
            scanned.inside_bytes = at;
            scanned.inside_records += 1;
            scanned.inside.count(&record);
        }
        position = Some(record.offset);
        scanned.last_offset = record.offset;
    }
    if records.rest_bytes() > 0 { Err(Malformed { at }) } else { Ok(scanned) }
}

#[cfg(test)]
mod tests {
    use super::scan;
    use crate::decode::encode;

    fn records(offsets: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (index, offset) in offsets.iter().enumerate() {
            assert!(encode(&mut bytes, index as u64 + 1, *offset, 8, b"name"));
        }
        bytes
    }

    #[test]
    fn the_first_record_has_no_position_and_the_last_offset_carries_over() {
        let scanned = scan(&records(&[10, 20, 30]), None, 20).unwrap();
        assert_eq!((scanned.inside_records, scanned.past_end, scanned.last_offset), (2, true, 30));
        let scanned = scan(&records(&[10, 20, 30]), Some(5), 100).unwrap();
        assert_eq!((scanned.inside_records, scanned.past_end), (3, false));
        let scanned = scan(&records(&[10, 20, 30]), Some(5), 5).unwrap();
        assert_eq!((scanned.inside_records, scanned.inside_bytes, scanned.past_end), (0, 0, true));
    }

    #[test]
    fn equal_offsets_ascend_and_descending_ones_do_not() {
        assert!(scan(&records(&[10, 10, 11]), Some(10), 99).unwrap().ascending);
        assert!(!scan(&records(&[10, 9]), None, 99).unwrap().ascending);
        assert!(!scan(&records(&[10]), Some(11), 99).unwrap().ascending);
    }
}
