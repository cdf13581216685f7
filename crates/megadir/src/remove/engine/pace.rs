//! Rate limit in entries per second for all workers together.

use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::remove::Progress;

/// Cancellation is checked after each sleep.
const SLEEP_MAX: Duration = Duration::from_millis(50);
/// Shorter pauses are added up.
const SLEEP_MIN: Duration = Duration::from_millis(1);
/// Unused time that is saved up.
const SAVED: Duration = Duration::from_millis(10);

/// Gives out time slots.
#[derive(Debug)]
pub(super) struct Pace {
    interval_ns: u64,
}

impl Pace {
    pub(super) fn new(entries_per_second: NonZeroU32) -> Self {
        Self { interval_ns: 1_000_000_000 / u64::from(entries_per_second.get()) }
    }

    /// `false` if the removal is cancelled.
    #[must_use]
    pub(super) fn wait(&self, progress: &Progress) -> bool {
        let slots = &progress.slots;
        #[cfg(test)]
        slots.meanwhile.happens(progress);
        let started = slots.started.get_or_init(Instant::now);
        let earliest = started.elapsed().saturating_sub(SAVED).as_nanos() as u64;
        let mut mine = slots.next_ns.load(Ordering::Relaxed);
        loop {
            let slot = mine.max(earliest);
            let after = slot + self.interval_ns;
            let next = &slots.next_ns;
            match next.compare_exchange_weak(mine, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break mine = slot,
                Err(other) => mine = other,
            }
        }
        let at = Duration::from_nanos(mine);
        while let Some(left) = at.checked_sub(started.elapsed())
            && !left.is_zero()
            && !progress.is_cancelled()
        {
            std::thread::sleep(left.min(SLEEP_MAX));
        }
        !progress.is_cancelled()
    }
}

impl Worker<'_, '_, '_> {
    /// Waits if a rate is set and no slot is held; an entry that stays leaves its slot to the next one. `false`
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

    /// The slot that is held, or a new one; `false` if the removal is cancelled.
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
