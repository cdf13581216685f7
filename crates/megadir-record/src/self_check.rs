//! What a run finds out about its own measuring, before it measures anything else.
//!
//! Raw figures only: intervals and judgements are the report's.

use serde::{Deserialize, Serialize};

/// What measuring single operations costs, and whether what is known beforehand is found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfCheck {
    /// Whether the cycle counter is read; else the monotonic clock.
    pub cycle_counter: bool,
    /// The length of a tick, nanoseconds.
    pub ns_per_tick: f64,
    /// One read of the counter in a chain of them, nanoseconds.
    pub timer_ns: f64,
    /// The measured loop with nothing in it, nanoseconds an operation.
    pub null_loop_ns: f64,
    /// Operations (a cached `fstatat` of the run's directory) in each block of the rounds below.
    pub operations: u64,
    /// Wall time of the blocks without timing, in the order of rounds, nanoseconds.
    pub untimed_ns: Vec<u64>,
    /// Wall time of the blocks of the same rounds in which every operation was timed, nanoseconds.
    pub timed_ns: Vec<u64>,
    /// The sum of the times in the timed blocks' histograms and of the gaps, over their wall time.
    pub accounted: f64,
    /// Delays put into operations that take no time, and what the histogram shows of them.
    pub delays: Vec<Delay>,
}

/// A delay that was put into some operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delay {
    /// Its length by the monotonic clock, nanoseconds.
    pub injected_ns: u64,
    /// The number of operations that had it.
    pub injected: u64,
    /// The number of times in the histogram from 98 to 150 % of its length.
    pub found: u64,
    /// The median of those, nanoseconds; 0 where there are none.
    pub found_ns: f64,
}
