//! Rate limit and back-off of the workers.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::pace::interval_ns;
use crate::remove::Progress;

const SLEEP_MAX: Duration = Duration::from_millis(50);
const SLEEP_MIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Pace {
    interval_ns: u64,
}

impl Pace {
    pub(super) fn new(entries_per_second: NonZeroU32) -> Self {
        Self { interval_ns: interval_ns(entries_per_second) }
    }

    #[must_use]
    pub(super) fn wait(&self, progress: &Progress) -> bool {
        #[cfg(test)]
        progress.meanwhile.happens(progress);
        progress.slots.wait(self.interval_ns, 1, || progress.is_cancelled())
    }
}

impl Worker<'_, '_, '_> {
    /// Waits if a rate is set and no slot is held; an entry that stays leaves its slot to the next. `false`
    /// if the removal is cancelled.
    #[inline]
    pub(super) fn have_place(&mut self) -> bool {
        if let Some(pace) = &self.shared.pace
            && !self.has_place
        {
            self.has_place = pace.wait(self.shared.progress);
            return self.has_place;
        }
        true
    }

    #[inline]
    pub(super) fn take_place(&mut self) -> bool {
        if self.shared.pace.is_none() {
            return true;
        }
        let may_go = self.have_place();
        self.has_place = false;
        may_go
    }

    /// After a call that removed; nothing without [`back_off`](crate::remove::RemoveOptions::back_off).
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
