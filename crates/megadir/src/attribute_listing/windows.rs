//! Strategy "windows": a reader that gathers entries and returns them in inode order. ext4 lists in hash order: on rotating
//! disks that takes more than ten times as long, and no two neighbours share a block of inodes. A window bounds the memory.

use std::ops::Range;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError, RwLock};

use crate::backend::Reader;
use crate::batch::{Batch, OwnedBatch};
use crate::decode::{Checked, Record, Records, TYPE_AT};
#[cfg(target_os = "linux")]
use crate::dir::Dir;
use crate::error::{Error, Result};
#[cfg(target_os = "linux")]
use crate::inodes_ahead::InodesAhead;

/// Entries per batch: several threads have work in a small window, and each of them many neighbours in a large one.
const BATCHES: usize = 256;
const BATCH_ENTRIES_MIN: usize = 256;
const BATCH_ENTRIES_MAX: usize = 4096;

/// A window ends earlier if its names are long.
const WINDOW_BYTES: usize = 64 << 20;

/// Fewer entries are sorted by one thread.
const SORTED_ALONE: usize = 1 << 16;

/// A window is filled, sorted, and given out in ranges (`left`). It is behind a lock that permits many
/// readers, because the threads of "chunks" copy their ranges out of the same window while no one fills it.
/// `failed` is an error of the listing, which is returned after the entries that were listed before it.
pub(crate) struct InInodeOrder {
    reader: Option<Box<dyn Reader>>,
    failed: Option<Error>,
    entries_max: usize,
    sorters: usize,
    window: Arc<RwLock<Window>>,
    left: Range<usize>,
    batch: OwnedBatch,
    #[cfg(target_os = "linux")]
    ahead: Option<(Arc<Dir>, InodesAhead)>,
}

#[derive(Default)]
pub(crate) struct Window {
    records: Vec<u8>,
    order: Vec<EntryRef>,
    cookies: bool,
}

pub(crate) type Taken = (Arc<RwLock<Window>>, Range<usize>);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EntryRef {
    inode: u64,
    at: u32,
    record_bytes: u16,
}

impl InInodeOrder {
    pub(crate) fn new(reader: Box<dyn Reader>, entries_max: usize, sorters: usize) -> Self {
        Self {
            reader: Some(reader),
            failed: None,
            entries_max,
            sorters,
            window: Arc::default(),
            left: 0..0,
            batch: OwnedBatch::default(),
            #[cfg(target_os = "linux")]
            ahead: None,
        }
    }

    /// For a slow device: the inodes of each window are read before it is taken.
    #[cfg(target_os = "linux")]
    pub(crate) fn reading_ahead(self, directory: Arc<Dir>) -> Self {
        let ahead = InodesAhead::with_slow_device(directory.file_system());
        Self { ahead: Some((directory, ahead)), ..self }
    }

    /// Takes the next batch. The window must be locked before the next call.
    pub(crate) fn take(&mut self) -> Result<Option<Taken>> {
        if self.left.is_empty() {
            self.gather();
        }
        let entries = (self.entries_max / BATCHES).clamp(BATCH_ENTRIES_MIN, BATCH_ENTRIES_MAX);
        let end = self.left.end.min(self.left.start + entries);
        let taken = self.left.start..end;
        self.left.start = end;
        match taken.is_empty() {
            true => self.failed.take().map_or(Ok(None), Err),
            false => Ok(Some((Arc::clone(&self.window), taken))),
        }
    }

    /// The lock for writing waits for the threads that still copy ranges of the last window: each has locked
    /// it for reading before [`take`](Self::take) is called again. Records are copied as they are, and 16
    /// bytes for each entry are sorted instead of records. A window ends at a number of entries or of bytes,
    /// whichever comes first. Reading ahead follows, since only now the order of the disk is known.
    fn gather(&mut self) {
        let mut window = self.window.write().unwrap_or_else(PoisonError::into_inner);
        let Window { records, order, cookies } = &mut *window;
        records.clear();
        order.clear();
        while order.len() < self.entries_max && records.len() < WINDOW_BYTES {
            let Some(reader) = self.reader.as_mut() else { break };
            match reader.next_batch() {
                Ok(Some(batch)) => {
                    let mut at = records.len() as u32;
                    for record in Records::new(batch.bytes()) {
                        let Record { inode, record_bytes, .. } = record;
                        if !record.is_dot() {
                            order.push(EntryRef { inode, at, record_bytes });
                        }
                        at += u32::from(record_bytes);
                    }
                    records.extend_from_slice(batch.bytes());
                    *cookies = batch.has_cookies();
                }
                Ok(None) => self.reader = None,
                Err(error) => {
                    self.reader = None;
                    self.failed = Some(error);
                }
            }
        }
        sort(order, self.sorters);
        self.left = 0..order.len();
        #[cfg(target_os = "linux")]
        if let Some((directory, ahead)) = self.ahead.as_ref().filter(|(_, ahead)| ahead.is_of_use()) {
            let records = |entry: &EntryRef| Records::new(&records[entry.at as usize..]).next();
            let names = order.iter().filter_map(records).map(|record| (record.inode, record.c_name()));
            ahead.read_names(directory.as_fd(), names, &|| false);
        }
    }
}

fn sort(order: &mut [EntryRef], sorters: usize) {
    if sorters < 2 || order.len() < SORTED_ALONE {
        return order.sort_unstable();
    }
    let half = sorters / 2;
    let middle = order.len() / sorters * half;
    order.select_nth_unstable(middle);
    let (low, high) = order.split_at_mut(middle);
    let is_started = std::thread::scope(|scope| {
        let started = std::thread::Builder::new().spawn_scoped(scope, || sort(&mut *low, half));
        sort(high, sorters - half);
        started.is_ok()
    });
    if !is_started {
        low.sort_unstable();
    }
}

impl Window {
    pub(crate) fn copy(&self, entries: Range<usize>, to: &mut OwnedBatch) {
        to.bytes.clear();
        to.checked = Checked { entries: entries.len(), unknown_types: 0 };
        to.cookies = self.cookies;
        for EntryRef { at, record_bytes, .. } in &self.order[entries] {
            let at = *at as usize;
            let record = &self.records[at..at + usize::from(*record_bytes)];
            to.bytes.extend_from_slice(record);
            to.checked.unknown_types += usize::from(record[TYPE_AT] == 0);
        }
    }
}

impl Reader for InInodeOrder {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let Some((window, entries)) = self.take()? else { return Ok(None) };
        let window = window.read().unwrap_or_else(PoisonError::into_inner);
        window.copy(entries, &mut self.batch);
        Ok(Some(self.batch.batch()))
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryRef, InInodeOrder, SORTED_ALONE, sort};
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
        let mut reader = InInodeOrder::new(Box::new(failing), 300, 2);
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

    #[test]
    fn several_threads_sort_as_one_does() {
        let entries = SORTED_ALONE as u64 * 3;
        let shuffled = (0..entries).map(|index| index * 7919 % entries / 3);
        let order: Vec<EntryRef> =
            shuffled.zip(0..).map(|(inode, at)| EntryRef { inode, at, record_bytes: 24 }).collect();
        let mut expected = order.clone();
        expected.sort_unstable();
        for sorters in [1, 2, 3, 8] {
            let mut sorted = order.clone();
            sort(&mut sorted, sorters);
            assert!(sorted == expected, "{sorters} threads");
        }
    }
}
