//! Stopwatch for single operations, reused for many blocks; never allocates while a block runs.
//!
//! ```text
//!  back to back   |op|op|op|op| between |op|op|op|        the end of one is the start of the next
//!                                 ^ a gap, about every millisecond
//!
//!  at a rate      |op|....|op|....|oooooop|op|op|..|op|   planned starts; after a slow one, the next are late
//!                  ^       ^       ^       ^               and their times include the delay
//! ```

use megadir_record::{Latency, Since};
use megadir_stats::histogram::{Histogram, SUB_BUCKETS};

use super::{Calibration, Clock, CycleCounter, Ticks};

/// Time between two calls of `between`, which checks whether the run is to end.
const LOOK_NS: f64 = 1e6;

/// Times of one block. Ticks are in the calibration's unit, the cycle counter's or nanoseconds. Time within
/// the block that belongs to no operation is added to `gap_ticks`, so that histogram and gaps together
/// account for the block. With a rate, operations have planned starts, and `since` is the moment from which
/// their times count.
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

    /// An empty stopwatch for another thread, with the same ticks, so that the two can be merged.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { rate_per_s: self.rate_per_s, ..Self::new(self.calibration) }
    }

    /// `None` runs operations back to back.
    pub fn set_rate(&mut self, rate_per_s: Option<u64>) {
        self.rate_per_s = rate_per_s;
    }

    pub fn rate_per_s(&self) -> Option<u64> {
        self.rate_per_s
    }

    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Times each operation, back to back or at the [rate](Self::set_rate); returns the sum of the results, which
    /// must depend on the operations' own. Calls `between` outside their times, about every millisecond. An
    /// error of either ends the block; earlier times stay recorded.
    pub fn time<E>(
        &mut self,
        operations: u64,
        operation: impl FnMut(u64) -> Result<u64, E>,
        between: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        match self.calibration.ns_per_tick {
            Some(_) => self.time_by(CycleCounter, operations, operation, between),
            None => self.time_by(Clock, operations, operation, between),
        }
    }

    fn time_by<E>(
        &mut self,
        ticks: impl Ticks,
        operations: u64,
        operation: impl FnMut(u64) -> Result<u64, E>,
        between: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        match self.rate_per_s {
            None => {
                self.since = Since::Start;
                self.back_to_back(ticks, operations, operation, between)
            }
            Some(rate) => {
                self.since = Since::IntendedStart;
                let interval_ticks = self.calibration.ticks(1e9 / rate.max(1) as f64);
                self.paced(ticks, (operations, interval_ticks), operation, between)
            }
        }
    }

    /// Generic so that counter and operation are inlined: the loop costs one read and one record.
    #[inline]
    fn back_to_back<E>(
        &mut self,
        ticks: impl Ticks,
        operations: u64,
        mut operation: impl FnMut(u64) -> Result<u64, E>,
        mut between: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        let (mut sum, mut gap_ticks) = (0_u64, 0_u64);
        let look_ticks = self.calibration.ticks(LOOK_NS) as u64;
        let mut times = self.histogram.recording();
        let start = ticks.now();
        let (mut last, mut look) = (start, start.saturating_add(look_ticks));
        for index in 0..operations {
            sum = sum.wrapping_add(operation(index)?);
            let now = ticks.now();
            // Counters of processors may differ by a few ticks.
            times.record(now.saturating_sub(last));
            last = now;
            if now >= look {
                between()?;
                last = ticks.now();
                gap_ticks += last.saturating_sub(now);
                look = last.saturating_add(look_ticks);
            }
        }
        (self.gap_ticks, self.ahead_ticks) = (self.gap_ticks + gap_ticks, 0);
        Ok(sum)
    }

    /// Runs one operation every `interval_ticks` and records the time from scheduled start to end; a late one
    /// starts at once. Continues the schedule of the previous call. Waits by spinning. Times include delays by
    /// slow predecessors (coordinated omission: Tene, *How not to measure latency*, 2013).
    #[inline]
    fn paced<E>(
        &mut self,
        ticks: impl Ticks,
        (operations, interval_ticks): (u64, f64),
        mut operation: impl FnMut(u64) -> Result<u64, E>,
        mut between: impl FnMut() -> Result<(), E>,
    ) -> Result<u64, E> {
        let (mut sum, mut gap_ticks) = (0_u64, 0_u64);
        let look_ticks = self.calibration.ticks(LOOK_NS) as u64;
        let start = ticks.now();
        let (mut last, mut look) = (start, start.saturating_add(look_ticks));
        let first = start.saturating_add_signed(self.ahead_ticks);
        let planned = |index: u64| first.saturating_add((index as f64 * interval_ticks) as u64);
        for index in 0..operations {
            let intended = planned(index);
            let ended = last;
            while last < intended {
                last = ticks.now();
                if last >= look {
                    between()?;
                    look = last.saturating_add(look_ticks);
                }
            }
            gap_ticks += last.saturating_sub(ended);
            sum = sum.wrapping_add(operation(index)?);
            last = ticks.now();
            self.histogram.record(last.saturating_sub(intended));
            if last >= look {
                between()?;
                look = last.saturating_add(look_ticks);
            }
        }
        self.gap_ticks += gap_ticks;
        self.ahead_ticks = planned(operations).cast_signed().saturating_sub(last.cast_signed());
        Ok(sum)
    }

    /// Counts the part of `worked_ns` outside operations as gaps. At a rate, times include waiting: gaps stay the idle time.
    pub fn close(&mut self, worked_ns: u64) {
        if self.rate_per_s.is_some() {
            return;
        }
        let sum_ticks = u64::try_from(self.histogram.sum()).unwrap_or(u64::MAX);
        let worked_ticks = self.calibration.ticks(worked_ns as f64) as u64;
        self.gap_ticks = worked_ticks.saturating_sub(sum_ticks);
    }

    /// Forgets the last block. The schedule of a rate starts again, since the pause between blocks is no
    /// delay.
    pub fn clear(&mut self) {
        self.histogram.clear();
        (self.gap_ticks, self.ahead_ticks) = (0, 0);
    }

    /// Adds times of another thread of the same block.
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

    /// Histogram of a block for the record; `None` if nothing was recorded.
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

    /// Ticks of operations and gaps together, which the self-check compares with the time of the block.
    pub fn accounted_ticks(&self) -> u128 {
        self.histogram.sum() + u128::from(self.gap_ticks)
    }

    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    pub fn ns_per_tick(&self) -> f64 {
        self.calibration.ns_per_tick.unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use megadir_sys::clock::monotonic_ns;
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::time::Duration;

    /// Every `every`-th operation takes `delay_ns`, the others no time.
    fn stalls(every: u64, delay_ns: u64) -> impl FnMut(u64) -> Result<u64, Infallible> {
        move |index| {
            if index % every == every - 1 {
                let start = monotonic_ns();
                while monotonic_ns() - start < delay_ns {}
            }
            Ok(1)
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
            let (mut turns, start) = (0, monotonic_ns());
            let between = || {
                turns += 1;
                Ok(())
            };
            assert_eq!(stopwatch.time(1000, stalls(100, 200_000), between), Ok(1000));
            let elapsed_ns = (monotonic_ns() - start) as f64;
            let latency = stopwatch.latency().unwrap();
            assert_eq!((latency.operations(), latency.since), (1000, Since::Start));
            // Ten of a thousand take 0.2 ms. Other operations may be interrupted, but none of the ten can be shorter.
            assert!(quantile_ns(&stopwatch, 0.9901) >= 199_000.0, "{}", quantile_ns(&stopwatch, 0.9901));
            assert!(quantile_ns(&stopwatch, 0.5) < 100_000.0);
            // Ten stalls of 0.2 ms are 2 ms: at least one call, and no two calls closer together than the interval.
            let turns_max = 1.01 * elapsed_ns / LOOK_NS;
            assert!(turns >= 1 && f64::from(turns) <= turns_max, "{turns} {turns_max}");
        }
    }

    #[test]
    fn a_stall_that_a_closed_loop_hides_shows_in_an_open_one() {
        // One operation in a thousand takes 10 ms, during which 500 others should have started.
        let stall = || stalls(1000, 10_000_000);
        for mut stopwatch in both_clocks() {
            assert_eq!(stopwatch.time(1600, stall(), || Ok(())), Ok(1600));
            assert!(quantile_ns(&stopwatch, 0.9) < 100_000.0, "{}", quantile_ns(&stopwatch, 0.9));
            stopwatch.clear();
            stopwatch.set_rate(Some(50_000));
            let start = monotonic_ns();
            assert_eq!(stopwatch.time(1600, stall(), || Ok(())), Ok(1600));
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
        for mut stopwatch in both_clocks() {
            let start = monotonic_ns();
            stopwatch.set_rate(Some(1));
            let mut done = 0;
            let operation = |_| {
                done += 1;
                Ok(0)
            };
            assert_eq!(stopwatch.time(100, operation, || Err("stopped")), Err("stopped"));
            // Waiting for the second operation would have taken a second.
            let elapsed_s = (monotonic_ns() - start) / 1_000_000_000;
            assert!(done <= 1 + elapsed_s, "{done} in {elapsed_s} s");
        }
    }

    #[test]
    fn times_of_threads_and_processes_are_added() {
        let [mut all, other_clock] = both_clocks();
        let mut worker = all.another();
        worker.time(100, stalls(7, 1000), || Ok(())).unwrap();
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

    /// A fake counter that advances by one per read, and by the duration of operations.
    #[derive(Clone, Copy)]
    struct Counter<'a>(&'a Cell<u64>);

    impl Ticks for Counter<'_> {
        fn now(self) -> u64 {
            self.0.set(self.0.get() + 1);
            self.0.get()
        }
    }

    fn times(taken: u64, rate_per_s: u64, batch: u64) -> (u64, u64) {
        let now = Cell::new(1_000_000);
        let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: None });
        stopwatch.set_rate(Some(rate_per_s));
        for _ in 0..20 / batch {
            now.set(now.get() + 77_777);
            let operation = |_| {
                now.set(now.get() + taken);
                Ok::<_, Infallible>(1)
            };
            stopwatch.time_by(Counter(&now), batch, operation, || Ok(())).unwrap();
        }
        let histogram = stopwatch.histogram();
        (histogram.min().unwrap(), histogram.max().unwrap())
    }

    #[test]
    fn pauses_forgive_nothing_that_is_late_and_shorten_no_wait() {
        // Each takes ten times its interval: the twentieth ends 1810 after its scheduled start.
        for batch in [20, 10, 5, 1] {
            let (min, max) = times(100, 100_000_000, batch);
            assert!((100..=102).contains(&min) && (1810..=1870).contains(&max), "{batch}: {min} to {max}");
        }
        // On schedule, every time is the service time, whatever the batch size.
        for batch in [20, 10, 5, 1] {
            let (min, max) = times(10, 10_000_000, batch);
            assert!((10..=13).contains(&min) && (10..=13).contains(&max), "{batch}: {min} to {max}");
        }
    }
}
