//! Stopwatch for single operations, reused for many blocks; never allocates while a block runs.

use megadir_record::{Latency, Since};
use megadir_stats::histogram::{Histogram, SUB_BUCKETS};

use super::{Calibration, Clock, CycleCounter, Ticks};
use super::{Looped, Operation, measured_loop, paced_loop};

const LOOK_NS: f64 = 1e6;

#[derive(Clone, Debug)]
pub struct Stopwatch {
    calibration: Calibration,
    histogram: Histogram,
    rate_per_s: Option<u64>,
    since: Since,
    gap_ticks: u64,
    /// Left to the next scheduled operation; negative if late.
    ahead_ticks: i64,
}

impl Stopwatch {
    #[must_use]
    pub fn new(calibration: Calibration) -> Self {
        let (histogram, since) = (Histogram::new(), Since::Start);
        Self { calibration, histogram, rate_per_s: None, since, gap_ticks: 0, ahead_ticks: 0 }
    }

    #[must_use]
    pub fn another(&self) -> Self {
        Self { rate_per_s: self.rate_per_s, ..Self::new(self.calibration) }
    }

    /// `None` runs operations back to back.
    pub fn set_rate(&mut self, rate_per_s: Option<u64>) {
        self.rate_per_s = rate_per_s;
    }

    #[must_use]
    pub fn rate_per_s(&self) -> Option<u64> {
        self.rate_per_s
    }

    #[must_use]
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Times each operation, back to back or at the [rate](Self::set_rate); returns the sum of the results.
    /// After an error, earlier times stay recorded.
    pub fn time<O: Operation>(&mut self, operation: &mut O, operations: u64) -> Result<u64, O::Error> {
        match self.calibration.ns_per_tick {
            Some(_) => self.time_by(CycleCounter, operation, operations),
            None => self.time_by(Clock, operation, operations),
        }
    }

    fn time_by<T: Ticks, O: Operation>(
        &mut self,
        ticks: T,
        operation: &mut O,
        operations: u64,
    ) -> Result<u64, O::Error> {
        let (look, histogram) = (self.calibration.ticks(LOOK_NS) as u64, &mut self.histogram);
        let looped = match self.rate_per_s {
            None => {
                self.since = Since::Start;
                measured_loop(ticks, operation, operations, look, histogram)
            }
            Some(rate) => {
                self.since = Since::IntendedStart;
                let interval = self.calibration.ticks(1e9 / rate.max(1) as f64);
                paced_loop(ticks, operation, operations, interval, look, self.ahead_ticks, histogram)
            }
        };
        self.looped(looped?)
    }

    fn looped<E>(&mut self, looped: Looped) -> Result<u64, E> {
        self.gap_ticks += looped.gap_ticks;
        self.ahead_ticks = looped.ahead_ticks;
        Ok(looped.sum)
    }

    /// Counts the part of `worked_ns` outside operations as gaps. At a rate, times include waiting, so the
    /// gaps stay the idle time.
    pub fn close(&mut self, worked_ns: u64) {
        if self.rate_per_s.is_some() {
            return;
        }
        let sum_ticks = u64::try_from(self.histogram.sum()).unwrap_or(u64::MAX);
        let worked_ticks = self.calibration.ticks(worked_ns as f64) as u64;
        self.gap_ticks = worked_ticks.saturating_sub(sum_ticks);
    }

    pub fn clear(&mut self) {
        self.histogram.clear();
        (self.gap_ticks, self.ahead_ticks) = (0, 0);
    }

    pub fn merge(&mut self, other: &Self) {
        self.since = other.since;
        self.histogram.merge(&other.histogram);
        self.gap_ticks += other.gap_ticks;
    }

    /// Adds times of another process with the same counter; `false` if they are not comparable.
    #[must_use]
    pub fn merge_written(&mut self, other: &Latency) -> bool {
        let counts: Option<Vec<(u32, u64)>> = other.counts().collect();
        let same_ticks = (other.ns_per_tick / self.ns_per_tick() - 1.0).abs() < 1e-9;
        let same = other.sub_buckets as usize == SUB_BUCKETS && same_ticks;
        let sum = u128::from(other.sum_ticks);
        let read = |counts| Histogram::from_counts(counts, sum, other.min_ticks, other.max_ticks);
        let Some(histogram) = counts.filter(|_| same).and_then(read) else { return false };
        self.since = other.since;
        self.histogram.merge(&histogram);
        self.gap_ticks += other.gap_ticks;
        true
    }

    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        Some(Latency {
            sub_buckets: SUB_BUCKETS as u32,
            ns_per_tick: self.ns_per_tick(),
            since: self.since,
            sum_ticks: u64::try_from(self.histogram.sum()).unwrap_or(u64::MAX),
            min_ticks: self.histogram.min()?,
            max_ticks: self.histogram.max()?,
            gap_ticks: self.gap_ticks,
            buckets: Latency::pack(self.histogram.counts()),
        })
    }

    #[must_use]
    pub fn told_ticks(&self) -> u128 {
        self.histogram.sum() + u128::from(self.gap_ticks)
    }

    #[must_use]
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    #[must_use]
    pub fn ns_per_tick(&self) -> f64 {
        self.calibration.ns_per_tick.unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use megadir_sys::clock::monotonic_ns;
    use std::convert::Infallible;
    use std::time::Duration;

    /// Every `every`-th operation takes `delay_ns`, the others no time; counts calls of `between`.
    struct Stalls {
        every: u64,
        delay_ns: u64,
        turns: u64,
    }

    impl Operation for Stalls {
        type Error = Infallible;

        fn run(&mut self, index: u64) -> Result<u64, Infallible> {
            if index % self.every == self.every - 1 {
                let start = monotonic_ns();
                while monotonic_ns() - start < self.delay_ns {}
            }
            Ok(1)
        }

        fn between(&mut self) -> Result<(), Infallible> {
            self.turns += 1;
            Ok(())
        }
    }

    fn both_clocks() -> [Stopwatch; 2] {
        let calibration = Calibration::over(Duration::from_millis(5));
        [Stopwatch::new(calibration), Stopwatch::new(Calibration { ns_per_tick: None })]
    }

    fn quantile_ns(stopwatch: &Stopwatch, p: f64) -> f64 {
        stopwatch.histogram().quantile(p).unwrap() as f64 * stopwatch.ns_per_tick()
    }

    #[test]
    fn operations_are_counted_and_long_ones_show() {
        for mut stopwatch in both_clocks() {
            let mut stalls = Stalls { every: 100, delay_ns: 200_000, turns: 0 };
            let start = monotonic_ns();
            assert_eq!(stopwatch.time(&mut stalls, 1000), Ok(1000));
            let elapsed_ns = (monotonic_ns() - start) as f64;
            let latency = stopwatch.latency().unwrap();
            assert_eq!((latency.operations(), latency.since), (1000, Since::Start));
            // Ten of a thousand take 0.2 ms. Other operations may be interrupted, but none of the ten can be
            // shorter.
            assert!(quantile_ns(&stopwatch, 0.9901) >= 199_000.0, "{}", quantile_ns(&stopwatch, 0.9901));
            assert!(quantile_ns(&stopwatch, 0.5) < 100_000.0);
            // Ten stalls of 0.2 ms are 2 ms: at least one call, and no two calls closer together than the
            // interval.
            let turns_max = 1.01 * elapsed_ns / LOOK_NS;
            assert!(stalls.turns >= 1 && stalls.turns as f64 <= turns_max, "{} {turns_max}", stalls.turns);
        }
    }

    #[test]
    fn a_stall_that_a_closed_loop_hides_shows_in_an_open_one() {
        // One operation in a thousand takes 10 ms, during which 500 others should have started.
        let stall = || Stalls { every: 1000, delay_ns: 10_000_000, turns: 0 };
        for mut stopwatch in both_clocks() {
            assert_eq!(stopwatch.time(&mut stall(), 1600), Ok(1600));
            assert!(quantile_ns(&stopwatch, 0.9) < 100_000.0, "{}", quantile_ns(&stopwatch, 0.9));
            stopwatch.clear();
            stopwatch.set_rate(Some(50_000));
            let start = monotonic_ns();
            assert_eq!(stopwatch.time(&mut stall(), 1600), Ok(1600));
            let elapsed_ns = (monotonic_ns() - start) as f64;
            let latency = stopwatch.latency().unwrap();
            assert_eq!((latency.operations(), latency.since), (1600, Since::IntendedStart));
            // Those 500 wait 5 ms on average, longer if the machine adds stalls of its own.
            let above = stopwatch
                .histogram()
                .buckets()
                .filter(|bucket| bucket.low as f64 * stopwatch.ns_per_tick() > 1e6);
            assert!(above.map(|bucket| bucket.count).sum::<u64>() >= 440);
            // The stall does not count as waiting, however long the thread was preempted.
            let waited_ns = latency.gap_ticks as f64 * latency.ns_per_tick;
            assert!(waited_ns < 1.01 * elapsed_ns - 9e6, "{waited_ns} of {elapsed_ns}");
            assert!(quantile_ns(&stopwatch, 1.0) >= 9.9e6);
        }
    }

    #[test]
    fn a_wait_can_be_ended() {
        /// Number of operations done.
        struct Stopped(u32);
        impl Operation for Stopped {
            type Error = &'static str;
            fn run(&mut self, _: u64) -> Result<u64, Self::Error> {
                self.0 += 1;
                Ok(0)
            }
            fn between(&mut self) -> Result<(), Self::Error> {
                Err("stopped")
            }
        }
        for mut stopwatch in both_clocks() {
            let start = monotonic_ns();
            stopwatch.set_rate(Some(1));
            let mut stopped = Stopped(0);
            assert_eq!(stopwatch.time(&mut stopped, 100), Err("stopped"));
            // Waiting for the second operation would have taken a second.
            let elapsed_s = (monotonic_ns() - start) / 1_000_000_000;
            assert!(u64::from(stopped.0) <= 1 + elapsed_s, "{} in {elapsed_s} s", stopped.0);
        }
    }

    #[test]
    fn what_threads_and_processes_timed_is_added() {
        let [mut all, other_clock] = both_clocks();
        let mut worker = all.another();
        worker.time(&mut Stalls { every: 7, delay_ns: 1000, turns: 0 }, 100).unwrap();
        all.merge(&worker);
        let written = worker.latency().unwrap();
        assert!(all.merge_written(&written));
        assert_eq!(all.latency().unwrap().operations(), 200);
        assert_eq!(all.latency().unwrap().sum_ticks, 2 * written.sum_ticks);
        let damaged = [
            Latency { sub_buckets: 64, ..written.clone() },
            Latency { sum_ticks: written.max_ticks - 1, ..written.clone() },
            Latency { buckets: vec![1], ..written.clone() },
        ];
        assert!(damaged.iter().all(|damaged| !all.merge_written(damaged)));
        let mut other = other_clock;
        assert!(written.ns_per_tick == 1.0 || !other.merge_written(&written));
        assert_eq!(other.latency(), None);
    }
}
