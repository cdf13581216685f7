//! Trials end a removal for free space that frees none: files that snapshots or reflinks share, that a process holds open or that lie in a lower
//! layer free nothing, and such a cache would be emptied in vain.
//!
//! ```text
//! a sixteenth of the need went -> look at the free space -> some of it is free now? -> the next trial after twice as much
//!                                      |                                `- no: sync, wait, look again
//!                                      |                                     `- still not: another trial as long; two in a row end the removal
//!                                      `- what others took meanwhile, at their rate during the wait, counts as freed
//! ```
//!
//! "Some" is a thirty-second: compressed or deduplicated files free less than they count, and what is shared frees next to nothing.

use std::time::{Duration, Instant};

use super::request::{Budget, Free, Measure};
use crate::dir::Dir;
use crate::remove::Progress;

/// Share of the need that goes before the first trial.
const PART: u64 = 16;
/// Least amounts of a trial: the free space changes by as much for other reasons, and XFS first fills a pool of its own.
const BYTES_MIN: u64 = 1 << 20;
const FILES_MIN: u64 = 64;
/// Least number of the units in which a file system counts free space; some servers count in megabytes.
const UNITS_MIN: u64 = 16;
const FREED_PART: u64 = 32;

pub(super) const WAIT: Duration = Duration::from_millis(100);
/// Waits after a first trial without success, and before the removal ends: ZFS and servers free space seconds later.
const WAITS: [u32; 2] = [10, 300];

/// A part of a removal, at the end of which the free space is compared with that at its start. All amounts are in the unit of the budget, bytes or
/// inodes. Each trial is twice as long as the one before, so that a removal has few of them, and waits for few.
#[derive(Debug)]
pub(super) struct Trial {
    before: Free,
    started: Instant,
    /// Removed since.
    removed: u64,
    /// Amount after which the file system is asked.
    due: u64,
    /// The trial before was without success.
    is_second: bool,
}

impl Free {
    /// The amount that counts for both: while root's reserve is in use, ordinary users have nothing free for long. Otherwise theirs counts, because
    /// btrfs adds to the other what only its metadata can use.
    fn both(self, other: Self) -> (u64, u64) {
        match self.of_users == 0 || other.of_users == 0 {
            true => (self.with_reserve, other.with_reserve),
            false => (self.of_users, other.of_users),
        }
    }
}

impl Trial {
    /// `None` if the budget is of the directory, which is counted again, or if the file system does not answer.
    pub(super) fn new(budget: &Budget, directory: &Dir, need: u64) -> Option<Self> {
        let unit = rustix::fs::fstatvfs(directory).ok().filter(|_| budget.is_of_free())?.f_frsize;
        let least = match budget.measure() {
            Measure::Bytes => BYTES_MIN.max(unit.saturating_mul(UNITS_MIN)),
            Measure::Files => FILES_MIN,
        };
        Self::begin(budget, directory, (need / PART).max(least), false)
    }

    fn begin(budget: &Budget, directory: &Dir, due: u64, is_second: bool) -> Option<Self> {
        let before = budget.free(directory)?;
        Some(Self { before, started: Instant::now(), removed: 0, due, is_second })
    }

    /// Adds an amount that went. `false` if what went frees too little. A file system that does not answer is no reason to end.
    pub(super) fn add(&mut self, amount: u64, budget: &Budget, directory: &Dir, progress: &Progress) -> bool {
        self.removed = self.removed.saturating_add(amount);
        if self.removed < self.due {
            return true;
        }
        let has_freed = self.has_freed(budget, directory, progress).unwrap_or(true);
        if !has_freed && self.is_second {
            return false;
        }
        let due = if has_freed { self.due.saturating_mul(2) } else { self.due };
        if let Some(next) = Self::begin(budget, directory, due, !has_freed) {
            *self = next;
        }
        true
    }

    /// `None` if the file system does not answer, or the removal is cancelled.
    fn has_freed(&self, budget: &Budget, directory: &Dir, progress: &Progress) -> Option<bool> {
        let free = || budget.free(directory);
        let suffices = |now: Free, taken: u64| {
            let (now, before) = now.both(self.before);
            now.saturating_add(taken).saturating_sub(before) >= self.removed / FREED_PART
        };
        if suffices(free()?, 0) {
            return Some(true);
        }
        let _ = rustix::fs::syncfs(directory);
        // The sync may have taken long, and others have gone on meanwhile.
        let (first, took, waited) = (free()?, self.started.elapsed(), Instant::now());
        let mut last = first;
        for _ in 0..WAITS[usize::from(self.is_second)] {
            if suffices(last, 0) {
                return Some(true);
            }
            if progress.is_cancelled() {
                return None;
            }
            std::thread::sleep(WAIT);
            last = free()?;
        }
        // Others that fill the file system faster than it is emptied must not end the removal.
        let (now, before) = last.both(first);
        let taken = before.saturating_sub(now);
        let taken_before = taken as f64 * took.as_secs_f64() / waited.elapsed().as_secs_f64();
        Some(suffices(last, taken.saturating_add(taken_before as u64)))
    }
}
