//! The null workload: the measured loop with nothing in it, which shows what the loop itself costs.

use std::convert::Infallible;
use std::hint::black_box;

use megadir_sys::clock::monotonic_ns;

use super::{Calibration, Operation, Stopwatch, untimed_loop};

/// An operation that does nothing but depend on its index.
#[derive(Clone, Copy, Debug)]
struct Null;

impl Operation for Null {
    type Error = Infallible;

    #[inline]
    fn run(&mut self, index: u64) -> Result<u64, Infallible> {
        Ok(black_box(index))
    }
}

/// What the measured loop costs with nothing in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullCost {
    /// Operations done.
    pub operations: u64,
    /// Wall time an operation, nanoseconds.
    pub ns_per_operation: f64,
    /// The median that the histogram shows, nanoseconds.
    pub median_ns: f64,
    /// The sum of the histogram over the wall time of the loop by the monotonic clock; 1 when nothing is lost.
    pub accounted: f64,
    /// Whether the cycle counter was used.
    pub cycle_counter: bool,
}

/// Runs the measured loop with nothing in it.
pub fn null_loop(calibration: Calibration, operations: u64) -> NullCost {
    let mut stopwatch = Stopwatch::new(calibration);
    let start = monotonic_ns();
    let Ok(sum) = stopwatch.time(&mut Null, operations);
    let elapsed_ns = (monotonic_ns() - start).max(1) as f64;
    black_box(sum);
    let histogram = stopwatch.histogram();
    NullCost {
        operations,
        ns_per_operation: elapsed_ns / operations.max(1) as f64,
        median_ns: histogram.quantile(0.5).unwrap_or(0) as f64 * stopwatch.ns_per_tick(),
        accounted: histogram.sum() as f64 * stopwatch.ns_per_tick() / elapsed_ns,
        cycle_counter: calibration.ns_per_tick.is_some(),
    }
}

/// Runs the same loop without timing each operation; returns nanoseconds an operation.
pub fn null_loop_untimed(operations: u64) -> f64 {
    let start = monotonic_ns();
    let Ok(sum) = untimed_loop(&mut Null, operations);
    black_box(sum);
    (monotonic_ns() - start) as f64 / operations.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{Calibration, Null, Stopwatch, black_box, null_loop, null_loop_untimed};
    use std::time::Duration;

    #[test]
    fn the_histogram_accounts_for_the_loop() {
        // Noise can only lower the share that the best of several runs accounts for.
        let calibration = Calibration::over(Duration::from_millis(5));
        let accounted = (0..10).map(|_| null_loop(calibration, 200_000).accounted).fold(0.0, f64::max);
        assert!((0.98..1.02).contains(&accounted), "{accounted}");
        let mut stopwatch = Stopwatch::new(calibration);
        let counted = allocation_counter::measure(|| {
            let Ok(sum) = stopwatch.time(&mut Null, 200_000);
            black_box(sum);
        });
        assert_eq!(counted.count_total, 0);
        let untimed_ns = (0..10).map(|_| null_loop_untimed(100_000)).fold(f64::INFINITY, f64::min);
        assert!(untimed_ns < 1_000.0, "{untimed_ns}");
    }
}
