//! The measurement loop for single operations. Each is timed by one read of a cycle counter after it: its end is the start of
//! the next. Ticks go into a log-linear histogram; the loop makes no allocation and no system call.
//!
//! | loop | measured time of an operation |
//! |---|---|
//! | back to back | service time: from the end of the previous operation to its own end |
//! | at a rate | response time: from its scheduled start to its end |
//! | untimed, in the self-check | none: the difference is the cost of measuring |
//!
//! A cycle counter, because on a virtual machine timing by it adds 16 ns to an `fstatat` of 238 ns
//! (METHODOLOGY.md), and two readings of a system's clock for each operation would add several times that.
//! Chaining the reads halves their number, and leaves no moment of a block unaccounted for: `self_check`
//! compares the sum with the wall time.

mod self_check;
mod stopwatch;

use std::time::Duration;

use megadir_sys::clock::{cycles, invariant_counter, monotonic_ns};

pub use self_check::{NullCost, null_loop, null_loop_untimed, self_check};
pub use stopwatch::Stopwatch;

/// A clock, as a type of its own, so that the loop is compiled for each clock and decides nothing while it
/// measures.
pub trait Ticks: Copy {
    fn now(self) -> u64;
}

/// Only for processors where it is invariant.
#[derive(Clone, Copy, Debug)]
pub struct CycleCounter;

#[derive(Clone, Copy, Debug)]
pub struct Clock;

impl Ticks for CycleCounter {
    #[inline]
    fn now(self) -> u64 {
        cycles()
    }
}

impl Ticks for Clock {
    #[inline]
    fn now(self) -> u64 {
        monotonic_ns()
    }
}

/// Length of a tick, from which all times of a run are computed. It is measured at both ends of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Nanoseconds per tick of the cycle counter; `None` if it is not invariant, or rejected by the kernel.
    pub ns_per_tick: Option<f64>,
}

impl Calibration {
    /// Compares both clocks over `span`. An error of 100 ns at its ends is 5 ppm of 20 ms.
    pub fn over(span: Duration) -> Self {
        if !invariant_counter() || !is_trusted(clock_source().as_deref()) {
            return Self { ns_per_tick: None };
        }
        let (start_ticks, start_ns) = pair();
        std::thread::sleep(span);
        let (end_ticks, end_ns) = pair();
        let ticks = end_ticks.saturating_sub(start_ticks);
        let ns_per_tick = (ticks > 0).then(|| (end_ns - start_ns) as f64 / ticks as f64);
        Self { ns_per_tick }
    }

    pub fn ticks(&self, ns: f64) -> f64 {
        ns / self.ns_per_tick.unwrap_or(1.0)
    }

    /// Relative change of a tick's length since `before`; 0 if the cycle counter is not used.
    pub fn drift_since(&self, before: &Self) -> f64 {
        match (self.ns_per_tick, before.ns_per_tick) {
            (Some(now), Some(before)) => now / before - 1.0,
            _ => 0.0,
        }
    }
}

/// In a virtual machine the counter is scaled.
const BY_COUNTER: [&str; 3] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"];

fn clock_source() -> Option<String> {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()
}

/// `true` if the cycle counter is trustworthy when the kernel uses `source`: the kernel switches to another
/// clock if the counters of processors differ or stop. Processors other than x86 share one counter.
fn is_trusted(source: Option<&str>) -> bool {
    cfg!(not(target_arch = "x86_64")) || source.is_none_or(|source| BY_COUNTER.contains(&source.trim()))
}

/// As close together as a few attempts allow.
fn pair() -> (u64, u64) {
    let attempt = || {
        let before = cycles();
        let ns = monotonic_ns();
        let after = cycles();
        (after.saturating_sub(before), before + after.saturating_sub(before) / 2, ns)
    };
    let nearest = (0..16).map(|_| attempt()).min_by_key(|(apart, ..)| *apart);
    nearest.map_or_else(|| (cycles(), monotonic_ns()), |(_, ticks, ns)| (ticks, ns))
}

#[cfg(test)]
mod tests {
    use super::is_trusted;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_counter_that_the_kernel_has_left_is_not_used() {
        for source in [None, Some("tsc\n"), Some("kvm-clock\n"), Some("hyperv_clocksource_tsc_page\n")] {
            assert!(is_trusted(source), "{source:?}");
        }
        for source in ["hpet\n", "acpi_pm\n", "xen\n", "jiffies\n"] {
            assert!(!is_trusted(Some(source)), "{source:?}");
        }
    }
}
