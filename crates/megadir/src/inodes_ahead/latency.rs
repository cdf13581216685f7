//! Time that the device takes for the requests that a thread waits for.
//!
//! The kernel's flag `rotational` is 1 for most virtual disks and 0 for some rotating ones behind a controller, so the answers themselves decide.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use megadir_sys::usage::{thread_usage, thread_waits};

use crate::threads::lock;

/// Half a rotation at 7200 per minute takes 4.2 ms, at 15 000 2 ms; solid state and virtual disks answer within 1 ms.
const SLOW: Duration = Duration::from_millis(2);
/// One long wait may be the first request to a disk that slept, or a busy processor.
const WAITS_MIN: u64 = 3;
/// Later answers count more: beyond this, all before weigh half.
const WAITS_MAX: u64 = 64;
/// After this number of calls that did not wait, most are cached, and measuring each would take a part of their time.
const QUIET_CALLS: u32 = 32;
const QUIET_ONE_IN: u32 = 64;

thread_local! {
    /// Calls of this thread since one waited. Threads would wait for each other's counter.
    static QUIET: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answers {
    waits: u64,
    waited: Duration,
}

impl Answers {
    /// Adds `waits` that took `waited` together.
    fn note(&mut self, waits: u64, waited: Duration) {
        if self.waits >= WAITS_MAX {
            *self = Self { waits: self.waits / 2, waited: self.waited / 2 };
        }
        self.waits += waits;
        self.waited += waited;
    }

    fn are_slow(&self) -> bool {
        let mean = self.waited.checked_div(u32::try_from(self.waits).unwrap_or(u32::MAX));
        self.waits >= WAITS_MIN && mean.is_some_and(|mean| mean >= SLOW)
    }
}

#[derive(Debug, Default)]
pub(super) struct Latency {
    answers: Mutex<Answers>,
    is_slow: AtomicBool,
}

impl Latency {
    pub(super) fn new() -> Self {
        QUIET.set(0);
        Self::default()
    }

    pub(super) fn slow() -> Self {
        Self { is_slow: AtomicBool::new(true), ..Self::default() }
    }

    pub(super) fn is_slow(&self) -> bool {
        self.is_slow.load(Ordering::Relaxed)
    }

    pub(super) fn note_slow(&self) {
        // As if as many waits as count had taken as long.
        *lock(&self.answers) = Answers { waits: WAITS_MAX, waited: SLOW * WAITS_MAX as u32 };
        self.is_slow.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_waited(&self) -> bool {
        lock(&self.answers).waits > 0
    }

    pub(super) fn observe<T>(&self, call: impl FnOnce() -> T) -> T {
        let quiet = QUIET.get();
        if quiet > QUIET_CALLS {
            QUIET.set(if quiet == QUIET_CALLS + QUIET_ONE_IN { QUIET_CALLS } else { quiet + 1 });
            return call();
        }
        let processor = || {
            let usage = thread_usage();
            Duration::from_nanos(usage.user_ns + usage.system_ns)
        };
        let (before, used, started) = (thread_waits(), processor(), Instant::now());
        let result = call();
        let after = thread_waits();
        if after.waited_for_device_since(before) {
            let waited = started.elapsed().saturating_sub(processor().saturating_sub(used));
            let mut answers = lock(&self.answers);
            answers.note(after.switches - before.switches, waited);
            self.is_slow.store(answers.are_slow(), Ordering::Relaxed);
            QUIET.set(0);
        } else {
            QUIET.set(quiet + 1);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Answers, Latency, QUIET_CALLS, WAITS_MAX};

    fn answers(each: &[u64]) -> Answers {
        let mut answers = Answers::default();
        each.iter().for_each(|micros| answers.note(1, Duration::from_micros(*micros)));
        answers
    }

    #[test]
    fn a_device_is_slow_once_three_waits_took_two_milliseconds_on_average() {
        assert!(!answers(&[]).are_slow());
        assert!(!answers(&[9000, 9000]).are_slow(), "too few");
        assert!(
            answers(&[9000, 9000, 300]).are_slow(),
            "a rotating disk, with one request that followed another"
        );
        assert!(!answers(&[4000, 900, 900]).are_slow(), "one long wait on a virtual disk");
        assert!(!answers(&[100; 50]).are_slow());
        assert!(answers(&[2000; 3]).are_slow());
        assert!(!answers(&[1999; 3]).are_slow());
    }

    #[test]
    fn later_replies_count_more() {
        let mut answers = answers(&[9000; 4]);
        for _ in 0..10 * WAITS_MAX {
            answers.note(1, Duration::from_micros(100));
        }
        assert!(!answers.are_slow(), "{answers:?}");
        for _ in 0..WAITS_MAX {
            answers.note(1, Duration::from_micros(9000));
        }
        assert!(answers.are_slow(), "{answers:?}");
    }

    #[test]
    fn calls_that_do_not_wait_are_measured_ever_more_rarely_and_each_is_made() {
        let latency = Latency::new();
        let made: u32 = (0..QUIET_CALLS * 4).map(|_| latency.observe(|| 1)).sum();
        assert_eq!(made, QUIET_CALLS * 4);
        assert!(!latency.is_slow());
    }
}
