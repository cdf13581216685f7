//! The measured loop of single operations, and its own cost.
//!
//! One operation is timed by the read of a cycle counter after it: the end of one is the start of the next,
//! so a loop of n operations reads the counter n + 1 times. Counter ticks go into a log-linear histogram and
//! become nanoseconds only when it is read. No allocation and no system call but the operation's own.
//!
//! | loop | what the time of an operation is |
//! |---|---|
//! | [`measured_loop`] | from the end of the one before it to its own end: the service |
//! | [`paced_loop`] | from the moment it was planned for to its end: what one who asks then has to wait |
//! | [`untimed_loop`] | not taken: what measuring costs is the difference |
//!
//! Workloads use them through a [`Stopwatch`], which knows the counter and holds the histogram.

mod self_check;
mod stopwatch;
mod ticks;

use megadir_stats::histogram::Histogram;

pub use crate::measure::self_check::{NullCost, null_loop, null_loop_untimed};
pub use self_check::self_check;
pub use stopwatch::Stopwatch;
pub use ticks::{Calibration, Clock, CycleCounter, Ticks};

/// An operation that is short enough to be measured many times a block.
pub trait Operation {
    /// Reason why the loop ends.
    type Error;

    /// Does it once, for the `index`-th time in the block; returns a value that stands for its result.
    ///
    /// # Errors
    ///
    /// Whatever ends the block.
    fn run(&mut self, index: u64) -> Result<u64, Self::Error>;

    /// Is called between two operations, in no operation's time, about every millisecond: the place for a look at whether
    /// the run is to end.
    ///
    /// # Errors
    ///
    /// Whatever ends the block.
    fn between(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Result of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looped {
    /// From the first operation's start to the end of what came after the last, ticks.
    pub elapsed_ticks: u64,
    /// What of that belongs to no operation, ticks.
    pub gap_ticks: u64,
    /// The sum of the operations' results.
    pub sum: u64,
    /// How long before the moment of the next operation, had there been one, it ended, ticks; negative where it was late. 0 without
    /// such moments.
    pub ahead_ticks: i64,
}

/// Does `operations` operations one after the other, each timed, and adds them to `histogram`;
/// [`Operation::between`] has its turn every `look_ticks`.
///
/// Generic over counter and operation so that both are inlined: the loop's own cost is a read of the
/// counter and a record in the histogram.
///
/// # Errors
///
/// The operation's error.
#[inline]
pub fn measured_loop<T: Ticks, O: Operation>(
    ticks: T,
    operation: &mut O,
    operations: u64,
    look_ticks: u64,
    histogram: &mut Histogram,
) -> Result<Looped, O::Error> {
    let (mut sum, mut gap_ticks) = (0_u64, 0_u64);
    let mut times = histogram.recording();
    let start = ticks.now();
    let (mut last, mut look) = (start, start.saturating_add(look_ticks));
    for index in 0..operations {
        sum = sum.wrapping_add(operation.run(index)?);
        let now = ticks.now();
        // A counter that is read on another processor may be a few ticks behind.
        times.record(now.saturating_sub(last));
        last = now;
        if now >= look {
            operation.between()?;
            last = ticks.now();
            gap_ticks += last.saturating_sub(now);
            look = last.saturating_add(look_ticks);
        }
    }
    Ok(Looped { elapsed_ticks: last.saturating_sub(start), gap_ticks, sum, ahead_ticks: 0 })
}

/// Does `operations` operations, one every `interval_ticks`, and adds to `histogram` how long after the moment it was
/// planned for each of them had ended; what is late starts at once.
///
/// The first is planned for `ahead_ticks` from now: what the loop before it left ahead or, negative, late, so that loops with a pause between them
/// are one plan that the pause belongs not to.
///
/// Waits by reading the counter. An operation that takes long thus delays those after it, and their times say so
/// (coordinated omission: Tene, *How not to measure latency*, 2013).
///
/// # Errors
///
/// The operation's error.
#[inline]
pub fn paced_loop<T: Ticks, O: Operation>(
    ticks: T,
    operation: &mut O,
    operations: u64,
    interval_ticks: f64,
    look_ticks: u64,
    ahead_ticks: i64,
    histogram: &mut Histogram,
) -> Result<Looped, O::Error> {
    let (mut sum, mut gap_ticks) = (0_u64, 0_u64);
    let start = ticks.now();
    let (mut last, mut look) = (start, start.saturating_add(look_ticks));
    let first = start.saturating_add_signed(ahead_ticks);
    let planned = |index: u64| first.saturating_add((index as f64 * interval_ticks) as u64);
    for index in 0..operations {
        let intended = planned(index);
        let ended = last;
        while last < intended {
            last = ticks.now();
            if last >= look {
                operation.between()?;
                look = last.saturating_add(look_ticks);
            }
        }
        gap_ticks += last.saturating_sub(ended);
        sum = sum.wrapping_add(operation.run(index)?);
        last = ticks.now();
        histogram.record(last.saturating_sub(intended));
        // One that never waits must have its turn too.
        if last >= look {
            operation.between()?;
            look = last.saturating_add(look_ticks);
        }
    }
    let ahead_ticks = planned(operations).cast_signed().saturating_sub(last.cast_signed());
    Ok(Looped { elapsed_ticks: last.saturating_sub(start), gap_ticks, sum, ahead_ticks })
}

/// Does `operations` operations without timing each; returns the sum of their results.
///
/// # Errors
///
/// The operation's error.
#[inline]
pub fn untimed_loop<O: Operation>(operation: &mut O, operations: u64) -> Result<u64, O::Error> {
    (0..operations).try_fold(0_u64, |sum, index| Ok(sum.wrapping_add(operation.run(index)?)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::{Operation, Ticks, paced_loop};
    use megadir_stats::histogram::Histogram;

    /// A counter that goes up by one whenever it is read, and by what operations take.
    #[derive(Clone, Copy)]
    struct Counter<'a>(&'a Cell<u64>);

    impl Ticks for Counter<'_> {
        fn now(self) -> u64 {
            self.0.set(self.0.get() + 1);
            self.0.get()
        }
    }

    struct Takes<'a>(&'a Cell<u64>, u64);

    impl Operation for Takes<'_> {
        type Error = Infallible;
        fn run(&mut self, _: u64) -> Result<u64, Infallible> {
            self.0.set(self.0.get() + self.1);
            Ok(1)
        }
        fn between(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    /// Returns the shortest and the longest time of 20 operations that take so long, in loops of `batch` with pauses between.
    fn times(taken: u64, interval: f64, batch: u64) -> (u64, u64) {
        let (now, mut histogram, mut ahead) = (Cell::new(1_000_000), Histogram::new(), 0);
        for _ in 0..20 / batch {
            now.set(now.get() + 77_777);
            let looped = paced_loop(
                Counter(&now),
                &mut Takes(&now, taken),
                batch,
                interval,
                1 << 40,
                ahead,
                &mut histogram,
            );
            ahead = looped.unwrap().ahead_ticks;
        }
        (histogram.min().unwrap(), histogram.max().unwrap())
    }

    #[test]
    fn pauses_forgive_nothing_that_is_late_and_shorten_no_wait() {
        // Each takes ten times as long as there is time for: the twentieth ends 1810 after its moment.
        for batch in [20, 10, 5, 1] {
            let (min, max) = times(100, 10.0, batch);
            assert!((100..=102).contains(&min) && (1810..=1870).contains(&max), "{batch}: {min} to {max}");
        }
        // In time, all take what they take, whatever the batches.
        for batch in [20, 10, 5, 1] {
            let (min, max) = times(10, 100.0, batch);
            assert!((10..=13).contains(&min) && (10..=13).contains(&max), "{batch}: {min} to {max}");
        }
    }
}
