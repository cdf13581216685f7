//! Self-check of a run's instruments, before any other measurement.
//!
//! Raw figures only: intervals and judgements are up to the report.

use serde::{Deserialize, Serialize};

/// Cost of timing single operations, and detection of known delays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfCheck {
    /// `true` if the cycle counter is the clock, `false` for the monotonic clock.
    pub cycle_counter: bool,
    /// Length of a tick, nanoseconds.
    pub ns_per_tick: f64,
    /// Cost of one read of the counter in a series of reads, nanoseconds.
    pub timer_ns: f64,
    /// Cost of the empty measurement loop, nanoseconds an operation.
    pub null_loop_ns: f64,
    /// Operations (a cached `fstatat` of the run's directory) in each block of the rounds below.
    pub operations: u64,
    /// Wall time of the blocks without timing, in the order of rounds, nanoseconds.
    pub untimed_ns: Vec<u64>,
    /// Wall time of the blocks of the same rounds with every operation timed, nanoseconds.
    pub timed_ns: Vec<u64>,
    /// Sum of the times in the timed blocks' histograms and of the gaps, relative to their wall time.
    pub accounted: f64,
    /// Delays injected into empty operations, and their detection in the histogram.
    pub delays: Vec<Delay>,
}

/// Delay injected into some operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delay {
    /// Length by the monotonic clock, nanoseconds.
    pub injected_ns: u64,
    /// Number of operations with the delay.
    pub injected: u64,
    /// Number of times in the histogram between 98 and 150 % of its length.
    pub found: u64,
    /// Median of these times, nanoseconds; 0 if there are none.
    pub found_ns: f64,
}
