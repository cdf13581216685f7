//! The rule BreakEven: the share of a directory's files from which on listing all is faster than stat by name. In each round, the share
//! is where the curve through the stat arms reaches the time of the listing; the interval is over rounds. Nothing is extrapolated.
//!
//! ```text
//! time
//!  |                          . * stat of n files, an arm for each share
//!  |                     . *
//!  |----------------*-X--------- listing all, one arm
//!  |          . *     |
//!  |    . *           |
//!  +------------------+--------- share of the files, 0 to 1
//!                crossing of this round; none -> Before or Beyond
//! ```

use megadir_record::{ArmId, BreakEvenArms, Work};
use megadir_stats::{Crossing, crossing, crossing_estimate};
use serde::{Deserialize, Serialize};

use super::{Evidence, Figure, Threshold};
use crate::text::distinct;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakEven {
    /// Every directory and way of listing it.
    pub series: Vec<BreakEvenSeries>,
    /// Share of the largest directory divided by the share of the smallest, for each way of listing.
    pub sizes: Vec<BreakEvenSizes>,
}

/// One directory and one way of listing it.
// The time of the listing does not depend on the number of entries that are wanted, while the time of single
// queries grows with it. The two curves cross at `from`, a share of all entries. The crossing is computed
// for each round and then summarized, because the two ends of one round belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakEvenSeries {
    /// Way of listing.
    pub name: String,
    /// Number of entries of the directory.
    pub entries: u64,
    /// Arm that lists the directory.
    pub list: ArmId,
    /// Nanoseconds.
    pub list_ns: Figure,
    /// In ascending share, without arms that did other work.
    #[serde(rename = "asks")]
    pub points: Vec<BreakEvenPoint>,
    /// Rounds in which all arms were measured.
    pub rounds: usize,
    /// Share from which on listing is faster.
    pub from: Threshold,
    /// Ends of its interval; `None` with too few rounds.
    pub interval: Option<(Threshold, Threshold)>,
}

/// An arm that stats a share of the files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakEvenPoint {
    /// Arm that stats the files.
    pub arm: ArmId,
    /// Number of files asked for.
    pub files: u64,
    /// As a share of the entries, 0 to 1.
    pub share: f64,
    /// Nanoseconds.
    pub time_ns: Figure,
    /// Time over the time of listing, round by round.
    pub ratio: Figure,
}

/// Shares of the smallest and the largest directory that is listed in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakEvenSizes {
    /// Way of listing.
    pub name: String,
    /// Entries of the smallest directory.
    pub small: u64,
    /// Entries of the largest directory.
    pub large: u64,
    /// Share of the largest over share of the smallest, round by round.
    pub ratio: Figure,
}

/// Series together with its crossings by round, which the comparison of sizes pairs again.
struct Read {
    series: BreakEvenSeries,
    rounds: Vec<Crossing>,
}

/// A series that cannot be read is left out; only a group without any is unreadable.
pub(crate) fn break_even(evidence: &Evidence<'_>, arms: &[BreakEvenArms]) -> Result<BreakEven, String> {
    let read: Vec<Read> = arms.iter().filter_map(|arms| one_series(evidence, arms)).collect();
    if read.is_empty() {
        return Err("no directory was both listed and asked about".into());
    }
    let sizes = sizes(&read, evidence.confidence());
    Ok(BreakEven { series: read.into_iter().map(|read| read.series).collect(), sizes })
}

/// Only rounds that have the listing and all queries count, since a crossing needs the whole curve of one
/// round. `None` if the listing did other work than planned: then no share of it means anything. Query arms
/// that did other work are left out, and the curve has fewer points.
fn one_series(evidence: &Evidence<'_>, arms: &BreakEvenArms) -> Option<Read> {
    let entries = evidence.plan.data_set(evidence.plan.arm(arms.list)?.data)?.entries;
    // Arms with other work are left out before the curve is made.
    let files = |arm: ArmId| match evidence.plan.arm(arm)?.work {
        Work::StatSome { files } if entries > 0 && evidence.is_equal(arm) => Some((arm, files)),
        _ => None,
    };
    let mut queried: Vec<(ArmId, u64)> = arms.stat_some.iter().filter_map(|arm| files(*arm)).collect();
    queried.sort_by_key(|(_, files)| *files);
    if !evidence.is_equal(arms.list) {
        return None;
    }
    // All arms in one call: a round counts for all of them or for none.
    let all: Vec<ArmId> = [arms.list].into_iter().chain(queried.iter().map(|(arm, _)| *arm)).collect();
    let times = evidence.rounds.paired(&all);
    let (list, queries) = times.split_first()?;
    let shares: Vec<f64> = queried.iter().map(|(_, files)| *files as f64 / entries as f64).collect();
    let of_round = |round: usize| {
        let curve: Vec<f64> = queries.iter().map(|times| times[round]).collect();
        crossing(&shares, &curve, list[round])
    };
    // A round whose curve has no crossing is `Before` or `Beyond`; `None` is a curve without points.
    let rounds: Vec<Crossing> = (0..list.len()).map(of_round).collect::<Option<_>>()?;
    let estimate = crossing_estimate(&rounds, evidence.confidence())?;
    let point = |(((arm, files), share), times): (((ArmId, u64), f64), &Vec<f64>)| {
        let time_ns = Figure::median_of(times, evidence.confidence())?;
        let ratio = Figure::ratio_of(times, list, evidence.confidence())?;
        Some(BreakEvenPoint { arm, files, share, time_ns, ratio })
    };
    let points = queried.iter().copied().zip(shares.iter().copied()).zip(queries).map(point);
    let series = BreakEvenSeries {
        name: arms.name.clone(),
        entries,
        list: arms.list,
        list_ns: Figure::median_of(list, evidence.confidence())?,
        points: points.collect::<Option<_>>()?,
        rounds: rounds.len(),
        from: estimate.value.into(),
        interval: estimate.interval.map(|(low, high)| (low.into(), high.into())),
    };
    Some(Read { series, rounds })
}

/// The smallest directory with the largest, for every way of listing with a share of both in every round.
fn sizes(read: &[Read], confidence: f64) -> Vec<BreakEvenSizes> {
    let names = distinct(read.iter().map(|read_series| read_series.series.name.as_str()));
    let of_name = |name: &&str| {
        let all = || read.iter().filter(|read_series| read_series.series.name == **name);
        let small = all().min_by_key(|read_series| read_series.series.entries)?;
        let large = all().max_by_key(|read_series| read_series.series.entries)?;
        let ratio = Figure::ratio_of(&places(&large.rounds)?, &places(&small.rounds)?, confidence)?;
        let (small, large) = (small.series.entries, large.series.entries);
        (small < large).then(|| BreakEvenSizes { name: (*name).to_owned(), small, large, ratio })
    };
    names.iter().filter_map(of_name).collect()
}

/// Shares of a round as numbers. A share beyond the measured ones has no number, and a ratio of the other
/// rounds alone would be biased, so a single one withholds the whole.
fn places(rounds: &[Crossing]) -> Option<Vec<f64>> {
    let place = |crossing: &Crossing| match crossing {
        Crossing::At(place) => Some(*place),
        Crossing::Before | Crossing::Beyond => None,
    };
    rounds.iter().map(place).collect()
}
