//! So many entries a second and no more, by all workers together.

use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::remove::Progress;

/// A worker sleeps no longer than this before it looks whether the removal is to end.
const SLEEP_MAX: Duration = Duration::from_millis(50);
/// What was not used is not saved up beyond this.
const SAVED: Duration = Duration::from_millis(10);

/// Which places in time have been given out; one for all removals that have the same [`Progress`].
#[derive(Debug, Default)]
pub(in crate::remove) struct Places {
    started: OnceLock<Instant>,
    /// When the next entry may go, nanoseconds after the start.
    next_ns: AtomicU64,
    /// What others do while somebody waits.
    #[cfg(test)]
    pub(super) meanwhile: super::tests::Meanwhile,
}

/// Gives out places in time.
#[derive(Debug)]
pub(super) struct Pace {
    interval_ns: u64,
}

impl Pace {
    pub(super) fn new(entries_per_second: NonZeroU32) -> Self {
        Self { interval_ns: 1_000_000_000 / u64::from(entries_per_second.get()) }
    }

    /// Waits until one entry may go; false where the removal is to end, so that none may any more.
    #[must_use]
    pub(super) fn wait(&self, progress: &Progress) -> bool {
        let places = &progress.places;
        #[cfg(test)]
        places.meanwhile.happens(progress);
        let started = places.started.get_or_init(Instant::now);
        let earliest = started.elapsed().saturating_sub(SAVED).as_nanos() as u64;
        let mut mine = places.next_ns.load(Ordering::Relaxed);
        loop {
            let slot = mine.max(earliest);
            let after = slot + self.interval_ns;
            let next = &places.next_ns;
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
    /// Waits until one entry may go, where a rate is to be kept, unless a place is had already: whatever is looked at after this
    /// goes at once or not at all, and what stays leaves the place to the next. False where the removal is to end: nothing more goes.
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

    /// Takes the place that is had, or waits for one; false where the removal is to end.
    #[inline]
    pub(super) fn take_place(&mut self) -> bool {
        if self.shared.pace.is_none() {
            return true;
        }
        let may_go = self.have_place();
        self.has_place = false;
        may_go
    }
}
