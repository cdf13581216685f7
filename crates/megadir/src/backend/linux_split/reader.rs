//! The reader of `split`: the first batch, the threads, and what the caller's thread does.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::crowd::Crowd;
use super::pace::Pace;
use super::share::{Filled, Share, ShareReader};
use super::space::{self, Space};
use crate::attributes::Want;
use crate::attributes::examiner::{Examine, Examiner};
use crate::attributes::stream::{AttributeBatch, AttributeReader};
use crate::backend::Reader;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;
use crate::threads::join;

/// The longest record that a name of 255 bytes makes, bytes.
pub(super) const RECORD_BYTES_MAX: usize = 280;

/// What the threads and their consumer share.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    space: Space,
    /// The first position of every share, ascending, then the end of the last.
    bounds: Vec<i64>,
    next_share: AtomicU64,
    /// Shares are taken from so many regions of the directory in turn.
    regions: usize,
    /// What threads that have left have not read: position and end.
    left: Mutex<Vec<(i64, i64)>>,
    pub(super) stop: AtomicBool,
    pub(super) calls: AtomicU64,
}

impl Shared {
    /// Takes a share that nobody reads: its first position and its end.
    pub(super) fn take(&self) -> Option<(i64, i64)> {
        if let Some(left) = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Some(left);
        }
        let shares = self.bounds.len().saturating_sub(1);
        loop {
            let turn = self.next_share.fetch_add(1, Ordering::Relaxed) as usize;
            let Some(share) = share_of_turn(turn, shares, self.regions)? else { continue };
            return self.bounds.get(share..share + 2).map(|bounds| (bounds[0], bounds[1]));
        }
    }

    /// Leaves the rest of a share to whoever takes one next.
    pub(super) fn leave(&self, share: Option<Share>) {
        if let Some(Share { before: Some(from), end, .. }) = share {
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push((from, end));
        }
    }
}

/// Returns which share is taken at a turn, so that as many threads as there are regions stay far from each other. The
/// inner `None` is a turn at which there is none, the outer one says that all have been taken.
fn share_of_turn(turn: usize, shares: usize, regions: usize) -> Option<Option<usize>> {
    let per_region = shares.div_ceil(regions);
    let share = turn % regions * per_region + turn / regions;
    (turn < per_region * regions).then(|| Some(share).filter(|share| *share < shares))
}

pub(super) struct SplitReader {
    shared: Arc<Shared>,
    /// The batch handed out last, or the first one, not handed out yet.
    current: Option<Filled>,
    /// A buffer for the caller's own part.
    spare: Option<Filled>,
    phase: Phase,
    threads: Vec<JoinHandle<()>>,
    /// What examines entries: one for each thread, until it has been started, and one for what is read before.
    /// None where entries are only listed.
    examiners: Vec<Box<dyn Examine>>,
    /// What the threads judge their use by, if it is not to be measured.
    pace: Option<Pace>,
}

enum Phase {
    /// The first batch has been read and not been handed out.
    First {
        serial: Dir,
        options: ReadOptions,
    },
    /// The positions are of no use: one thread, the caller's, reads on.
    Serial {
        directory: Dir,
    },
    /// Threads read shares, the caller's among them.
    Shares {
        /// The caller's own part.
        own: Box<ShareReader>,
        filled: Receiver<Result<Filled>>,
        empty: Sender<Filled>,
    },
    Ended,
}

impl SplitReader {
    /// Opens a directory; `examination` is what examines its entries, and what is wanted of them, if anything.
    pub(super) fn open(
        directory: &Dir,
        options: &ReadOptions,
        examination: Option<(&'static dyn Examiner, Want)>,
    ) -> Result<Self> {
        options.check("split", directory.path())?;
        let space = Space::of(directory)?;
        let examiners = match examination {
            Some((examiner, want)) => examiner.start_threads(directory, want, options.threads + 1)?,
            None => Vec::new(),
        };
        let apart = examination.is_some_and(|(examiner, _)| examiner.works_apart());
        let regions = if apart { options.threads } else { 1 };
        let serial = directory.again()?;
        let shared = Shared {
            path: directory.path().to_owned(),
            space,
            bounds: Vec::new(),
            next_share: AtomicU64::new(0),
            regions,
            left: Mutex::new(Vec::new()),
            stop: AtomicBool::new(false),
            calls: AtomicU64::new(0),
        };
        Ok(Self {
            shared: Arc::new(shared),
            current: Some(Filled::new(options.buffer_bytes)),
            spare: None,
            phase: Phase::First { serial, options: *options },
            threads: Vec::new(),
            examiners,
            pace: None,
        })
    }

    /// Reads the first batch and decides how the rest is read.
    fn first(&mut self, serial: Dir, options: &ReadOptions) -> Result<()> {
        let Some(first) = self.current.as_mut() else { return Ok(()) };
        first.touch();
        let started = Instant::now();
        first.fill(serial.as_fd(), usize::MAX, &self.shared.path, &self.shared.calls)?;
        let alone = (first.bytes().len(), started.elapsed());
        let scanned = first.scan(None, i64::MAX, &self.shared.path)?;
        first.keep(&scanned);
        // A buffer with room left for more is, bar rare exceptions, the whole directory.
        if first.has_room() || !scanned.ascending || !self.shared.space.is_plausible(&scanned) {
            self.phase = Phase::Serial { directory: serial };
            return Ok(());
        }
        // Names of equal hash share a position. If the batch ends among such names, seeking there would give
        // all of them again, so those already read are left to the first share.
        let start = scanned.last_offset;
        first.keep(&first.scan(None, start, &self.shared.path)?);
        let end = self.shared.space.end(serial.as_fd(), start, &self.shared.path, &self.shared.calls)?;
        let bounds = space::bounds(start, end, options.shares);
        match Arc::get_mut(&mut self.shared) {
            Some(shared) => {
                shared.bounds = bounds;
            }
            None => unreachable!("no thread has been started yet"),
        }
        let is_certain = self.shared.space != Space::Numbers || !self.examiners.is_empty();
        let measured = (!is_certain).then(|| Pace::new(alone.0, alone.1));
        self.start(serial, options, self.pace.or(measured))
    }

    /// Starts the other threads; each opens the directory anew, since the position belongs to the open file.
    fn start(&mut self, first: Dir, options: &ReadOptions, pace: Option<Pace>) -> Result<()> {
        let others = options.threads - 1;
        let (filled_in, filled) = bounded(others * 2);
        let (empty, empty_out) = bounded(options.threads * 2);
        for index in 0..others {
            let directory = first.again()?;
            let examine = self.examiners.pop();
            let mut reader = ShareReader::new(Arc::clone(&self.shared), directory, examine, pace);
            reader.crowd = matches!(self.shared.space, Space::Offsets { .. }).then(Crowd::new);
            let (filled, empty_out) = (filled_in.clone(), empty_out.clone());
            let thread = std::thread::Builder::new()
                .name(format!("megadir-split-{index}"))
                .spawn(move || reader.run(&filled, &empty_out))
                .map_err(|error| Error::io("start a thread to read", &self.shared.path, error))?;
            self.threads.push(thread);
            for _ in 0..2 {
                let _ = empty.send(Filled::new(options.buffer_bytes));
            }
        }
        // The last one is left for the first batch, which has not been examined yet.
        let examine = self.examiners.pop();
        let own = Box::new(ShareReader::new(Arc::clone(&self.shared), first, examine, None));
        self.spare = Some(Filled::new(options.buffer_bytes));
        self.phase = Phase::Shares { own, filled, empty };
        Ok(())
    }

    /// Makes the next filled buffer the current one; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::First { serial, options } => {
                let examined = !self.examiners.is_empty();
                let of_first = examined.then(|| serial.again()).transpose()?;
                self.first(serial, &options)?;
                self.examine_here(of_first.as_ref())
            }
            Phase::Serial { directory } => {
                let Some(current) = self.current.as_mut() else { return Ok(false) };
                current.fill(directory.as_fd(), usize::MAX, &self.shared.path, &self.shared.calls)?;
                current.keep(&current.scan(None, i64::MAX, &self.shared.path)?);
                let more = self.examine_here(Some(&directory))?;
                if more {
                    self.phase = Phase::Serial { directory };
                }
                Ok(more)
            }
            Phase::Shares { mut own, filled, empty } => {
                self.recycle(&empty);
                let more = self.next_of_shares(&mut own, &filled)?;
                if more {
                    self.phase = Phase::Shares { own, filled, empty };
                }
                Ok(more)
            }
            Phase::Ended => Ok(false),
        }
    }

    /// Takes back the buffer that was handed out: for the caller's own part, or for another thread.
    fn recycle(&mut self, empty: &Sender<Filled>) {
        let done = self.current.take();
        match self.spare {
            Some(_) => done.map_or((), |done| drop(empty.try_send(done))),
            None => self.spare = done,
        }
    }

    /// Takes what another thread has read, or else reads itself; `false` at the end.
    ///
    /// So the caller sleeps only when there is nothing left to read, and no thread is busy just handing over.
    fn next_of_shares(&mut self, own: &mut ShareReader, filled: &Receiver<Result<Filled>>) -> Result<bool> {
        if let Ok(next) = filled.try_recv() {
            self.current = Some(next?);
            return Ok(true);
        }
        if self.read_here(own)? {
            return Ok(true);
        }
        if let Ok(next) = filled.recv() {
            self.current = Some(next?);
            return Ok(true);
        }
        join(&mut self.threads);
        // A thread that left may have left something to read.
        self.read_here(own)
    }

    /// Reads in the caller's thread; `false` when there is no share to be had.
    fn read_here(&mut self, own: &mut ShareReader) -> Result<bool> {
        let Some(mut buffer) = self.spare.take() else { return Ok(false) };
        let more = own.step(&mut buffer)?;
        *(if more { &mut self.current } else { &mut self.spare }) = Some(buffer);
        Ok(more)
    }
}

impl SplitReader {
    /// Examines the current buffer, which the caller's thread has read; `false` if there is nothing in it.
    fn examine_here(&mut self, directory: Option<&Dir>) -> Result<bool> {
        let Some(current) = self.current.as_mut() else { return Ok(false) };
        if let (Some(directory), Some(examine)) = (directory, self.examiners.first_mut()) {
            current.examine(directory, examine.as_mut())?;
        }
        Ok(!current.is_empty())
    }
}

impl AttributeReader for SplitReader {
    fn next_examined(&mut self) -> Result<Option<AttributeBatch<'_>>> {
        if !self.advance()? {
            return Ok(None);
        }
        let Some(current) = self.current.as_ref() else { return Ok(None) };
        Ok(Some(AttributeBatch::new(current.batch(), &current.rows)))
    }
}

impl Reader for SplitReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        if !self.advance()? {
            return Ok(None);
        }
        Ok(self.current.as_ref().map(Filled::batch))
    }

    fn calls(&self) -> Option<u64> {
        Some(self.shared.calls.load(Ordering::Relaxed))
    }
}

impl Drop for SplitReader {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Without its ends of the queues every thread comes to its end at the next buffer.
        self.phase = Phase::Ended;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Returns the error for positions that stopped ascending after entries had been handed out.
pub(super) fn unreliable(shared: &Shared) -> Error {
    let reason = "positions stopped ascending, so shares cannot be told apart and the listing is incomplete: \
                  use backend getdents";
    Error::new("read", &shared.path, ErrorKind::PositionsUnreliable, reason)
}

#[cfg(test)]
mod tests {
    use super::{Pace, SplitReader, share_of_turn};
    use crate::backend::Reader;
    use crate::{Dir, ReadOptions};
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn every_share_is_taken_once_however_many_regions_there_are() {
        for (shares, regions) in
            [(0, 1), (0, 3), (1, 1), (1, 8), (7, 3), (8, 3), (9, 3), (32, 1), (32, 2), (5, 256)]
        {
            let turns: Vec<_> = (0..2000).map_while(|turn| share_of_turn(turn, shares, regions)).collect();
            let mut taken: Vec<_> = turns.into_iter().flatten().collect();
            if regions == 1 {
                assert!(taken.is_sorted(), "in their order");
            }
            taken.sort_unstable();
            assert_eq!(taken, (0..shares).collect::<Vec<_>>(), "{shares} shares, {regions} regions");
        }
        let first: Vec<_> = (0..6).map(|turn| share_of_turn(turn, 32, 2).unwrap().unwrap()).collect();
        assert_eq!(first, [0, 16, 1, 17, 2, 18]);
    }

    #[test]
    fn what_threads_that_leave_have_not_read_is_read_by_the_caller() {
        let directory = tempfile::tempdir().unwrap();
        let names: BTreeSet<Vec<u8>> = (0..20_000).map(|n| format!("{n:032}").into_bytes()).collect();
        for name in &names {
            std::fs::File::create(directory.path().join(crate::names::to_os(name).unwrap())).unwrap();
        }
        let options = ReadOptions { buffer_bytes: 4096, threads: 4, shares: 5, resolve_types: false };
        let directory = Dir::open(directory.path()).unwrap();
        // Elsewhere than on ext4, XFS and btrfs no directory is split, and nothing is there to be left.
        let Ok(mut reader) = SplitReader::open(&directory, &options, None) else { return };
        // Faster than any call can be: every thread finds itself useless in the middle of a share.
        reader.pace = Some(Pace::new(usize::MAX, Duration::from_nanos(1)));
        let mut seen = Vec::new();
        while let Some(batch) = reader.next_batch().unwrap() {
            seen.extend(batch.entries().map(|entry| entry.name.to_vec()));
        }
        assert_eq!(seen.len(), names.len());
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), names);
    }
}
