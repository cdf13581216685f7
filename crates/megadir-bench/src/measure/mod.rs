//! The measurement loop for single operations. Each is timed by one read of a cycle counter after it: its end
//! is the start of the next. Ticks go into a log-linear histogram; the loop makes no allocation and no system
//! call.
//!
//! | loop | measured time of an operation |
//! |---|---|
//! | [`measured_loop`] | service time: from the end of the previous operation to its own end |
//! | [`paced_loop`] | response time: from its scheduled start to its end |
//! | [`untimed_loop`] | none: the difference is the cost of measuring |

mod self_check;
mod stopwatch;

use std::time::Duration;

use megadir_stats::histogram::Histogram;
use megadir_sys::clock::{cycles, invariant_counter, monotonic_ns};

pub use crate::measure::self_check::{NullCost, null_loop, null_loop_untimed};
pub use self_check::self_check;
pub use stopwatch::Stopwatch;

pub trait Operation {
    type Error;

    /// The result must depend on the operation's; an error ends the block.
    fn run(&mut self, index: u64) -> Result<u64, Self::Error>;

    /// Called between two operations, outside their times, about every millisecond; an error ends the block.
    fn between(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looped {
    /// Until everything after the last operation has ended, ticks.
    pub elapsed_ticks: u64,
    /// Part of `elapsed_ticks` outside all operations, ticks.
    pub gap_ticks: u64,
    pub sum: u64,
    /// Time left to the scheduled start of the next operation, ticks; negative if it was late, 0 without a
    /// rate.
    pub ahead_ticks: i64,
}

/// Adds the times to `histogram` and calls [`Operation::between`] every `look_ticks`. Generic so that counter
/// and operation are inlined: the loop costs one read and one record.
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
        // Counters of processors may differ by a few ticks.
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

/// Runs one operation every `interval_ticks` and records the time from scheduled start to end; a late one
/// starts at once. The first is scheduled `ahead_ticks` from now: pass the previous loop's
/// `Looped::ahead_ticks` to continue a schedule. Waits by spinning. Times include delays by slow predecessors
/// (coordinated omission: Tene, *How not to measure latency*, 2013).
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
        if last >= look {
            operation.between()?;
            look = last.saturating_add(look_ticks);
        }
    }
    let ahead_ticks = planned(operations).cast_signed().saturating_sub(last.cast_signed());
    Ok(Looped { elapsed_ticks: last.saturating_sub(start), gap_ticks, sum, ahead_ticks })
}

#[inline]
pub fn untimed_loop<O: Operation>(operation: &mut O, operations: u64) -> Result<u64, O::Error> {
    (0..operations).try_fold(0_u64, |sum, index| Ok(sum.wrapping_add(operation.run(index)?)))
}

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

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Nanoseconds per tick of the cycle counter; `None` if it is not invariant, or rejected by the kernel.
    pub ns_per_tick: Option<f64>,
}

impl Calibration {
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
    use std::cell::Cell;
    use std::convert::Infallible;

    use megadir_stats::histogram::Histogram;

    use super::{Operation, Ticks, is_trusted, paced_loop};

    /// A fake counter that advances by one per read, and by the duration of operations.
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
        // Each takes ten times its interval: the twentieth ends 1810 after its scheduled start.
        for batch in [20, 10, 5, 1] {
            let (min, max) = times(100, 10.0, batch);
            assert!((100..=102).contains(&min) && (1810..=1870).contains(&max), "{batch}: {min} to {max}");
        }
        // On schedule, every time is the service time, whatever the batch size.
        for batch in [20, 10, 5, 1] {
            let (min, max) = times(10, 100.0, batch);
            assert!((10..=13).contains(&min) && (10..=13).contains(&max), "{batch}: {min} to {max}");
        }
    }

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
