//! Budget of a running task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::job::Budget;

pub(crate) struct Spending<'s> {
    started: Instant,
    time: Duration,
    entries_max: u64,
    pub(crate) entries: u64,
    stop: &'s AtomicBool,
}

impl<'s> Spending<'s> {
    pub(crate) fn begin(budget: Budget, stop: &'s AtomicBool) -> Self {
        let time = Duration::try_from_secs_f64(budget.seconds).unwrap_or(Duration::MAX);
        Self { started: Instant::now(), time, entries_max: budget.entries, entries: 0, stop }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.entries >= self.entries_max || self.started.elapsed() >= self.time
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.time.saturating_sub(self.started.elapsed())
    }

    pub(crate) fn entries_left(&self) -> u64 {
        self.entries_max.saturating_sub(self.entries)
    }
}
