//! Strategy "windows": a reader that gathers entries and returns them in inode order. ext4 lists in hash order:
//! on rotating disks that takes more than ten times as long, and no two neighbours share a block of inodes. A
//! window bounds the memory.

use crate::backend::Reader;
use crate::batch::Batch;
use crate::decode::Records;
use crate::error::{Error, ErrorKind, Result};

/// Entries per batch: several threads have work in a small window, and each of them many neighbours in a large one.
const BATCHES: usize = 256;
const BATCH_ENTRIES_MIN: usize = 256;
const BATCH_ENTRIES_MAX: usize = 4096;

/// A window ends earlier if its names are long.
const WINDOW_BYTES: usize = 64 << 20;

pub(crate) struct InInodeOrder {
    /// `None` after the end or an error.
    reader: Option<Box<dyn Reader>>,
    /// Returned after everything read before it.
    failed: Option<Error>,
    entries_max: usize,
    gathered: Vec<u8>,
    /// Inodes, and where their records begin.
    order: Vec<(u64, usize)>,
    next: usize,
    batch: Vec<u8>,
    cookies: bool,
}

impl InInodeOrder {
    pub(crate) fn new(reader: Box<dyn Reader>, entries_max: usize) -> Self {
        Self {
            reader: Some(reader),
            failed: None,
            entries_max,
            gathered: Vec::new(),
            order: Vec::new(),
            next: 0,
            batch: Vec::new(),
            cookies: false,
        }
    }

    fn gather(&mut self) {
        self.gathered.clear();
        self.order.clear();
        self.next = 0;
        while self.order.len() < self.entries_max && self.gathered.len() < WINDOW_BYTES {
            let Some(reader) = self.reader.as_mut() else { break };
            match reader.next_batch() {
                Ok(Some(batch)) => {
                    let mut at = self.gathered.len();
                    for record in Records::new(batch.bytes()) {
                        if !record.is_dot() {
                            self.order.push((record.inode, at));
                        }
                        at += usize::from(record.record_bytes);
                    }
                    self.gathered.extend_from_slice(batch.bytes());
                    self.cookies = batch.has_cookies();
                }
                Ok(None) => self.reader = None,
                Err(error) => {
                    self.reader = None;
                    self.failed = Some(error);
                }
            }
        }
        self.order.sort_unstable();
    }
}

impl Reader for InInodeOrder {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        if self.next == self.order.len() {
            self.gather();
        }
        let entries = (self.entries_max / BATCHES).clamp(BATCH_ENTRIES_MIN, BATCH_ENTRIES_MAX);
        let end = self.order.len().min(self.next + entries);
        if self.next == end {
            return self.failed.take().map_or(Ok(None), Err);
        }
        self.batch.clear();
        for (_, at) in &self.order[self.next..end] {
            let rest = &self.gathered[*at..];
            let bytes = Records::new(rest).next().map_or(0, |record| record.record_bytes.into());
            self.batch.extend_from_slice(&rest[..bytes]);
        }
        self.next = end;
        Batch::check(&self.batch, self.cookies).map(Some).map_err(|malformed| {
            let reason = format!("records that were copied whole are not records: {malformed:?}");
            Error::new("sort", "".as_ref(), ErrorKind::Malformed, reason)
        })
    }

    fn calls(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::InInodeOrder;
    use crate::backend::Reader;
    use crate::{Batch, BatchBuilder, Error, ErrorKind, FileType, Result};

    /// Returns entries with these inodes, `at_once` per batch, and then an error.
    struct Failing {
        inodes: Vec<u64>,
        at_once: usize,
        batch: BatchBuilder,
    }

    impl Reader for Failing {
        fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
            if self.inodes.is_empty() {
                return Err(Error::new("read", "".as_ref(), ErrorKind::Io, "broken"));
            }
            self.batch.clear();
            assert!(self.batch.push(b"..", 7, FileType::Directory, 0));
            for inode in self.inodes.drain(..self.at_once.min(self.inodes.len())) {
                assert!(self.batch.push(format!("name{inode}").as_bytes(), inode, FileType::File, 0));
            }
            Ok(Some(self.batch.batch()))
        }

        fn calls(&self) -> Option<u64> {
            None
        }
    }

    #[test]
    fn windows_are_sorted_by_inode_and_an_error_comes_after_all_entries() {
        let inodes: Vec<u64> = (0..1000).map(|index| (index * 7919) % 1000 + 1).collect();
        let batch = BatchBuilder::new(64 << 10, false);
        let failing = Failing { inodes: inodes.clone(), at_once: 100, batch };
        let mut reader = InInodeOrder::new(Box::new(failing), 300);
        let (mut found, mut batches) = (Vec::new(), Vec::new());
        let error = loop {
            match reader.next_batch() {
                Ok(Some(batch)) => {
                    assert!(
                        batch.entries().all(|entry| entry.name == format!("name{}", entry.inode).as_bytes())
                    );
                    found.extend(batch.entries().map(|entry| entry.inode));
                    batches.push(batch.len());
                }
                Ok(None) => panic!("the error is lost"),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), batches), (ErrorKind::Io, vec![256, 44, 256, 44, 256, 44, 100]));
        for window in [0..300, 300..600, 600..900, 900..1000] {
            let mut expected = inodes[window.clone()].to_vec();
            expected.sort_unstable();
            assert_eq!(found[window], expected);
        }
        assert!(matches!(reader.next_batch(), Ok(None)));
    }
}
