//! Source of ticks, and their length.

use std::time::Duration;

use megadir_sys::clock::{cycles, invariant_counter, monotonic_ns};

pub trait Ticks: Copy {
    fn now(self) -> u64;
}

/// The processor's cycle counter, for processors where it is invariant.
#[derive(Clone, Copy, Debug)]
pub struct CycleCounter;

/// The monotonic clock, whose ticks are nanoseconds.
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Nanoseconds per tick of the cycle counter; `None` if it is unusable: not invariant, or rejected by the
    /// kernel as clock source.
    pub ns_per_tick: Option<f64>,
}

impl Calibration {
    /// Calibrates over `span`.
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
}

impl Calibration {
    /// Converts nanoseconds to ticks of the counter in use.
    pub fn ticks(&self, ns: f64) -> f64 {
        ns / self.ns_per_tick.unwrap_or(1.0)
    }

    /// Returns the relative change of a tick's length since `before`; 0 if the cycle counter is not used.
    pub fn drift_since(&self, before: &Self) -> f64 {
        match (self.ns_per_tick, before.ns_per_tick) {
            (Some(now), Some(before)) => now / before - 1.0,
            _ => 0.0,
        }
    }
}

/// Linux clock sources based on the cycle counter; in a virtual machine it is scaled.
const BY_COUNTER: [&str; 3] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"];

/// Returns the kernel's current clock source (Linux).
fn clock_source() -> Option<String> {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()
}

/// `true` if the cycle counter is trustworthy when the kernel uses `source`: the kernel switches to another
/// clock if the counters of processors differ or stop at times. Processors other than x86 share one counter.
fn is_trusted(source: Option<&str>) -> bool {
    cfg!(not(target_arch = "x86_64")) || source.is_none_or(|source| BY_COUNTER.contains(&source.trim()))
}

/// Reads both clocks as close together as a few attempts allow.
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
