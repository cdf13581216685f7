//! Rate limit in entries per second for all threads together.

use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub(crate) const SLEEP_MAX: Duration = Duration::from_millis(50);
const SAVED: Duration = Duration::from_millis(10);

/// Rate limit in entries per second.
#[derive(Debug)]
pub struct Pace {
    interval_ns: u64,
    slots: Slots,
}

impl Pace {
    /// Starts with the first wait.
    pub fn new(entries_per_second: NonZeroU32) -> Self {
        Self { interval_ns: interval_ns(entries_per_second), slots: Slots::default() }
    }

    /// Waits until `entries` more are within the rate; `false` if `is_cancelled` meanwhile.
    #[must_use]
    pub fn wait(&self, entries: u64, is_cancelled: impl Fn() -> bool) -> bool {
        self.slots.wait(self.interval_ns, entries, is_cancelled)
    }
}

pub(crate) fn interval_ns(entries_per_second: NonZeroU32) -> u64 {
    1_000_000_000 / u64::from(entries_per_second.get())
}

#[derive(Debug, Default)]
pub(crate) struct Slots {
    started: OnceLock<Instant>,
    next_ns: AtomicU64,
}

impl Slots {
    pub(crate) fn wait(&self, interval_ns: u64, entries: u64, is_cancelled: impl Fn() -> bool) -> bool {
        if entries == 0 {
            return !is_cancelled();
        }
        let started = self.started.get_or_init(Instant::now);
        let earliest = started.elapsed().saturating_sub(SAVED).as_nanos() as u64;
        let mut mine = self.next_ns.load(Ordering::Relaxed);
        loop {
            let slot = mine.max(earliest).saturating_add(interval_ns.saturating_mul(entries - 1));
            let after = slot.saturating_add(interval_ns);
            match self.next_ns.compare_exchange_weak(mine, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break mine = slot,
                Err(other) => mine = other,
            }
        }
        let at = Duration::from_nanos(mine);
        while let Some(left) = at.checked_sub(started.elapsed())
            && !left.is_zero()
            && !is_cancelled()
        {
            std::thread::sleep(left.min(SLEEP_MAX));
        }
        !is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, SAVED};
    use std::num::NonZeroU32;
    use std::time::{Duration, Instant};

    #[test]
    fn entries_of_all_threads_are_within_the_rate() {
        let pace = Pace::new(NonZeroU32::new(1000).expect("positive"));
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..5).for_each(|_| assert!(pace.wait(20, || false))));
            }
        });
        let least = Duration::from_millis(199) - SAVED;
        assert!(started.elapsed() >= least, "{:?} for 200 entries", started.elapsed());
    }

    #[test]
    fn a_cancelled_wait_ends_early() {
        let pace = Pace::new(NonZeroU32::new(1).expect("positive"));
        assert!(!pace.wait(1_000_000, || true));
    }
}
