//! Ranges of a directory's positions, each read alone, such as by different processes.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::buffer::Filled;
use super::share::{ShareReader, Shared};
use super::space::{self, Space};
use crate::backend::Reader;
use crate::backend::resolve::resolving;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::Result;
use crate::options::{PositionRange, ReadAhead, ReadOptions};
use crate::read_ahead;

/// At least this much of a directory's size belongs to an entry: the record of a short name on ext4, bytes.
const ENTRY_BYTES: u64 = 32;
const RANGES_MAX: u64 = 4096;
const PROBE_BYTES: usize = 4 << 10;

/// Divides a directory into ranges of about `entries_per_range` entries; empty if it is smaller or cannot be divided.
/// Errors: as fstat(2) and getdents64(2).
pub(crate) fn divide(directory: &Dir, entries_per_range: u64) -> Result<Vec<PositionRange>> {
    let entries = directory.size_bytes()? / ENTRY_BYTES;
    let ranges = (entries / entries_per_range.max(1)).min(RANGES_MAX);
    if ranges < 2 {
        return Ok(Vec::new());
    }
    let probe = directory.again()?;
    let mut first = Filled::new(PROBE_BYTES);
    first.fill(probe.as_fd(), PROBE_BYTES, directory.path(), &AtomicU64::new(0))?;
    let first = first.scan(None, i64::MAX, directory.path())?;
    let Ok(space) = Space::of_read(directory, first.last_offset) else { return Ok(Vec::new()) };
    let end = space.end(probe.as_fd(), 0, directory.path(), &AtomicU64::new(0))?;
    let bounds = space::bounds(0, end, ranges as usize);
    Ok(bounds.windows(2).map(|pair| PositionRange { from: pair[0], to: pair[1] }).collect())
}

/// Opens the entries of a range. [`ReadAhead::Auto`] reads nothing ahead: each range would have all blocks of the directory
/// read. Errors: [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) if the positions cannot be divided, or if reading
/// ahead is demanded and impossible.
pub(crate) fn open_range(
    directory: &Dir,
    options: &ReadOptions,
    range: PositionRange,
) -> Result<Box<dyn Reader>> {
    read_ahead::check(directory, options.read_ahead)?;
    let shared = Arc::new(Shared::new(directory, vec![range.from, range.to])?);
    let own = ShareReader::new(Arc::clone(&shared), directory.again()?, None, None);
    if options.read_ahead == ReadAhead::Always {
        read_ahead::start(directory.as_fd(), options.read_ahead, false);
    }
    let reader = RangeReader { shared, own, filled: Filled::new(options.buffer_bytes) };
    resolving(reader, directory, options)
}

struct RangeReader {
    shared: Arc<Shared>,
    own: ShareReader,
    filled: Filled,
}

impl Reader for RangeReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let more = self.own.step(&mut self.filled)?;
        Ok(more.then(|| self.filled.batch()))
    }

    fn calls(&self) -> Option<u64> {
        Some(self.shared.calls.load(Ordering::Relaxed))
    }
}
