//! The rule Grow: the power of the number of entries with which time grows.
//!
//! A power law is fitted in every round by itself, so that the exponent has an interval like any other figure. What a
//! directory costs to open bends the curve where it is small, so the exponent of every step is given too.

use megadir_record::{Cell, CellId};
use serde::{Deserialize, Serialize};

use super::Figure;
use super::compare::{Outcome, contrast};
use super::evidence::Evidence;

/// Exponents as near to 1 as this are called linear even where their interval excludes 1.
const LINEAR_MARGIN: f64 = 0.05;

/// A group read by the rule Grow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Growth {
    /// Every series of the group.
    pub series: Vec<Series>,
}

/// The same work on data sets of different sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// The series' name.
    pub name: String,
    /// Rounds in which all its points were measured.
    pub rounds: usize,
    /// Its points in ascending number of entries, without arms that did other work.
    pub points: Vec<Point>,
    /// The exponent over all points; `None` with fewer than two sizes.
    pub exponent: Option<Figure>,
    /// The exponent from each size to the next.
    pub steps: Vec<Step>,
    /// Shape of the growth.
    pub shape: Shape,
    /// The largest size against the smallest, intervals adjusted for all series of the group; `None` with fewer than two sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Outcome>,
}

/// One size of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// The arm.
    pub arm: CellId,
    /// Entries of the directory.
    pub entries: u64,
    /// Median time of an operation, nanoseconds.
    pub time_ns: Figure,
    /// The same for one entry; `None` where the arm does not list the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_ns: Option<Figure>,
}

/// The exponent between neighbouring sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// Entries of the smaller directory.
    pub from_entries: u64,
    /// Entries of the larger directory.
    pub to_entries: u64,
    /// The exponent between the two.
    pub exponent: Figure,
}

/// Shape of growth, by the interval of its exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Its interval lies within 0.95 to 1.05.
    Linear,
    /// Its interval holds some of 0.95 to 1.05 and something else.
    PerhapsLinear,
    /// Its interval lies below 0.95.
    LessThanLinear,
    /// Its interval lies above 1.05.
    MoreThanLinear,
    /// There is no interval.
    CannotBeTold,
}

/// Reads a group by the rule Grow.
pub(crate) fn grow(evidence: &Evidence<'_>, series: &[(String, Vec<CellId>)]) -> Growth {
    let mut series: Vec<Series> =
        series.iter().map(|(name, arms)| one_series(evidence, name, arms)).collect();
    let ends = |series: &Series| match &series.points[..] {
        [first, .., last] => Some((last.arm, first.arm)),
        _ => None,
    };
    let pairs: Vec<(CellId, CellId)> = series.iter().filter_map(ends).collect();
    let mut judged = contrast(evidence, &pairs).into_iter();
    for one in series.iter_mut().filter(|series| ends(series).is_some()) {
        one.ends = judged.next().map(|(_, outcome)| outcome);
    }
    Growth { series }
}

fn one_series(evidence: &Evidence<'_>, name: &str, arms: &[CellId]) -> Series {
    let usable = arms.iter().filter(|arm| evidence.is_equal(**arm));
    let cells: Vec<&Cell> = usable.filter_map(|arm| evidence.plan.cells.get(arm.0 as usize)).collect();
    let mut points: Vec<Point> = cells.into_iter().filter_map(|cell| point(evidence, cell)).collect();
    points.sort_by_key(|point| point.entries);
    let times = evidence.rounds.paired(&points.iter().map(|point| point.arm).collect::<Vec<_>>());
    let entries: Vec<f64> = points.iter().map(|point| point.entries as f64).collect();
    let exponent_of = |from: usize, to: usize| exponent(&entries[from..to], &times[from..to], evidence);
    let steps = (1..points.len()).filter_map(|place| {
        let (from_entries, to_entries) = (points[place - 1].entries, points[place].entries);
        Some(Step { from_entries, to_entries, exponent: exponent_of(place - 1, place + 1)? })
    });
    let steps = steps.collect();
    let exponent = exponent_of(0, points.len());
    let rounds = times.first().map_or(0, Vec::len);
    Series { name: name.into(), rounds, exponent, steps, shape: shape(exponent), points, ends: None }
}

fn point(evidence: &Evidence<'_>, cell: &Cell) -> Option<Point> {
    let data = evidence.plan.data.iter().find(|data| data.id == cell.data)?;
    let entries = match cell.work.lists() {
        true => evidence.rounds.samples(cell.id).next()?.counted.entries,
        false => data.entries,
    };
    let time_ns = Figure::median_of(&evidence.rounds.times(cell.id), evidence.confidence())?;
    let entry_ns = cell.work.lists().then(|| time_ns.scaled(1.0 / entries as f64));
    // A power law has no place for an empty directory.
    (entries > 0).then_some(Point { arm: cell.id, entries, time_ns, entry_ns })
}

/// Fits every round by itself and returns the median exponent.
fn exponent(entries: &[f64], times: &[Vec<f64>], evidence: &Evidence<'_>) -> Option<Figure> {
    let fit = |round: usize| {
        let of_round: Vec<f64> = times.iter().map(|series| series[round]).collect();
        megadir_stats::power_law(entries, &of_round).map(|law| law.exponent)
    };
    let exponents: Option<Vec<f64>> = (0..times.first()?.len()).map(fit).collect();
    Figure::median_of(&exponents?, evidence.confidence())
}

fn shape(exponent: Option<Figure>) -> Shape {
    let Some(interval) = exponent.and_then(|exponent| exponent.interval) else { return Shape::CannotBeTold };
    let (least, most) = (1.0 - LINEAR_MARGIN, 1.0 + LINEAR_MARGIN);
    if interval.high < least {
        Shape::LessThanLinear
    } else if interval.low > most {
        Shape::MoreThanLinear
    } else if interval.low >= least && interval.high <= most {
        Shape::Linear
    } else {
        Shape::PerhapsLinear
    }
}
