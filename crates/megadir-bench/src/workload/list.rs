//! One listing of a directory: the stages of the two programs under study, each switched on or not.
//!
//! Everything is opened, allocated and given back within the operation, as a program that lists a
//! directory must: page faults of a large buffer are part of what a large buffer costs.
//!
//! Every entry's name is hashed as it is read, in every arm alike, by a few multiplications (see [`name_hash`]):
//! the work is proven equal in every block, at the same cost to all. The type is left out: some file systems do
//! not tell it, and then only those who ask for the inode know it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use megadir::{Backend, Batch, Dir, ReadOptions, Reader};
use megadir_record::{Counted, Refused, Stage, Work};

use super::attributes::{self, Asked};
use super::format_long::{self, format_long};
use super::format_raw::RawFormat;
use super::kept::Kept;
use super::output::{Sink, with_sink};
use super::{BlockKey, Workload};
use crate::beat::{COMPUTING, marked};
use crate::measure::Stopwatch;

/// One arm's work, ready to be done.
pub(crate) struct Listing {
    backend: &'static dyn Backend,
    options: ReadOptions,
    stages: Vec<Stage>,
}

/// Why a listing gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// The backend failed.
    #[error(transparent)]
    Read(#[from] megadir::Error),
    /// A call of a later stage failed.
    #[error("{stage}: {source}")]
    Stage {
        /// The stage.
        stage: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A directory takes no more names, though there is room.
    #[error("a directory of {} entries takes no more: {}", .0.entries, .0.cause)]
    Refused(Refused),
    /// Its file system could not be unmounted and mounted again.
    #[error("fs-cold: {0}")]
    Remount(String),
    /// The run is to end.
    #[error("interrupted")]
    Stopped,
}

/// What a long operation tells and is told while it works.
#[derive(Clone, Copy)]
pub struct Signals<'a> {
    /// Set when the run is to end.
    pub stop: &'a AtomicBool,
    /// Counted up as a sign of life.
    pub beat: &'a AtomicU64,
}

impl Signals<'_> {
    /// Gives a sign of life; an error when the run is to end.
    #[inline]
    pub(crate) fn check(self) -> Result<(), ListError> {
        self.beat.fetch_add(1, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(ListError::Stopped) } else { Ok(()) }
    }
}

impl Listing {
    /// Prepares an arm's work, which must be to list.
    pub(crate) fn new(work: &Work) -> Result<Self, ListError> {
        let Work::List { backend, buffer_bytes, threads, shares, stages } = work else {
            let source = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(ListError::Stage { stage: "list", source });
        };
        let options = ReadOptions {
            buffer_bytes: *buffer_bytes as usize,
            threads: *threads as usize,
            shares: *shares as usize,
            resolve_types: false,
        };
        Ok(Self { backend: megadir::backend(backend)?, options, stages: stages.clone() })
    }

    /// Lists the directory once.
    pub(crate) fn once(&self, directory: &Dir, signals: Signals<'_>) -> Result<Counted, ListError> {
        let writes = self.has(Stage::Write);
        with_sink(writes, |sink| self.run_into(directory, signals, sink))
    }

    fn has(&self, stage: Stage) -> bool {
        self.stages.contains(&stage)
    }

    fn run_into(&self, directory: &Dir, signals: Signals<'_>, sink: &mut Sink) -> Result<Counted, ListError> {
        let mut seen = Seen::default();
        let mut reader = self.backend.open(directory, &self.options)?;
        if !self.has(Stage::Keep) {
            match self.has(Stage::FormatRaw) {
                true => read_raw(&mut *reader, &mut seen, signals, sink)?,
                false => read(&mut *reader, &mut seen, signals)?,
            }
            return Ok(seen.counted(reader.calls(), 0, sink));
        }
        let mut kept = Kept::default();
        while let Some(batch) = reader.next_batch()? {
            signals.check()?;
            seen.add(&batch);
            kept.add(&batch);
        }
        let read_calls = reader.calls();
        drop(reader);
        if self.has(Stage::Sort) {
            marked(signals.beat, COMPUTING, || kept.sort());
        }
        let mut asked = Asked::default();
        if self.has(Stage::Attributes) {
            asked.add(attributes::ask(directory, &mut kept, signals)?);
        }
        if self.has(Stage::ExtendedAttributes) {
            asked.add(attributes::ask_extended(directory, &mut kept, signals)?);
        }
        if self.has(Stage::FormatLong) {
            format_long(&kept, signals, sink)?;
            sink.check_lines(seen.entries, format_long::HEADINGS)?;
        }
        // What vanished before it was asked about was not worked on: the block is not equal to others.
        seen.entries -= asked.vanished.min(seen.entries);
        Ok(seen.counted(read_calls, asked.calls, sink))
    }
}

impl Workload for Listing {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        self.backend.probe(directory).err().map(|error| error.reason())
    }

    fn ready(&mut self, _: &Dir, _: BlockKey, _: u64, _: Signals<'_>) -> Result<(), ListError> {
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        _stopwatch: &mut Stopwatch,
        signals: Signals<'_>,
    ) -> Result<Counted, ListError> {
        repeat(operations, || self.once(directory, signals))
    }
}

/// Does the operations of a block; those that differ are made to differ from everything else.
pub(super) fn repeat(
    operations: u64,
    mut once: impl FnMut() -> Result<Counted, ListError>,
) -> Result<Counted, ListError> {
    let mut counted: Option<Counted> = None;
    for _ in 0..operations {
        let seen = once()?;
        counted = match counted {
            Some(first) if (first.entries, first.hash) != (seen.entries, seen.hash) => {
                Some(Counted { hash: !first.hash.wrapping_add(seen.hash), ..seen })
            }
            _ => Some(seen),
        };
    }
    Ok(counted.unwrap_or(Counted { entries: 0, hash: 0, calls: None, written_bytes: 0 }))
}

fn read(reader: &mut dyn Reader, seen: &mut Seen, signals: Signals<'_>) -> Result<(), ListError> {
    while let Some(batch) = reader.next_batch()? {
        signals.check()?;
        seen.add(&batch);
    }
    Ok(())
}

fn read_raw(
    reader: &mut dyn Reader,
    seen: &mut Seen,
    signals: Signals<'_>,
    sink: &mut Sink,
) -> Result<(), ListError> {
    let mut format = RawFormat::default();
    while let Some(batch) = reader.next_batch()? {
        signals.check()?;
        seen.add(&batch);
        format.add(&batch, sink)?;
    }
    sink.check_lines(seen.entries, format.headings())
}

/// What was seen of a directory.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    entries: u64,
    hash: u64,
}

impl Seen {
    #[inline]
    fn add(&mut self, batch: &Batch<'_>) {
        for entry in batch.entries() {
            self.entries += 1;
            self.hash = self.hash.wrapping_add(name_hash(entry.name));
        }
    }

    fn counted(self, read_calls: Option<u64>, calls: u64, sink: &Sink) -> Counted {
        Counted {
            entries: self.entries,
            hash: self.hash,
            calls: read_calls.map(|read| read + calls + sink.calls()),
            written_bytes: sink.written_bytes(),
        }
    }
}

/// Returns the hash of an entry's name; those of a directory are added up, so that order does not matter.
///
/// Sixteen bytes at a time, each pair of words by one 128-bit multiplication that waits for no other: 2.2 ns for
/// a name of 32 bytes on a virtual Xeon, against some 170 ns that reading an entry takes there.
#[inline]
pub(crate) fn name_hash(name: &[u8]) -> u64 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    const OTHER: u64 = 0xd1b5_4a32_d192_ed03;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let pair = |half: &[u8; 16], key: u64| {
        let both = u128::from_le_bytes(*half);
        fold(both as u64 ^ key, (both >> 64) as u64 ^ key.rotate_left(32))
    };
    let (halves, rest) = name.as_chunks::<16>();
    let (mut sum, mut key) = (0_u64, KEY);
    for half in halves {
        sum = sum.wrapping_add(pair(half, key));
        key = key.wrapping_add(OTHER);
    }
    if let Some(last) = name.last_chunk::<16>() {
        if !rest.is_empty() {
            sum = sum.wrapping_add(pair(last, key));
        }
    } else {
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        sum = sum.wrapping_add(pair(&last, key));
    }
    fold(sum ^ KEY, OTHER ^ ((name.len() as u64) << 8))
}

#[cfg(test)]
mod tests {
    use super::name_hash;

    #[test]
    fn names_that_differ_have_hashes_that_differ() {
        let mut hashes = std::collections::HashSet::new();
        for length in 1..40 {
            for at in 0..length {
                let mut name = vec![b'a'; length];
                name[at] = b'b';
                assert!(hashes.insert(name_hash(&name)), "{length} {at}");
            }
            assert!(hashes.insert(name_hash(&vec![b'a'; length])));
        }
        for bit in 0..256 {
            let mut name = [b'x'; 32];
            name[bit / 8] ^= 1 << (bit % 8);
            assert!(hashes.insert(name_hash(&name)), "{bit}");
        }
    }
}
