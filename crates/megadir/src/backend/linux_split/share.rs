//! Shares of a directory: the entries of a share, and its end.
//!
//! A record's offset is the position *after* it, so an entry's own position is the offset of the record before, within one
//! call. The first record of a call is at or past the call's position, since the entry that was there may have been unlinked.
//! If the second record is past the share's end, the reader seeks to the end: if it finds the first entry from there (perhaps
//! behind newly created ones), that entry belongs to the next share.
//!
//! ```text
//! call at p (first: start) -> e0 (at p or past it), e1 at e0.offset, e2 at e1.offset ...
//! e0.offset <  end:  e0 lies before e1 and so before the end: ours
//! e0.offset >= end:  ours unless seek(end) -> ... e0 ..., at e0.offset at the latest
//! ```

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use rustix::fs::{SeekFrom, seek};

use super::buffer::Filled;
use super::contention::{Contention, Throughput};
use super::space::Space;
use crate::backend::linux_getdents::read;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::stat::Examine;
use crate::threads::lock;

/// One for each thread and one for the caller. It takes the next share when the last one is at its end, until
/// there are none, so that uneven shares even out. `contention` is present where look-ups of names may be
/// under a lock (XFS): a thread that the lock makes sleep ends, and leaves its shares to others.
pub(super) struct ShareReader {
    shared: Arc<Shared>,
    /// Opened again, because the position belongs to the open file.
    directory: Dir,
    examine: Option<Box<dyn Examine>>,
    share: Option<Share>,
    throughput: Option<Throughput>,
    pub(super) contention: Option<Contention>,
}

impl ShareReader {
    pub(super) fn new(
        shared: Arc<Shared>,
        directory: Dir,
        examine: Option<Box<dyn Examine>>,
        throughput: Option<Throughput>,
    ) -> Self {
        Self { shared, directory, examine, share: None, throughput, contention: None }
    }

    pub(super) fn run(mut self, filled: &Sender<Result<Filled>>, empty: &Receiver<Filled>) {
        while let Ok(mut buffer) = empty.recv() {
            // The caller's thread takes over the rest.
            let contended = self.contention.is_some_and(|contention| contention.is_contended);
            if contended || self.throughput.is_some_and(|throughput| throughput.is_useless()) {
                return self.shared.leave(self.share.take());
            }
            let sent = match self.step(&mut buffer) {
                Ok(true) => filled.send(Ok(buffer)),
                Ok(false) => return,
                Err(error) => filled.send(Err(error)),
            };
            if sent.is_err() || self.shared.stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// `false` if no share is left. After an error no thread takes another share.
    pub(super) fn step(&mut self, buffer: &mut Filled) -> Result<bool> {
        let stepped = self.try_step(buffer);
        if stepped.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        stepped
    }

    fn try_step(&mut self, buffer: &mut Filled) -> Result<bool> {
        loop {
            let share = match self.share.take() {
                None => self.next_share()?,
                share => share,
            };
            let Some(share) = share else { return Ok(false) };
            let after = self.read(buffer, share)?;
            if let After::Rest(rest) = after {
                self.share = Some(rest);
            }
            if !matches!(after, After::Nothing) {
                if let Some(examine) = &mut self.examine {
                    buffer.examine(&self.directory, examine.as_mut())?;
                    if let Some(contention) = &mut self.contention {
                        contention.note(buffer.batch().len());
                    }
                }
                return Ok(true);
            }
        }
    }

    fn next_share(&mut self) -> Result<Option<Share>> {
        if self.shared.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some((start, end)) = self.shared.take() else { return Ok(None) };
        self.seek(start)?;
        Ok(Some(Share { start, before: None, bytes: 0, end }))
    }

    fn read(&mut self, buffer: &mut Filled, share: Share) -> Result<After> {
        let started = self.throughput.map(|_| Instant::now());
        let want_bytes = share.expected_bytes();
        buffer.fill(self.directory.as_fd(), want_bytes, &self.shared.path, &self.shared.calls)?;
        if buffer.is_empty() {
            return Ok(After::Nothing);
        }
        if let (Some(throughput), Some(started)) = (&mut self.throughput, started) {
            throughput.note(buffer.length, started.elapsed());
        }
        let scanned = buffer.scan(share.before, share.end, &self.shared.path)?;
        if !scanned.ascending {
            let reason = "positions stopped ascending, so shares overlap and the listing is incomplete: \
                          use backend getdents";
            return Err(Error::new("read", &self.shared.path, ErrorKind::PositionsUnreliable, reason));
        }
        // The call's first record, with the next one already past the end.
        let ambiguous = scanned.inside_records == 1 && share.is_behind(scanned.first_offset);
        if ambiguous && self.first_lies_past(buffer.bytes(), share.end, scanned.first_offset)? {
            return Ok(After::Nothing);
        }
        buffer.keep(&scanned);
        let ended = scanned.past_end || share.is_behind(scanned.last_offset);
        let bytes = share.bytes + scanned.inside_bytes;
        let rest = Share { before: Some(scanned.last_offset), bytes, ..share };
        Ok(if ended { After::End } else { After::Rest(rest) })
    }

    /// The first entry of `bytes`, at most at `latest`, lies at or past `end`.
    fn first_lies_past(&mut self, bytes: &[u8], end: i64, latest: i64) -> Result<bool> {
        let Some(ours) = Records::new(bytes).next() else { return Ok(false) };
        self.seek(end)?;
        let mut buffer = [0; 1024];
        let mut position = end;
        while position <= latest {
            self.shared.calls.fetch_add(1, Ordering::Relaxed);
            let filled = read(self.directory.as_fd(), &mut buffer, &self.shared.path)?;
            if filled == 0 {
                return Ok(false);
            }
            for record in Records::new(&buffer[..filled]) {
                // A rename over the entry changes the inode.
                if record.name == ours.name {
                    return Ok(true);
                }
                position = record.offset;
                if position > latest {
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    /// Like a new descriptor: ext4 would continue among names of equal hash if it seeks to its current position.
    fn seek(&mut self, position: i64) -> Result<()> {
        let to = u64::try_from(position).unwrap_or(0);
        if seek(&self.directory, SeekFrom::Current(0)).at("seek in", &self.shared.path)? == to {
            self.directory = self.directory.again()?;
        }
        seek(&self.directory, SeekFrom::Start(to)).at("seek in", &self.shared.path).map(drop)
    }
}

enum After {
    /// The share had no more entries, and the buffer holds none of it.
    Nothing,
    /// The buffer holds the last entries.
    End,
    /// The buffer holds entries, and more follow.
    Rest(Share),
}

/// `next_share` is the only state that threads change while they read; a share is taken by one atomic
/// addition. `bounds` and `regions` are set before the first thread starts. A thread that ends in the middle
/// of a share leaves the rest in `left` for the others, so that no entry is lost. `stop` is set when the
/// reader is dropped.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) space: Space,
    /// First position of each share, ascending, then the end of the last.
    pub(super) bounds: Vec<i64>,
    next_share: AtomicU64,
    pub(super) regions: usize,
    /// Left by threads that ended early: position and end.
    left: Mutex<Vec<(i64, i64)>>,
    pub(super) stop: AtomicBool,
    pub(super) calls: AtomicU64,
}

impl Shared {
    pub(super) fn new(directory: &Dir, bounds: Vec<i64>) -> Result<Self> {
        Ok(Self {
            path: directory.path().to_owned(),
            space: Space::of(directory)?,
            bounds,
            next_share: AtomicU64::new(0),
            regions: 1,
            left: Mutex::new(Vec::new()),
            stop: AtomicBool::new(false),
            calls: AtomicU64::new(0),
        })
    }

    pub(super) fn take(&self) -> Option<(i64, i64)> {
        if let Some(left) = lock(&self.left).pop() {
            return Some(left);
        }
        let shares = self.bounds.len().saturating_sub(1);
        loop {
            let turn = self.next_share.fetch_add(1, Ordering::Relaxed) as usize;
            match turn_of(turn, shares, self.regions) {
                Turn::Takes(share) => {
                    return self.bounds.get(share..share + 2).map(|bounds| (bounds[0], bounds[1]));
                }
                Turn::Passes => {}
                Turn::Ends => return None,
            }
        }
    }

    pub(super) fn leave(&self, share: Option<Share>) {
        if let Some(Share { before: Some(from), end, .. }) = share {
            lock(&self.left).push((from, end));
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Takes(usize),
    /// The last region has fewer shares than the others.
    Passes,
    Ends,
}

/// Up to `regions` threads stay far from each other.
fn turn_of(turn: usize, shares: usize, regions: usize) -> Turn {
    let per_region = shares.div_ceil(regions);
    match turn % regions * per_region + turn / regions {
        _ if turn >= per_region * regions => Turn::Ends,
        share if share < shares => Turn::Takes(share),
        _ => Turn::Passes,
    }
}

/// Beyond the expected rest of a share, and the minimum size of a call.
const LAST_BYTES: usize = 4 << 10;

#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) start: i64,
    /// Position of the next call; `None` before the first.
    pub(super) before: Option<i64>,
    pub(super) bytes: usize,
    /// [`i64::MAX`] for the last share.
    pub(super) end: i64,
}

impl Share {
    pub(super) fn is_behind(self, position: i64) -> bool {
        self.end != i64::MAX && position >= self.end
    }

    /// Anything read past the share's end is read twice.
    pub(super) fn expected_bytes(self) -> usize {
        match self.before {
            Some(before) if self.end != i64::MAX && before > self.start => {
                let density = self.bytes as f64 / (before - self.start) as f64;
                let left = (self.end - before).max(0) as f64 * density;
                ((left * 1.05) as usize).saturating_add(LAST_BYTES)
            }
            _ => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, Turn, turn_of};

    #[test]
    fn every_share_is_taken_once_however_many_regions_there_are() {
        for (shares, regions) in
            [(0, 1), (0, 3), (1, 1), (1, 8), (7, 3), (8, 3), (9, 3), (32, 1), (32, 2), (5, 256)]
        {
            let turns = (0..2000).map(|turn| turn_of(turn, shares, regions));
            let mut taken = Vec::new();
            for turn in turns.take_while(|turn| *turn != Turn::Ends) {
                if let Turn::Takes(share) = turn {
                    taken.push(share);
                }
            }
            if regions == 1 {
                assert!(taken.is_sorted(), "not in order");
            }
            taken.sort_unstable();
            assert_eq!(taken, (0..shares).collect::<Vec<_>>(), "{shares} shares, {regions} regions");
        }
        let first: Vec<_> = (0..6).map(|turn| turn_of(turn, 32, 2)).collect();
        assert_eq!(first, [0, 16, 1, 17, 2, 18].map(Turn::Takes));
    }

    #[test]
    fn share_of_enormous_density_needs_a_whole_buffer() {
        let share = Share { start: 0, before: Some(1), bytes: 1 << 20, end: i64::MAX - 1 };
        assert_eq!(share.expected_bytes(), usize::MAX);
    }
}
