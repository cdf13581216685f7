//! Rate limit and back-off of the workers.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::pace::{SLEEP_MAX, interval_ns};
use crate::remove::Progress;

const SLEEP_MIN: Duration = Duration::from_millis(1);

/// Waits until one more entry is within the rate; `false` if the removal is cancelled.
#[must_use]
pub(super) fn wait(entries_per_second: NonZeroU32, progress: &Progress) -> bool {
    #[cfg(test)]
    progress.meanwhile.happens(progress);
    progress.slots.wait(interval_ns(entries_per_second), 1, || progress.is_cancelled())
}

impl Worker<'_, '_, '_> {
    /// Waits if a rate is set and no slot is held; an entry that stays leaves its slot to the next. `false`
    /// if the removal is cancelled.
    #[inline]
    pub(super) fn have_place(&mut self) -> bool {
        if let Some(rate) = self.shared.rate
            && !self.has_place
        {
            self.has_place = wait(rate, self.shared.progress);
            return self.has_place;
        }
        true
    }

    #[inline]
    pub(super) fn take_place(&mut self) -> bool {
        if self.shared.rate.is_none() {
            return true;
        }
        let may_go = self.have_place();
        self.has_place = false;
        may_go
    }

    pub(super) fn pause_after(&mut self, started: Option<Instant>) {
        let Some(started) = started else { return };
        let progress = self.shared.progress;
        self.owed += progress.back_off.pause(started);
        while self.owed >= SLEEP_MIN && !progress.is_cancelled() {
            let slept = self.owed.min(SLEEP_MAX);
            std::thread::sleep(slept);
            self.owed -= slept;
        }
    }
}
