//! The measured loop of single operations, and its own cost.
//!
//! One operation is timed by the read of a cycle counter after it: the end of one is the start of the next,
//! so a loop of n operations reads the counter n + 1 times. Counter ticks go into a log-linear histogram and
//! become nanoseconds only when it is read. No allocation and no system call but the operation's own.

mod null;
mod ticks;

use megadir_stats::histogram::Histogram;

pub use null::{NullCost, null_loop, null_loop_untimed};
pub use ticks::{Calibration, Ticks};

/// An operation that is short enough to be measured many times a block.
pub trait Operation {
    /// Does it once, for the `index`-th key of the block; returns a value that stands for its result.
    fn run(&mut self, index: u64) -> u64;
}

/// Does `operations` operations, each timed, and adds them to `histogram`.
///
/// Returns the counter from the first operation's start to the last one's end, in ticks, and the sum of the
/// operations' results.
///
/// Generic over counter and operation so that both are inlined: the loop's own cost is a read of the
/// counter and a record in the histogram.
#[inline]
pub fn measured_loop<T: Ticks, O: Operation>(
    ticks: T,
    operation: &mut O,
    operations: u64,
    histogram: &mut Histogram,
) -> (u64, u64) {
    let mut checksum = 0_u64;
    let start = ticks.now();
    let mut last = start;
    for index in 0..operations {
        checksum = checksum.wrapping_add(operation.run(index));
        let now = ticks.now();
        // A counter that is read on another processor may be a few ticks behind.
        histogram.record(now.saturating_sub(last));
        last = now;
    }
    (last.saturating_sub(start), checksum)
}
