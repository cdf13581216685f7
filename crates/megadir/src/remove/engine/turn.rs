//! Turns of one thread: the rate of the removal, and pauses after slow calls.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use crate::pace::{SLEEP_MAX, interval_ns};
use crate::remove::{Progress, RemoveOptions};

const SLEEP_MIN: Duration = Duration::from_millis(1);

/// Most entries per second; none in a dry run, which only looks.
pub(super) fn rate(options: &RemoveOptions<'_>) -> Option<NonZeroU32> {
    options.entries_per_second_max.filter(|_| !options.dry_run)
}

/// Slot that a thread holds among those of the rate, and the pause that it still has to make. Each thread that removes has its own; the
/// slots of all are dealt out by the progress.
#[derive(Debug)]
pub(in crate::remove) struct Turn<'p> {
    progress: &'p Progress,
    rate: Option<NonZeroU32>,
    has_place: bool,
    owed: Duration,
}

impl<'p> Turn<'p> {
    pub(in crate::remove) fn new(options: &RemoveOptions<'_>, progress: &'p Progress) -> Self {
        Self { progress, rate: rate(options), has_place: false, owed: Duration::ZERO }
    }

    /// Waits if a rate is set and no slot is held; an entry that stays leaves its slot to the next. `false` if the removal is cancelled.
    #[inline]
    pub(in crate::remove) fn have_place(&mut self) -> bool {
        if let Some(rate) = self.rate
            && !self.has_place
        {
            self.has_place = wait(rate, self.progress);
            return self.has_place;
        }
        true
    }

    /// Uses the slot up, for an entry that is removed. `false` if the removal is cancelled.
    #[inline]
    pub(in crate::remove) fn take_place(&mut self) -> bool {
        if self.rate.is_none() {
            return true;
        }
        let may_go = self.have_place();
        self.has_place = false;
        may_go
    }

    /// Pauses for as long as the call since `started` makes necessary; nothing if pauses are not wanted.
    pub(in crate::remove) fn pause_after(&mut self, started: Option<Instant>) {
        let Some(started) = started else { return };
        self.owed += self.progress.back_off.pause(started);
        while self.owed >= SLEEP_MIN && !self.progress.is_cancelled() {
            let slept = self.owed.min(SLEEP_MAX);
            std::thread::sleep(slept);
            self.owed -= slept;
        }
    }
}

/// Waits until one more entry is within the rate; `false` if the removal is cancelled.
#[must_use]
pub(super) fn wait(entries_per_second: NonZeroU32, progress: &Progress) -> bool {
    #[cfg(test)]
    progress.meanwhile.happens(progress);
    progress.slots.wait(interval_ns(entries_per_second), 1, || progress.is_cancelled())
}
