//! Reader of `split`: the first batch, the threads, and the caller's share.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use megadir_sys::usage::thread_waits;

use super::buffer::Filled;
use super::contention::{Contention, Throughput};
use super::share::{ShareReader, Shared};
use super::space::{self, Space};
use crate::attributes::StatMask;
use crate::backend::Reader;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::Result;
use crate::options::ReadOptions;
use crate::read_ahead;
use crate::stat::{AttributeBatch, AttributeReader, Examine, StatBackend};
use crate::threads::{REFUSAL, join};

/// The phases of a listing:
///
/// ```text
/// First: one buffer from the start --the rest is small or cannot be divided--> Serial: the same descriptor goes on -> Ended
///    `--otherwise: threads start--> Shares: the caller reads shares too, and returns theirs between its own -> Ended
/// ```
///
/// So a small directory costs one call and no thread. `apart` is `true` if threads should be at distant
/// places, because the stat backend works on ranges of inodes. `throughput` compares calls of several threads
/// with the first one, made alone: if they only wait for each other, the threads end.
pub(crate) struct SplitReader {
    shared: Arc<Shared>,
    /// Returned last, or the first batch before it is returned.
    current: Option<Filled>,
    spare: Option<Filled>,
    phase: Phase,
    threads: Vec<JoinHandle<()>>,
    apart: bool,
    /// For threads not started and the caller; empty if entries are only listed.
    stat_backends: Vec<Box<dyn Examine>>,
    throughput: Option<Throughput>,
}

enum Phase {
    First { serial: Dir, options: ReadOptions },
    Serial { directory: Dir },
    Shares { own: Box<ShareReader>, filled: Receiver<Result<Filled>>, empty: Sender<Filled> },
    Ended,
}

impl SplitReader {
    pub(crate) fn open(
        directory: &Dir,
        options: &ReadOptions,
        examination: Option<(&'static dyn StatBackend, StatMask)>,
    ) -> Result<Self> {
        options.check("split", directory.dir_path())?;
        read_ahead::check(directory, options.read_ahead)?;
        let shared = Shared::new(directory, Vec::new())?;
        let start = |(stat_backend, want): (&'static dyn StatBackend, StatMask)| {
            stat_backend.start_threads(directory, want, options.threads_max + 1)
        };
        let stat_backends = examination.map(start).transpose()?.unwrap_or_default();
        let apart = examination.is_some_and(|(stat_backend, _)| stat_backend.works_apart());
        let serial = directory.again()?;
        Ok(Self {
            shared: Arc::new(shared),
            current: Some(Filled::new(options.buffer_bytes)),
            spare: None,
            phase: Phase::First { serial, options: *options },
            threads: Vec::new(),
            apart,
            stat_backends,
            throughput: None,
        })
    }

    /// The first buffer answers four questions before a thread is started: is the directory at its end; do
    /// positions ascend; was the directory in the cache; how fast is one thread. What it has read is returned
    /// to the caller as the first batch, cut at a position, because entries with equal hashes share one and
    /// must be in the same share.
    fn first(&mut self, serial: Dir, options: &ReadOptions) -> Result<()> {
        let Some(first) = self.current.as_mut() else { return Ok(()) };
        first.touch();
        let (started, waits) = (Instant::now(), thread_waits());
        first.fill(serial.as_fd(), usize::MAX, &self.shared.path, &self.shared.calls)?;
        let alone = (first.bytes().len(), started.elapsed());
        let is_cached = !thread_waits().waited_for_device_since(waits);
        let threads = if is_cached { options.threads } else { options.threads_max };
        let scanned = first.scan(None, i64::MAX, &self.shared.path)?;
        first.keep(&scanned);
        // Space left in the buffer nearly always means the end of the directory.
        if first.has_room() || !scanned.ascending || !self.shared.space.is_plausible(scanned.last_offset) {
            self.phase = Phase::Serial { directory: serial };
            return Ok(());
        }
        read_ahead::start(serial.as_fd(), options.read_ahead, !is_cached);
        if threads < options.threads_max && threads == 1 {
            self.phase = Phase::Serial { directory: serial };
            return Ok(());
        }
        // Names of equal hash share a position: leave all of them to the first share.
        let start = scanned.last_offset;
        first.keep(&first.scan(None, start, &self.shared.path)?);
        let end = self.shared.space.end(serial.as_fd(), start, &self.shared.path, &self.shared.calls)?;
        let Some(shared) = Arc::get_mut(&mut self.shared) else {
            unreachable!("no thread has been started yet")
        };
        shared.bounds = space::bounds(start, end, options.shares_of(threads));
        shared.regions = if self.apart { threads } else { 1 };
        let is_certain = self.shared.space != Space::Numbers || !self.stat_backends.is_empty();
        let measured = (!is_certain).then(|| Throughput::new(alone.0, alone.1));
        self.start(serial, threads, options.buffer_bytes, self.throughput.or(measured))
    }

    /// Each reopens the directory: the position belongs to the open file.
    fn start(
        &mut self,
        first: Dir,
        threads: usize,
        buffer_bytes: usize,
        throughput: Option<Throughput>,
    ) -> Result<()> {
        let others = threads - 1;
        let (filled_in, filled) = bounded(others * 2);
        let (empty, empty_out) = bounded(threads * 2);
        for index in 0..others {
            let directory = first.again()?;
            let examine = self.stat_backends.pop();
            let mut reader = ShareReader::new(Arc::clone(&self.shared), directory, examine, throughput);
            reader.contention = matches!(self.shared.space, Space::Offsets { .. }).then(Contention::default);
            let (filled, empty_out) = (filled_in.clone(), empty_out.clone());
            let named = std::thread::Builder::new().name(format!("megadir-split-{index}"));
            // If the system refuses a thread, the others and the caller's read its shares.
            let start = || named.spawn(move || reader.run(&filled, &empty_out));
            let Ok(thread) = REFUSAL.spawn(start) else { break };
            self.threads.push(thread);
            for _ in 0..2 {
                let _ = empty.send(Filled::new(buffer_bytes));
            }
        }
        let examine = self.stat_backends.pop();
        let own = Box::new(ShareReader::new(Arc::clone(&self.shared), first, examine, None));
        self.spare = Some(Filled::new(buffer_bytes));
        self.phase = Phase::Shares { own, filled, empty };
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::First { serial, options } => {
                let examined = !self.stat_backends.is_empty();
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

    fn recycle(&mut self, empty: &Sender<Filled>) {
        let done = self.current.take();
        match self.spare {
            Some(_) => done.map_or((), |done| drop(empty.try_send(done))),
            None => self.spare = done,
        }
    }

    /// Takes another thread's buffer, or reads here if none is ready, so that the caller sleeps only at the end; `false` at the end.
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
        // A thread that ended early may have left part of a share.
        self.read_here(own)
    }

    fn read_here(&mut self, own: &mut ShareReader) -> Result<bool> {
        let Some(mut buffer) = self.spare.take() else { return Ok(false) };
        let more = own.step(&mut buffer)?;
        *(if more { &mut self.current } else { &mut self.spare }) = Some(buffer);
        Ok(more)
    }

    fn examine_here(&mut self, directory: Option<&Dir>) -> Result<bool> {
        let Some(current) = self.current.as_mut() else { return Ok(false) };
        if let (Some(directory), Some(examine)) = (directory, self.stat_backends.first_mut()) {
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
        // Closing the channels ends each thread at its next buffer.
        self.phase = Phase::Ended;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SplitReader, Throughput};
    use crate::backend::Reader;
    use crate::{Dir, ReadOptions};
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn caller_reads_the_shares_of_threads_that_leave() {
        let directory = tempfile::tempdir().unwrap();
        let names: BTreeSet<Vec<u8>> = (0..20_000).map(|n| format!("{n:032}").into_bytes()).collect();
        for name in &names {
            std::fs::File::create(directory.path().join(crate::names::to_os(name).unwrap())).unwrap();
        }
        let options = ReadOptions::serial(4096).divided(4, 5);
        let directory = Dir::open(directory.path()).unwrap();
        // Only ext4, XFS and btrfs split directories; elsewhere there is nothing to test.
        let Ok(mut reader) = SplitReader::open(&directory, &options, None) else { return };
        // Faster than any real call: every thread leaves in the middle of a share.
        reader.throughput = Some(Throughput::new(usize::MAX, Duration::from_nanos(1)));
        let mut seen = Vec::new();
        while let Some(batch) = reader.next_batch().unwrap() {
            seen.extend(batch.entries().map(|entry| entry.name.to_vec()));
        }
        assert_eq!(seen.len(), names.len());
        assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), names);
    }
}
