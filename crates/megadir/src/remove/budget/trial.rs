//! A trial ends a removal for free space that frees none: files that snapshots or reflinks share, that a process holds open or that lie in a lower
//! layer free nothing, and such a cache would be emptied in vain.
//!
//! ```text
//! a sixteenth of the need went -> look at the free space -> a quarter of it is free now? -> the next trial after twice as much
//!                                      |                                `- no: sync, wait up to a second, look again
//!                                      |                                     `- still not: the removal ends
//!                                      `- what others took meanwhile, at their rate during the wait, counts as freed
//! ```

use std::time::{Duration, Instant};

use super::request::{Budget, Measure};
use crate::dir::Dir;

/// Share of the need that goes before the first trial.
const PART: u64 = 16;
/// Least amounts of a trial: the free space changes by as much for other reasons.
const BYTES_MIN: u64 = 1 << 20;
const FILES_MIN: u64 = 64;
/// Share of the removed amount that has to be freed. Less than one, because file systems count extents and metadata in their own ways.
const FREED_PART: u64 = 4;

/// Waits for space that the file system frees late, as btrfs and XFS do.
pub(super) const WAITS: u32 = 10;
pub(super) const WAIT: Duration = Duration::from_millis(100);

/// A part of a removal, at the end of which the free space is compared with that at its start. All amounts are in the unit of the budget, bytes or
/// inodes. Each trial is twice as long as the one before, so that a removal has few of them, and waits for few.
#[derive(Debug)]
pub(super) struct Trial {
    /// Free at its start.
    before: u64,
    /// Nothing was free for ordinary users at its start: as long as root's reserve is in use, only what root may use grows.
    with_reserve: bool,
    started: Instant,
    /// Removed since.
    removed: u64,
    /// Amount after which the file system is asked.
    due: u64,
}

impl Trial {
    /// `None` if the budget is of the directory, which is counted again, or if the file system does not answer.
    pub(super) fn new(budget: &Budget, directory: &Dir, need: u64) -> Option<Self> {
        let least = if budget.measure() == Measure::Bytes { BYTES_MIN } else { FILES_MIN };
        if !budget.is_of_free() {
            return None;
        }
        Self::begin(budget, directory, (need / PART).max(least))
    }

    fn begin(budget: &Budget, directory: &Dir, due: u64) -> Option<Self> {
        let with_reserve = budget.free(directory, false)? == 0;
        let before = budget.free(directory, with_reserve)?;
        Some(Self { before, with_reserve, started: Instant::now(), removed: 0, due })
    }

    /// Adds an amount that went. `false` if what went so far freed too little.
    pub(super) fn add(&mut self, amount: u64, budget: &Budget, directory: &Dir) -> bool {
        self.removed = self.removed.saturating_add(amount);
        if self.removed < self.due {
            return true;
        }
        if !self.has_freed(budget, directory).unwrap_or(false) {
            return false;
        }
        Self::begin(budget, directory, self.due.saturating_mul(2)).map(|next| *self = next).is_some()
    }

    /// `None` if the file system does not answer.
    fn has_freed(&self, budget: &Budget, directory: &Dir) -> Option<bool> {
        let free = || budget.free(directory, self.with_reserve);
        let suffices = |now: u64, taken: u64| {
            now.saturating_add(taken).saturating_sub(self.before) >= self.removed / FREED_PART
        };
        let took = self.started.elapsed();
        if suffices(free()?, 0) {
            return Some(true);
        }
        let _ = rustix::fs::syncfs(directory);
        let (first, waited) = (free()?, Instant::now());
        let mut last = first;
        for _ in 0..WAITS {
            if suffices(last, 0) {
                return Some(true);
            }
            std::thread::sleep(WAIT);
            last = free()?;
        }
        // Others that fill the file system faster than it is emptied must not end the removal.
        let taken = first.saturating_sub(last);
        let taken_before = taken as f64 * took.as_secs_f64() / waited.elapsed().as_secs_f64();
        Some(suffices(last, taken.saturating_add(taken_before as u64)))
    }
}
