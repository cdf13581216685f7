//! Strategy "windows": gathers entries and reads their attributes in inode order. ext4 lists in hash order,
//! more than ten times as slow on rotating disks. A window bounds the memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::attributes::{Attributes, StatMask};
use crate::backend::Reader;
use crate::batch::Batch;
use crate::decode::{self, Records};
use crate::dir::Dir;
use crate::error::{Error, Result};
use crate::stat::{AttributeBatch, AttributeReader, Examine, StatBackend, examine};

const CHUNK_ENTRIES: usize = 256;

pub(crate) struct Windows {
    directory: Arc<Dir>,
    reader: Option<Box<dyn Reader>>,
    failed: Option<Error>,
    entries_max: usize,
    stat_backends: Vec<Box<dyn Examine>>,
    bytes: Vec<u8>,
    rows: Vec<Attributes>,
    cookies: bool,
}

impl Windows {
    pub(crate) fn start(
        directory: &Arc<Dir>,
        reader: Box<dyn Reader>,
        entries_max: usize,
        threads: usize,
        stat_backend: &'static dyn StatBackend,
        want: StatMask,
    ) -> Result<Self> {
        let stat_backends = stat_backend.start_threads(directory, want, threads)?;
        Ok(Self {
            directory: Arc::clone(directory),
            reader: Some(reader),
            failed: None,
            entries_max,
            stat_backends,
            bytes: Vec::new(),
            rows: Vec::new(),
            cookies: false,
        })
    }

    fn gather(&mut self) -> usize {
        let mut gathered = Vec::new();
        let mut entries = 0;
        while entries < self.entries_max {
            let Some(reader) = self.reader.as_mut() else { break };
            match reader.next_batch() {
                Ok(Some(batch)) => {
                    entries += batch.len();
                    gathered.extend_from_slice(batch.bytes());
                    self.cookies = batch.has_cookies();
                }
                Ok(None) => self.reader = None,
                Err(error) => {
                    self.reader = None;
                    self.failed = Some(error);
                }
            }
        }
        self.bytes = sorted_by_inode(&gathered);
        entries
    }

    fn examine(&mut self) -> Result<()> {
        let chunks = chunks(&self.bytes);
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<(usize, Vec<Attributes>)>> = Mutex::new(Vec::with_capacity(chunks.len()));
        let work = |stat_backend: &mut Box<dyn Examine>| -> Result<()> {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(range) = chunks.get(index) else { return Ok(()) };
                let Ok(batch) = Batch::check(&self.bytes[range.clone()], self.cookies) else { return Ok(()) };
                let mut rows = Vec::with_capacity(CHUNK_ENTRIES);
                examine(&mut **stat_backend, &self.directory, batch, &mut rows)?;
                done.lock().unwrap_or_else(PoisonError::into_inner).push((index, rows));
            }
        };
        std::thread::scope(|scope| {
            let Some((first, others)) = self.stat_backends.split_first_mut() else { return Ok(()) };
            let start = |(index, examine)| {
                std::thread::Builder::new()
                    .name(format!("megadir-examine-{index}"))
                    .spawn_scoped(scope, || work(examine))
                    .map_err(|error| Error::io("start a thread to examine", self.directory.path(), error))
            };
            let threads: Vec<_> = others.iter_mut().enumerate().map(start).collect();
            let mut result = work(first);
            for thread in threads {
                match thread?.join() {
                    Ok(other) => result = result.and(other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result
        })?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|chunk| chunk.0);
        self.rows.clear();
        self.rows.extend(done.into_iter().flat_map(|chunk| chunk.1));
        Ok(())
    }
}

impl AttributeReader for Windows {
    fn next_examined(&mut self) -> Result<Option<AttributeBatch<'_>>> {
        if self.gather() == 0 {
            return self.failed.take().map_or(Ok(None), Err);
        }
        self.examine()?;
        match Batch::check(&self.bytes, self.cookies) {
            Ok(batch) => Ok(Some(AttributeBatch::new(batch, &self.rows))),
            Err(_) => unreachable!("records that were copied whole are records"),
        }
    }
}

fn sorted_by_inode(bytes: &[u8]) -> Vec<u8> {
    let mut order: Vec<(u64, &[u8])> = Vec::new();
    let mut at = 0;
    for record in Records::new(bytes) {
        let end = at + usize::from(record.record_bytes);
        if !record.is_dot() {
            order.push((record.inode, &bytes[at..end]));
        }
        at = end;
    }
    order.sort_unstable_by_key(|record| record.0);
    order.into_iter().flat_map(|record| record.1).copied().collect()
}

fn chunks(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut at) = (0, 0);
    for (index, record) in Records::new(bytes).enumerate() {
        if index % CHUNK_ENTRIES == 0 && at > start {
            ranges.push(start..at);
            start = at;
        }
        at += usize::from(record.record_bytes);
    }
    if at > start {
        ranges.push(start..at);
    }
    debug_assert!(ranges.iter().all(|range| decode::check(&bytes[range.clone()]).is_ok()));
    ranges
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_ENTRIES, chunks, sorted_by_inode};
    use crate::decode::{Records, encode};

    #[test]
    fn records_are_sorted_by_inode_and_chunked_whole() {
        let mut bytes = Vec::new();
        for inode in 0..1000u64 {
            assert!(encode(&mut bytes, (inode * 7919) % 1000, 0, 8, format!("name{inode}").as_bytes()));
        }
        assert!(encode(&mut bytes, 5, 0, 4, b".."));
        let sorted = sorted_by_inode(&bytes);
        let inodes: Vec<_> = Records::new(&sorted).map(|record| record.inode).collect();
        assert_eq!(inodes, (0..1000).collect::<Vec<_>>());
        let ranges = chunks(&sorted);
        assert_eq!(ranges.len(), 1000usize.div_ceil(CHUNK_ENTRIES));
        assert_eq!(ranges.iter().map(ExactSizeIterator::len).sum::<usize>(), sorted.len());
    }
}
