//! One arm alone: times, processor time, calls. Comparisons pair rounds instead of using these figures.
//!
//! Rows of a table come from here, verdicts do not: the ratio of two medians is not the median of the
//! ratios in each round, and only the latter cancels load that both arms shared.

use std::collections::BTreeMap;

use megadir_record::{Arm, DiskCounts, Header, HostWork, Plan, Ranks, Record, Sample};
use serde::{Deserialize, Serialize};

use super::operations::operations;
use super::{Figure, Operations, Rounds, WorkCheck};

// An arm of the plan with its result. Arms that were never measured are present too, so that the position of
// an arm is its number in the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmSummary {
    /// Plan of the arm: name, role, data, work, cache.
    #[serde(rename = "cell")]
    pub planned: Arm,
    /// Rounds that count.
    pub rounds: usize,
    /// Comparison of its work with that of the other arms on its data.
    pub work: WorkCheck,
    /// `None` if no round of the arm counts.
    pub timing: Option<Timing>,
    /// Rates of the hosts whose ranks did the work, in the order of their first ranks; empty unless there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRate>,
}

impl ArmSummary {
    pub(crate) fn single(&self) -> Option<&Operations> {
        self.timing.as_ref()?.single.as_ref()
    }
}

/// Work of one host's ranks together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostRate {
    /// Name, or number in records for sharing.
    pub host: String,
    /// Median number of entries or files in a block.
    pub entries: u64,
    /// Median rate until its last rank was done, entries or files per second.
    pub per_s: Figure,
}

/// Times of one arm. One operation is one listing of the directory, or one lookup.
// All medians are over the rounds that count, each weighing the same, however many operations a block had.
// The median is what verdicts use; mean and deviation are here for comparison with other tools. An empty
// optional field means that it was not measured, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// Median number of operations in a block, which is timed as a whole.
    pub operations: u64,
    /// Median time of an operation, nanoseconds.
    pub time_ns: Figure,
    /// Median time of an entry, nanoseconds; `None` if the arm lists no entries.
    pub entry_ns: Option<Figure>,
    /// Mean time of an operation, nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation, nanoseconds; `None` for a single round.
    pub deviation_ns: Option<f64>,
    /// Half of the mean's 99.9 % interval, nanoseconds; `None` for a single round.
    pub error_ns: Option<f64>,
    /// `None` if reading the clock costs too much for meaningful quantiles.
    pub quantiles: Option<Quantiles>,
    /// Times of single operations, if the arm takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Operations>,
    /// Median user processor time of an operation, nanoseconds.
    pub user_ns: f64,
    /// Median system processor time of an operation, nanoseconds.
    pub system_ns: f64,
    /// Median peak memory of the process that did the work, bytes; `None` if this process did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Work of a modelled disk; `None` on other disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskWork>,
    /// Median number of system calls of the measured kind; `None` if the arm cannot count them.
    pub calls: Option<u64>,
    /// Median number of entries seen.
    pub entries: u64,
    /// Median bytes of text written.
    pub written_bytes: u64,
}

/// Medians of the work of a modelled disk for one operation. Writes that the operation left in the cache of the kernel
/// are no part of it, unless the work waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskWork {
    /// Requests that reached the disk.
    pub requests: f64,
    /// Moves of the head by more than a track's length.
    pub seeks: f64,
    /// Moves of the head for an entry; `None` if the arm lists no entries.
    pub seeks_per_entry: Option<f64>,
    /// Time in which the head was positioned, read or wrote, nanoseconds.
    pub busy_ns: f64,
}

/// Quantiles of the time of an operation over the rounds, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantiles {
    /// Median.
    pub p50_ns: f64,
    /// Time that 90 % of the rounds do not exceed.
    pub p90_ns: f64,
    /// Interpolated below 100 rounds.
    pub p99_ns: f64,
    /// Longest time.
    pub max_ns: f64,
}

pub(crate) fn arms(record: &Record, rounds: &Rounds<'_>, checks: Vec<WorkCheck>) -> Vec<ArmSummary> {
    // Checks are in the order of the plan's arms, one each.
    let Header { plan, ranks, .. } = &record.header;
    let arm = |(planned, work): (&Arm, WorkCheck)| ArmSummary {
        planned: planned.clone(),
        rounds: rounds.samples(planned.id).count(),
        work,
        timing: timing(plan, planned, rounds),
        hosts: ranks.as_ref().map_or_else(Vec::new, |ranks| hosts(plan, planned, ranks, rounds)),
    };
    plan.arms.iter().zip(checks).map(arm).collect()
}

/// Rates of hosts, keyed by the first rank of each, because a record for sharing has numbers in place of
/// names.
fn hosts(plan: &Plan, planned: &Arm, ranks: &Ranks, rounds: &Rounds<'_>) -> Vec<HostRate> {
    let mut by_host: BTreeMap<u32, Vec<HostWork>> = BTreeMap::new();
    for work in rounds.samples(planned.id).filter_map(|sample| sample.ranks.as_ref()).flat_map(|of| &of.hosts)
    {
        by_host.entry(work.first_rank).or_default().push(*work);
    }
    let rate = |(first_rank, works): (u32, Vec<HostWork>)| {
        let of_all = |part: fn(&HostWork) -> f64| works.iter().map(part).collect::<Vec<f64>>();
        Some(HostRate {
            host: ranks.hosts.get(first_rank as usize)?.clone(),
            entries: megadir_stats::median(&of_all(|work| work.entries as f64))?.round() as u64,
            per_s: Figure::median_of(&of_all(HostWork::rate_per_s), plan.rules.confidence)?,
        })
    };
    by_host.into_iter().filter_map(rate).collect()
}

/// Figures of an arm over its rounds that count; `None` without any.
///
/// Each round is one observation, whatever the length of its blocks. Processor times are divided by
/// operations before the median is taken, so that blocks of different lengths weigh the same.
fn timing(plan: &Plan, planned: &Arm, rounds: &Rounds<'_>) -> Option<Timing> {
    let confidence = plan.rules.confidence;
    let times = rounds.times(planned.id);
    let median_of = |part: fn(&Sample) -> f64| {
        let values: Vec<f64> = rounds.samples(planned.id).map(part).collect();
        megadir_stats::median(&values)
    };
    let time_ns = Figure::median_of(&times, confidence)?;
    let entries = median_of(|s| s.counted.entries as f64)?;
    Some(Timing {
        operations: (median_of(|s| s.operations as f64)?.round() as u64).max(1),
        time_ns,
        // Only a listing does its work once per entry; for other work the division would give a number
        // without meaning.
        entry_ns: (entries > 0.0 && planned.work.lists()).then(|| time_ns.scaled(1.0 / entries)),
        mean_ns: megadir_stats::mean(&times)?,
        deviation_ns: megadir_stats::standard_deviation(&times),
        error_ns: megadir_stats::error_999(&times),
        quantiles: quantiles(times),
        single: operations(plan, rounds, planned.id),
        user_ns: median_of(|s| s.user_ns as f64 / s.operations as f64)?,
        system_ns: median_of(|s| s.system_ns as f64 / s.operations as f64)?,
        peak_bytes: median_if_all(planned, rounds, |sample| sample.peak_bytes),
        disk: disk_work(planned, rounds, entries),
        calls: median_if_all(planned, rounds, |sample| sample.counted.calls),
        entries: entries.round() as u64,
        written_bytes: median_of(|s| s.counted.written_bytes as f64)?.round() as u64,
    })
}

fn disk_work(planned: &Arm, rounds: &Rounds<'_>, entries: f64) -> Option<DiskWork> {
    let median_of = |part: fn(&DiskCounts) -> u64| {
        let each = |sample: &Sample| Some(part(sample.disk.as_deref()?) as f64 / sample.operations as f64);
        let values: Option<Vec<f64>> = rounds.samples(planned.id).map(each).collect();
        megadir_stats::median(&values?)
    };
    let seeks = median_of(|disk| disk.seeks)?;
    Some(DiskWork {
        requests: median_of(|disk| disk.requests)?,
        seeks,
        seeks_per_entry: (entries > 0.0 && planned.work.lists()).then(|| seeks / entries),
        busy_ns: median_of(|disk| disk.busy_ns)?,
    })
}

/// Median of a counter, if every sample has it: a median of some rounds would look like one of all.
fn median_if_all(planned: &Arm, rounds: &Rounds<'_>, of: fn(&Sample) -> Option<u64>) -> Option<u64> {
    let numbers: Option<Vec<f64>> =
        rounds.samples(planned.id).map(|sample| of(sample).map(|number| number as f64)).collect();
    Some(megadir_stats::median(&numbers?)?.round() as u64)
}

/// The times are sorted in place; nothing needs their order by rounds afterwards.
fn quantiles(mut times: Vec<f64>) -> Option<Quantiles> {
    times.sort_unstable_by(f64::total_cmp);
    let at = |p: f64| megadir_stats::quantile(&times, p);
    Some(Quantiles { p50_ns: at(0.5)?, p90_ns: at(0.9)?, p99_ns: at(0.99)?, max_ns: at(1.0)? })
}
