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

mod null;
mod self_check;
mod stopwatch;
mod ticks;

use megadir_stats::histogram::Histogram;

pub use null::{NullCost, null_loop, null_loop_untimed};
pub use self_check::self_check;
pub use stopwatch::Stopwatch;
pub use ticks::{Calibration, Clock, CycleCounter, Ticks};

/// An operation that is short enough to be measured many times a block.
pub trait Operation {
    /// Why it cannot go on.
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

/// What a loop came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looped {
    /// From the first operation's start to the end of what came after the last, ticks.
    pub elapsed_ticks: u64,
    /// What of that belongs to no operation, ticks.
    pub gap_ticks: u64,
    /// The sum of the operations' results.
    pub sum: u64,
}

/// Does `operations` operations one after the other, each timed, and adds them to `histogram`;
/// [`Operation::between`] has its turn every `look_ticks`.
///
/// Generic over counter and operation so that both are inlined: the loop's own cost is a read of the
/// counter and a record in the histogram.
///
/// # Errors
///
/// That of the operation.
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
    Ok(Looped { elapsed_ticks: last.saturating_sub(start), gap_ticks, sum })
}

/// Does `operations` operations, one every `interval_ticks`, and adds to `histogram` how long after the moment it was
/// planned for each of them had ended; what is late starts at once.
///
/// Waits by reading the counter. An operation that takes long thus delays those after it, and their times say so
/// (coordinated omission: Tene, *How not to measure latency*, 2013).
///
/// # Errors
///
/// That of the operation.
#[inline]
pub fn paced_loop<T: Ticks, O: Operation>(
    ticks: T,
    operation: &mut O,
    operations: u64,
    interval_ticks: f64,
    look_ticks: u64,
    histogram: &mut Histogram,
) -> Result<Looped, O::Error> {
    let (mut sum, mut gap_ticks) = (0_u64, 0_u64);
    let start = ticks.now();
    let (mut last, mut look) = (start, start.saturating_add(look_ticks));
    for index in 0..operations {
        let intended = start.saturating_add((index as f64 * interval_ticks) as u64);
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
    Ok(Looped { elapsed_ticks: last.saturating_sub(start), gap_ticks, sum })
}

/// Does `operations` operations without timing each; returns the sum of their results.
///
/// # Errors
///
/// That of the operation.
#[inline]
pub fn untimed_loop<O: Operation>(operation: &mut O, operations: u64) -> Result<u64, O::Error> {
    (0..operations).try_fold(0_u64, |sum, index| Ok(sum.wrapping_add(operation.run(index)?)))
}
