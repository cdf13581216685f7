//! The samples that count, arranged by arm and round, so that arms are compared within rounds only.
//! ```text
//!              (epoch 0, round 0)  (0, 1)  (0, 2)
//!  arm 0             41.2 ms       41.0      -      <- the run was killed here
//!  arm 1             22.3 ms       22.1     22.2
//! ```
//! Warm-up, voided samples and refused blocks are left out here and nowhere else.

use std::collections::BTreeSet;

use megadir_record::{ArmId, Latency, Phase, Record, Sample, Since};
use megadir_stats::histogram::{Histogram, SUB_BUCKETS};

use super::{SummaryError, check_plan, decode_samples};

/// Epoch and round, which sort as they were measured.
pub(crate) type Key = (u32, u32);

/// Refers to samples by position, so that a report can hold both.
#[derive(Debug)]
pub(crate) struct Index {
    /// In order of rounds, each round once; there may be a million samples.
    arms: Vec<Vec<(Key, usize)>>,
    stopped: BTreeSet<usize>,
    times: Vec<Option<Times>>,
}

impl Index {
    /// The last attempt at a repeated round counts.
    pub(crate) fn of(record: &Record) -> Result<Self, SummaryError> {
        check_plan(&record.header.plan)?;
        let times = decode_samples(record)?;
        let mut arms: Vec<Vec<(Key, usize)>> = vec![Vec::new(); record.header.plan.arms.len()];
        let plan = &record.header.plan;
        // A refused block ends its arm, and with it all arms that work on its files.
        let refused = record.samples.iter().filter(|sample| sample.refused.is_some());
        let stopped = refused.flat_map(|sample| plan.stopped_by(sample.arm).chain([sample.arm]).map(index));
        let stopped = stopped.collect();
        let counts = |sample: &Sample| {
            sample.phase == Phase::Measure && sample.voided.is_none() && sample.refused.is_none()
        };
        for (place, sample) in record.samples.iter().enumerate().filter(|(_, sample)| counts(sample)) {
            if let Some(arm) = arms.get_mut(index(sample.arm)) {
                arm.push(((sample.epoch, sample.round), place));
            }
        }
        // The sort is stable, so attempts of a round keep their order in the record and the last one wins.
        for arm in &mut arms {
            arm.sort_by_key(|(key, _)| *key);
            arm.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    kept.1 = later.1;
                }
                same
            });
        }
        Ok(Self { arms, stopped, times })
    }

    pub(crate) fn times(&self, place: usize) -> Option<&Times> {
        self.times.get(place)?.as_ref()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Rounds<'a> {
    samples: &'a [Sample],
    index: &'a Index,
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(record: &'a Record, index: &'a Index) -> Self {
        Self { samples: &record.samples, index }
    }

    /// Rounds that any arm has. Rules that need all arms filter again.
    pub(crate) fn keys(&self) -> BTreeSet<Key> {
        self.index.arms.iter().flatten().map(|(key, _)| *key).collect()
    }

    /// Stopped arms lack rounds for a known reason, so they are no reason to call a run incomplete.
    pub(crate) fn is_stopped(&self, arm: ArmId) -> bool {
        self.index.stopped.contains(&index(arm))
    }

    /// Every arm was measured, except stopped arms.
    pub(crate) fn whole(&self) -> usize {
        let arms = self.index.arms.iter().enumerate().filter(|(arm, _)| !self.index.stopped.contains(arm));
        let arms: Vec<ArmId> = arms.map(|(arm, _)| ArmId(arm as u32)).collect();
        let Some((first, others)) = arms.split_first() else { return 0 };
        let all = |key: Key| others.iter().all(|arm| self.sample(*arm, key).is_some());
        self.index.arms[index(*first)].iter().filter(|(key, _)| all(*key)).count()
    }

    /// Position of a sample by arm and round. Arms that miss no round have it at the index of the round;
    /// otherwise the sorted list is searched.
    pub(crate) fn sample(&self, arm: ArmId, key: Key) -> Option<&'a Sample> {
        let rounds = self.index.arms.get(index(arm))?;
        // Most rounds are at their own index.
        let guess = rounds.get(key.1 as usize).filter(|(at, _)| *at == key);
        let found = || rounds.binary_search_by_key(&key, |(key, _)| *key).ok().map(|place| &rounds[place]);
        guess.or_else(found).map(|(_, place)| &self.samples[*place])
    }

    pub(crate) fn time(&self, arm: ArmId, key: Key) -> Option<f64> {
        self.sample(arm, key).map(time_ns)
    }

    pub(crate) fn samples(&self, arm: ArmId) -> impl Iterator<Item = &'a Sample> + use<'a> {
        self.samples_with_times(arm).map(|(sample, _)| sample)
    }

    pub(crate) fn samples_with_times(
        &self,
        arm: ArmId,
    ) -> impl Iterator<Item = (&'a Sample, Option<&'a Times>)> + use<'a> {
        let Self { samples, index } = *self;
        let places = index.arms.get(self::index(arm)).into_iter().flatten();
        places.map(move |(_, place)| (&samples[*place], index.times(*place)))
    }

    /// In each round that counts; `None` if not recorded.
    pub(crate) fn times_by_round(&self, arm: ArmId) -> Option<Vec<&'a Times>> {
        let timed = self.samples_with_times(arm).filter(|(sample, _)| sample.latency.is_some());
        let each: Vec<&Times> = timed.map(|(_, times)| times).collect::<Option<_>>()?;
        (!each.is_empty()).then_some(each)
    }

    /// In order of rounds, nanoseconds an operation.
    pub(crate) fn times(&self, arm: ArmId) -> Vec<f64> {
        self.samples(arm).map(time_ns).collect()
    }

    /// In the rounds that have all arms, nanoseconds an operation.
    /// One column for each arm, of equal lengths. A round that lacks one arm is left out for all, so that
    /// the columns are paired.
    pub(crate) fn paired(&self, arms: &[ArmId]) -> Vec<Vec<f64>> {
        let mut columns = vec![Vec::new(); arms.len()];
        let keys = arms.first().and_then(|&first| self.index.arms.get(index(first)));
        for &(key, _) in keys.into_iter().flatten() {
            let row: Option<Vec<f64>> = arms.iter().map(|&arm| self.sample(arm, key).map(time_ns)).collect();
            for (column, time) in columns.iter_mut().zip(row.into_iter().flatten()) {
                column.push(time);
            }
        }
        columns
    }

    /// `arm`'s times over `to`'s in the rounds that have both, one series per epoch, without times of 0.
    /// Times of 0 have no logarithm; the statistics skip such pairs.
    pub(crate) fn log_ratios(&self, arm: ArmId, to: ArmId) -> Vec<Vec<f64>> {
        let keys: Vec<&Key> =
            self.index.arms.get(index(arm)).into_iter().flatten().map(|(key, _)| key).collect();
        let of_epoch = |keys: &[&Key]| -> Vec<f64> {
            let pair = |key: &&Key| Some((self.time(arm, **key)?, self.time(to, **key)?));
            let (new, old): (Vec<f64>, Vec<f64>) = keys.iter().filter_map(pair).unzip();
            megadir_stats::log_ratios(&new, &old).unwrap_or_default()
        };
        let epochs = keys.chunk_by(|a, b| a.0 == b.0).map(of_epoch);
        epochs.filter(|rounds| !rounds.is_empty()).collect()
    }
}

/// Nanoseconds an operation; at a fixed rate the mean from planned starts, because the rate sets the block's length.
fn time_ns(sample: &Sample) -> f64 {
    if let Some(latency) = sample.latency.as_deref().filter(|latency| latency.since == Since::IntendedStart) {
        return latency.sum_ticks as f64 * latency.ns_per_tick / sample.operations as f64;
    }
    sample.elapsed_ns as f64 / sample.operations as f64
}

fn index(arm: ArmId) -> usize {
    arm.0 as usize
}

/// In ticks; `None` if the histogram contradicts itself.
/// Ticks are kept, because the calibration of a block is a factor of its own. A histogram from another
/// version with other buckets is refused rather than misread.
pub(super) fn histogram(latency: &Latency) -> Option<Histogram> {
    #[cfg(test)]
    DECODED.with(|decoded| decoded.set(decoded.get() + 1));
    let length = latency.ns_per_tick;
    if latency.sub_buckets as usize != SUB_BUCKETS || !(length.is_finite() && length > 0.0) {
        return None;
    }
    let counts: Vec<(u32, u64)> = latency.counts().collect::<Option<_>>()?;
    Histogram::from_counts(counts, u128::from(latency.sum_ticks), latency.min_ticks, latency.max_ticks)
}

/// Ascending, nanoseconds, each with its count.
/// A bucket is replaced by its middle, up to 1/256 from its values. The maximum is exact, which is why the
/// last bucket loses one of its operations to it.
pub(crate) type Times = Vec<(u64, u64)>;

pub(super) fn times_of(block: &Histogram, ns_per_tick: f64) -> Option<Times> {
    let ns = |ticks: u64| (ticks as f64 * ns_per_tick).round() as u64;
    let (min, max) = (block.min()?, block.max()?);
    // The middle of an end bucket may lie outside of the measured extremes.
    let middle = |low: u64, high: u64| ns(low.midpoint(high).clamp(min, max));
    let mut times: Times =
        block.buckets().map(|bucket| (middle(bucket.low, bucket.high), bucket.count)).collect();
    if let Some(last) = times.last_mut().filter(|last| last.0 != ns(max)) {
        last.1 -= 1;
        times.push((ns(max), 1));
    }
    times.retain(|(_, count)| *count > 0);
    Some(times)
}

#[cfg(test)]
// Counts decoded histograms: a test holds that all formats and charts together decode each of them once.
thread_local! {
    pub(crate) static DECODED: std::cell::Cell<usize> = std::cell::Cell::default();
}
