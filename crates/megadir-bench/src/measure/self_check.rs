//! Self-check of a run: the cost of measuring on this machine, and whether inserted delays are detected. The
//! same operation runs timed and untimed in short blocks, paired like any two arms.
//!
//! ```text
//!  pairs       timed against untimed blocks of the same operation      -> cost of timing; share accounted for
//!  null_loop   an operation that does nothing                          -> cost of the loop (a floor)
//!  delays      known delays at known places, found in the histogram    -> the tail can be trusted
//!  timer_ns    one read of the clock
//! ```
//!
//! It runs before every run, in about a second, since its results depend on the machine and its load, not
//! on the program alone; they are part of the record.

use std::convert::Infallible;
use std::hint::black_box;

use megadir_record::{Delay, SelfCheck};
use megadir_stats::permutation::SplitMix64;
use megadir_sys::clock::monotonic_ns;

use crate::measure::{Calibration, Clock, CycleCounter, Stopwatch, Ticks};

/// At a few nanoseconds each, hundredths of a second.
const NULL_OPERATIONS: u64 = 2_000_000;
const READS: u64 = 200_000;
const OPERATIONS: u64 = 1000;
const BLOCK_NS_MAX: u64 = 1_500_000;
const PILOTS: u32 = 5;
const PILOT_OPERATIONS: u64 = 100;
/// At most, and no longer than `ROUNDS_NS_MAX`: slow operations, as on a network, get fewer pairs.
const ROUNDS: usize = 300;
const ROUNDS_NS_MAX: u64 = 800_000_000;
/// Each delay is an interval in operations and a duration in nanoseconds.
const DELAYED_OPERATIONS: u64 = 20_000;
const DELAYS: [(u64, u64); 3] = [(10, 2_000), (100, 20_000), (400, 200_000)];

/// `operation` must be short and without lasting effects. An error of `between` ends the check.
pub fn self_check<E>(
    calibration: Calibration,
    operation: impl FnMut(u64) -> Result<u64, E>,
    between: impl FnMut() -> Result<(), E>,
    seed: u64,
) -> Result<SelfCheck, E> {
    let mut stopwatch = Stopwatch::new(calibration);
    let delays = delays(&mut stopwatch);
    let (operations, untimed_ns, timed_ns, accounted) = pairs(&mut stopwatch, operation, between, seed)?;
    Ok(SelfCheck {
        cycle_counter: calibration.ns_per_tick.is_some(),
        ns_per_tick: stopwatch.ns_per_tick(),
        timer_ns: match calibration.ns_per_tick {
            Some(_) => timer_ns(CycleCounter),
            None => timer_ns(Clock),
        },
        null_loop_ns: null_loop(calibration, NULL_OPERATIONS).ns_per_operation,
        operations,
        untimed_ns,
        timed_ns,
        accounted,
        delays,
    })
}

/// Mean cost of reading a clock, nanoseconds. `black_box` keeps the compiler from removing reads without
/// use.
fn timer_ns<T: Ticks>(ticks: T) -> f64 {
    let start = monotonic_ns();
    for _ in 0..READS {
        black_box(ticks.now());
    }
    (monotonic_ns() - start) as f64 / READS as f64
}

/// Operations of a block, its times without and with timing, and the accounted part of the latter.
type Pairs = (u64, Vec<u64>, Vec<u64>, f64);

/// The cost of timing is measured in the way that the run measures everything: short blocks in a random order
/// within each pair, so that a drift concerns both kinds alike. Blocks are short enough that an interruption
/// spoils few of them. The loop has a limit of time, since the operation may be slow on a network.
fn pairs<E>(
    stopwatch: &mut Stopwatch,
    mut operation: impl FnMut(u64) -> Result<u64, E>,
    mut between: impl FnMut() -> Result<(), E>,
    seed: u64,
) -> Result<Pairs, E> {
    // The first pass warms caches; the shortest pass gives the duration of one operation.
    let mut one_ns = u64::MAX;
    for _ in 0..PILOTS {
        let start = monotonic_ns();
        untimed(PILOT_OPERATIONS, &mut operation)?;
        one_ns = one_ns.min((monotonic_ns() - start) / PILOT_OPERATIONS);
    }
    let one_ns = one_ns.max(1);
    let operations = (BLOCK_NS_MAX / one_ns).clamp(1, OPERATIONS);
    let mut random = SplitMix64::new(seed);
    let (mut untimed_ns, mut timed_ns) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    stopwatch.clear();
    let begin = monotonic_ns();
    while untimed_ns.len() < ROUNDS && monotonic_ns() - begin < ROUNDS_NS_MAX {
        between()?;
        let timed_first = random.next_u64() >> 63 == 0;
        for timed in [timed_first, !timed_first] {
            let start = monotonic_ns();
            black_box(match timed {
                true => stopwatch.time(operations, &mut operation, &mut between)?,
                false => untimed(operations, &mut operation)?,
            });
            let elapsed_ns = monotonic_ns() - start;
            if timed { &mut timed_ns } else { &mut untimed_ns }.push(elapsed_ns);
        }
    }
    let wall_ns: u64 = timed_ns.iter().sum();
    let accounted_ns = stopwatch.accounted_ticks() as f64 * stopwatch.ns_per_tick();
    Ok((operations, untimed_ns, timed_ns, accounted_ns / wall_ns.max(1) as f64))
}

#[inline]
fn untimed<E>(operations: u64, mut operation: impl FnMut(u64) -> Result<u64, E>) -> Result<u64, E> {
    (0..operations).try_fold(0_u64, |sum, index| Ok(sum.wrapping_add(operation(index)?)))
}

#[inline]
fn delayed(index: u64) -> Result<u64, Infallible> {
    if let Some(delay_ns) = delay_of(index) {
        // The monotonic clock differs from the counter under test where there is a cycle counter.
        let start = monotonic_ns();
        while monotonic_ns() - start < delay_ns {}
    }
    Ok(black_box(index))
}

/// Delay of an operation. Each interval is offset by its half, so that no operation has two delays.
fn delay_of(index: u64) -> Option<u64> {
    let falls = |(every, _): &&(u64, u64)| index % every == every / 2;
    DELAYS.iter().find(falls).map(|(_, delay_ns)| *delay_ns)
}

/// Injects delays of 2, 20 and 200 microseconds and counts them in the histogram.
fn delays(stopwatch: &mut Stopwatch) -> Vec<Delay> {
    stopwatch.clear();
    let Ok(sum) = stopwatch.time(DELAYED_OPERATIONS, delayed, || Ok(()));
    black_box(sum);
    DELAYS.map(|(_, delay_ns)| found(stopwatch, delay_ns)).into()
}

/// Delays of one length that the histogram shows. The range allows for the width of a bucket below, and for
/// interruptions above.
fn found(stopwatch: &Stopwatch, delay_ns: u64) -> Delay {
    let ns_per_tick = stopwatch.ns_per_tick();
    let middle_ns = |low: u64, high: u64| low.midpoint(high) as f64 * ns_per_tick;
    let of_delay = (0.98 * delay_ns as f64)..(1.5 * delay_ns as f64);
    let near: Vec<(f64, u64)> = stopwatch
        .histogram()
        .buckets()
        .map(|bucket| (middle_ns(bucket.low, bucket.high), bucket.count))
        .filter(|(ns, _)| of_delay.contains(ns))
        .collect();
    let found: u64 = near.iter().map(|(_, count)| count).sum();
    let mut up_to = 0;
    let median = near.iter().find(|(_, count)| {
        up_to += count;
        2 * up_to >= found
    });
    Delay {
        injected_ns: delay_ns,
        injected: (0..DELAYED_OPERATIONS).filter(|index| delay_of(*index) == Some(delay_ns)).count() as u64,
        found,
        found_ns: median.map_or(0.0, |(ns, _)| *ns),
    }
}

#[inline]
fn null(index: u64) -> Result<u64, Infallible> {
    Ok(black_box(index))
}

/// Cost of an empty operation within the measured loop, nanoseconds. `cycle_counter` is `false` if the clock
/// is used instead, whose reading costs several times as much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullCost {
    pub operations: u64,
    pub ns_per_operation: f64,
    pub median_ns: f64,
    /// Sum of the histogram over the loop's time by the monotonic clock; 1 if nothing is lost.
    pub accounted: f64,
    pub cycle_counter: bool,
}

pub fn null_loop(calibration: Calibration, operations: u64) -> NullCost {
    let mut stopwatch = Stopwatch::new(calibration);
    let start = monotonic_ns();
    let Ok(sum) = stopwatch.time(operations, null, || Ok(()));
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

/// Nanoseconds per operation of the same loop without timing.
pub fn null_loop_untimed(operations: u64) -> f64 {
    let start = monotonic_ns();
    let Ok(sum) = untimed(operations, null);
    black_box(sum);
    (monotonic_ns() - start) as f64 / operations.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Takes about a microsecond.
    fn spin(index: u64) -> Result<u64, Infallible> {
        let start = monotonic_ns();
        while monotonic_ns() - start < 1000 {}
        Ok(index)
    }

    const TRIES: usize = 5;

    #[test]
    fn injected_delays_are_found() {
        let calibration = Calibration::over(Duration::from_millis(5));
        // A burst of noise hides delays.
        let is_quiet = |check: &SelfCheck| check.delays.iter().all(|delay| delay.found * 2 > delay.injected);
        let checked = || {
            let Ok(check) = self_check(calibration, spin, || Ok(()), 3);
            check
        };
        let check = (0..TRIES).map(|_| checked()).find(is_quiet);
        let check = check.expect("delays are found in one of the tries");
        assert_eq!(check.untimed_ns.len(), check.timed_ns.len());
        // The number of pairs depends on the load of the machine.
        assert!(!check.untimed_ns.is_empty() && check.operations >= 1, "{check:?}");
        // Noise can only lengthen delays.
        for delay in &check.delays {
            assert!(delay.found_ns >= 0.98 * delay.injected_ns as f64, "{delay:?}");
        }
        assert_eq!(check.delays.iter().map(|delay| delay.injected).sum::<u64>(), 2000 + 200 + 50);
        assert!((0.9..1.005).contains(&check.accounted), "{}", check.accounted);
        assert!(check.timer_ns > 0.0 && check.null_loop_ns > 0.0);
    }
}

#[cfg(test)]
mod tests_of_null {
    use crate::measure::self_check::{Calibration, Stopwatch, black_box, null, null_loop, null_loop_untimed};
    use std::time::Duration;

    #[test]
    fn the_histogram_accounts_for_the_loop() {
        // Noise can only lower the share accounted for, so take the best of several runs.
        let calibration = Calibration::over(Duration::from_millis(5));
        let accounted = (0..10).map(|_| null_loop(calibration, 200_000).accounted).fold(0.0, f64::max);
        assert!((0.98..1.02).contains(&accounted), "{accounted}");
        let mut stopwatch = Stopwatch::new(calibration);
        let counted = allocation_counter::measure(|| {
            let Ok(sum) = stopwatch.time(200_000, null, || Ok(()));
            black_box(sum);
        });
        assert_eq!(counted.count_total, 0);
        let untimed_ns = (0..10).map(|_| null_loop_untimed(100_000)).fold(f64::INFINITY, f64::min);
        assert!(untimed_ns < 1_000.0, "{untimed_ns}");
    }
}
