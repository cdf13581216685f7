//! Times of an arm's single operations, from all its histograms together. Quantiles over rounds (in [`super::Timing`]) show how blocks
//! scatter, these how single operations do. Operations of one round are not independent, so intervals come from resampling rounds.

use megadir_record::{Arm, ArmId, Plan, Sample, Since};
use megadir_stats::histogram::Histogram;
use serde::{Deserialize, Serialize};

use super::{Figure, Rounds, Times};

const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

// All rounds together, unlike the quantiles of blocks. Each field is empty if the arm or the cost of the
// timer makes it meaningless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Operations {
    /// Timed operations in the rounds that count.
    pub operations: u64,
    /// Moment from which the time of an operation counts.
    pub since: Since,
    /// `None` if timing costs too much for meaningful quantiles.
    pub quantiles: Option<OperationQuantiles>,
    /// `None` if each operation starts when the previous one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Share of the blocks' wall time in histograms and gaps; `None` if several workers run at once or operations are
    /// timed from their planned start.
    pub accounted: Option<f64>,
}

/// Operations started per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// Planned rate.
    #[serde(rename = "asked_per_s")]
    pub target_per_s: u64,
    /// Over all blocks.
    pub achieved_per_s: f64,
}

/// Quantiles of the times of single operations, nanoseconds; accurate to 1/256.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationQuantiles {
    /// Median.
    pub p50_ns: Figure,
    /// Time that 90 % of the operations do not exceed.
    pub p90_ns: Figure,
    /// Time that 99 % of the operations do not exceed.
    pub p99_ns: Figure,
    /// Time that 99.9 % of the operations do not exceed.
    pub p999_ns: Figure,
    /// Exact.
    pub max_ns: f64,
}

/// Histograms of rounds have equal buckets, so adding them loses nothing.
pub(crate) fn together<'t>(each: impl IntoIterator<Item = &'t Times>) -> Histogram {
    let mut all = Histogram::new();
    each.into_iter().flatten().for_each(|(ns, count)| all.record_many(*ns, *count));
    all
}

pub(super) fn operations(plan: &Plan, rounds: &Rounds<'_>, arm: ArmId) -> Option<Operations> {
    let each: Vec<Times> = rounds.times_by_round(arm)?.into_iter().cloned().collect();
    let all = together(&each);
    // Resampling is seeded by the plan: the same record gives the same interval on every machine.
    let estimates = megadir_stats::quantile_intervals(&each, &QUANTILES, plan.rules.confidence, plan.seed);
    let figure = |place: usize| match &estimates {
        // Too few rounds to resample leave the quantiles of all operations without intervals.
        Some(estimates) => Some(Figure::from(estimates[place])),
        None => Some(Figure { value: all.quantile(QUANTILES[place])? as f64, interval: None }),
    };
    let quantiles = OperationQuantiles {
        p50_ns: figure(0)?,
        p90_ns: figure(1)?,
        p99_ns: figure(2)?,
        p999_ns: figure(3)?,
        max_ns: all.max()? as f64,
    };
    let first = rounds.samples(arm).find_map(|sample| sample.latency.as_deref())?;
    let Arm { rate_per_s: rate, work, .. } = plan.arm(arm)?;
    // Sums of several workers exceed the wall time, and times from planned starts include waiting, so
    // neither adds up to a block.
    let adds_up = work.gaps_are_counted();
    Some(Operations {
        operations: all.count(),
        since: first.since,
        quantiles: Some(quantiles),
        rate: rate.map(|target_per_s| Rate { target_per_s, achieved_per_s: achieved(rounds, arm) }),
        accounted: accounted(rounds, arm).filter(|_| adds_up && first.since == Since::Start),
    })
}

/// The last of n operations in a block started after n - 1 intervals.
fn achieved(rounds: &Rounds<'_>, arm: ArmId) -> f64 {
    let started: u64 = rounds.samples(arm).map(|sample| sample.operations.saturating_sub(1)).sum();
    let elapsed_ns: u64 = rounds.samples(arm).map(|sample| sample.elapsed_ns).sum();
    1e9 * started as f64 / elapsed_ns.max(1) as f64
}

/// Ticks of operations and of the gaps between them, converted by each block's own calibration.
fn accounted(rounds: &Rounds<'_>, arm: ArmId) -> Option<f64> {
    let (mut accounted_ns, mut wall_ns) = (0.0, 0.0);
    for sample in rounds.samples(arm) {
        let Sample { latency: Some(latency), elapsed_ns, .. } = sample else { continue };
        accounted_ns += (latency.sum_ticks as f64 + latency.gap_ticks as f64) * latency.ns_per_tick;
        wall_ns += *elapsed_ns as f64;
    }
    (wall_ns > 0.0).then_some(accounted_ns / wall_ns)
}
