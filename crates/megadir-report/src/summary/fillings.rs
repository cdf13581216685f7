//! Numbers over the number of entries: filling, growth, refusals. Buckets are compared with the first, as one family.
//!
//! ```text
//! fill     one directory, buckets 0..n in turn          each bucket against the first
//! grow     one kind of work on directories of n sizes   exponent in each round; the largest against the smallest
//! refusal  directories filled until one file is refused count, scatter, error of the prediction
//! ```

use megadir_record::{Arm, ArmId, Predicted, Work};
use serde::{Deserialize, Serialize};

use crate::summary::compare::{Outcome, contrast, contrasts};
use crate::summary::{Evidence, Figure};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fill {
    /// In the order in which they were filled.
    pub buckets: Vec<Bucket>,
}

/// A part of the filling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bucket {
    /// Arm that creates the files.
    pub arm: ArmId,
    /// Files before it.
    pub from: u64,
    /// Files after it.
    pub to: u64,
    /// Median time of a file over the rounds, nanoseconds; `None` if not measured.
    pub time_ns: Option<Figure>,
    /// Comparison with the first bucket.
    pub outcome: Outcome,
    /// Rounds that have both buckets.
    pub rounds: usize,
}

/// `Err` has the reason why the group is unreadable, as a sentence without its full stop.
pub(crate) fn fill(evidence: &Evidence<'_>, arms: &[ArmId]) -> Result<Fill, String> {
    let range = |arm: &ArmId| match evidence.plan.arm(*arm).map(|planned| &planned.work) {
        Some(Work::Files(work)) => Some((*arm, work.from, work.to)),
        _ => None,
    };
    let Some(mut ranges) = arms.iter().map(range).collect::<Option<Vec<_>>>() else {
        return Err("one of its arms makes no files".into());
    };
    // The plan lists buckets in any order; the smallest start is the reference.
    ranges.sort_by_key(|(_, from, _)| *from);
    let Some(((first, ..), others)) = ranges.split_first() else { return Err("it has no arms".into()) };
    let others: Vec<ArmId> = others.iter().map(|(arm, ..)| *arm).collect();
    let mut judged = contrasts(evidence, *first, &others).into_iter();
    let bucket = |(arm, from, to): (ArmId, u64, u64)| {
        let times = evidence.rounds.times(arm);
        // Contrasts exist for all buckets but the first, and in the same order.
        let (rounds, outcome) = match (arm != *first).then(|| judged.next()).flatten() {
            Some(contrast) => (contrast.rounds, contrast.outcome),
            None => (times.len(), Outcome::Baseline),
        };
        let time_ns = Figure::median_of(&times, evidence.confidence());
        Bucket { arm, from, to, time_ns, outcome, rounds }
    };
    Ok(Fill { buckets: ranges.iter().copied().map(bucket).collect() })
}

/// Exponents this close to 1 are called linear.
const LINEAR_MARGIN: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Growth {
    /// Times over the number of entries, one series per kind of work.
    pub series: Vec<Series>,
}

/// The same work on data sets of different sizes.
// The points are compared in rounds that have all of them. The exponent is the slope between logarithms: 1
// is time in proportion to the number of entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Kind of work.
    pub name: String,
    /// Rounds in which all points were measured.
    pub rounds: usize,
    /// In ascending number of entries, without arms that did other work.
    pub points: Vec<Point>,
    /// Over all points; `None` with fewer than two sizes.
    pub exponent: Option<Figure>,
    /// From each size to the next.
    pub steps: Vec<Step>,
    /// Growth of the time, by the exponents.
    pub shape: Shape,
    /// The largest size against the smallest, adjusted for all series of the group; `None` with fewer than two sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Outcome>,
}

/// One size of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Arm with this number of entries.
    pub arm: ArmId,
    /// Number of entries of the directory.
    pub entries: u64,
    /// Median time of an operation, nanoseconds.
    pub time_ns: Figure,
    /// Median time of an entry, nanoseconds; `None` if the arm does not list the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_ns: Option<Figure>,
}

/// Exponent between neighbouring sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// Smaller number of entries.
    pub from_entries: u64,
    /// Larger number of entries.
    pub to_entries: u64,
    /// Exponent of the power law between them: 1 is linear.
    pub exponent: Figure,
}

/// Shape of growth, by the interval of its exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Within 0.95 to 1.05.
    Linear,
    /// Partly within 0.95 to 1.05.
    PerhapsLinear,
    /// Below 0.95.
    LessThanLinear,
    /// Above 1.05.
    MoreThanLinear,
    /// No interval.
    #[serde(rename = "cannot-be-told")]
    Undecided,
}

pub(crate) fn grow(evidence: &Evidence<'_>, series: &[(String, Vec<ArmId>)]) -> Growth {
    // Ends of all series are judged together, because one sentence names the largest and the smallest of
    // them.
    let mut series: Vec<Series> =
        series.iter().map(|(name, arms)| one_series(evidence, name, arms)).collect();
    let ends = |series: &Series| match &series.points[..] {
        [first, .., last] => Some((last.arm, first.arm)),
        _ => None,
    };
    let pairs: Vec<(ArmId, ArmId)> = series.iter().filter_map(ends).collect();
    // In the order of the series that have two ends; the others are skipped in both loops.
    let mut judged = contrast(evidence, &pairs).into_iter();
    for series in series.iter_mut().filter(|series| ends(series).is_some()) {
        series.ends = judged.next().map(|(_, outcome)| outcome);
    }
    Growth { series }
}

fn one_series(evidence: &Evidence<'_>, name: &str, arms: &[ArmId]) -> Series {
    // Sizes with other work are left out; the exponent is then over the rest.
    let usable = arms.iter().filter(|arm| evidence.is_equal(**arm));
    let mut points: Vec<Point> = usable.filter_map(|arm| point(evidence, evidence.plan.arm(*arm)?)).collect();
    points.sort_by_key(|point| point.entries);
    // Rounds that lack one size are left out of the exponent, so that all points of a fit met the same
    // conditions.
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

fn point(evidence: &Evidence<'_>, planned: &Arm) -> Option<Point> {
    let data = evidence.plan.data_set(planned.data)?;
    let entries = match planned.work.lists() {
        // A listing reports its entries, which may differ from the plan in an existing directory; other
        // work has the planned number.
        true => evidence.rounds.samples(planned.id).next()?.counted.entries,
        false => data.entries,
    };
    let time_ns = Figure::median_of(&evidence.rounds.times(planned.id), evidence.confidence())?;
    let entry_ns = planned.work.lists().then(|| time_ns.scaled(1.0 / entries as f64));
    // A power law cannot include an empty directory.
    (entries > 0).then_some(Point { arm: planned.id, entries, time_ns, entry_ns })
}

/// Each round is fitted by itself.
fn exponent(entries: &[f64], times: &[Vec<f64>], evidence: &Evidence<'_>) -> Option<Figure> {
    let fit = |round: usize| {
        let of_round: Vec<f64> = times.iter().map(|series| series[round]).collect();
        megadir_stats::power_law(entries, &of_round)
    };
    let exponents: Option<Vec<f64>> = (0..times.first()?.len()).map(fit).collect();
    Figure::median_of(&exponents?, evidence.confidence())
}

/// Only the interval decides: an exponent of 1.00 with a wide interval is "perhaps linear".
fn shape(exponent: Option<Figure>) -> Shape {
    let Some(interval) = exponent.and_then(|exponent| exponent.interval) else { return Shape::Undecided };
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

// Entries that a directory holds before it refuses one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// Arm that fills the directories.
    pub arm: ArmId,
    /// Number of filled directories.
    pub directories: usize,
    /// Median number of entries at the refusal.
    pub entries: Figure,
    /// Mean number of entries.
    pub mean: f64,
    /// Fewest entries.
    pub least: u64,
    /// Most entries.
    pub most: u64,
    /// `None` in a record without a prediction.
    pub predicted: Option<Predicted>,
    /// Prediction divided by the mean, minus 1.
    pub error: Option<f64>,
}

/// The prediction was made before the first file and stored in the plan, so it cannot have learned from the
/// result.
pub(crate) fn refusal(evidence: &Evidence<'_>, arm: ArmId) -> Result<Refusal, String> {
    let Some(planned) = evidence.plan.arm(arm) else { return Err("its arm is missing".into()) };
    let Work::FillUntilRefused { predicted, .. } = &planned.work else {
        return Err(format!("`{}` fills no directory", planned.name));
    };
    let counts: Vec<u64> = evidence.rounds.samples(arm).map(|sample| sample.counted.entries).collect();
    let entries: Vec<f64> = counts.iter().map(|entries| *entries as f64).collect();
    let figure = Figure::median_of(&entries, evidence.plan.rules.confidence);
    let mean = megadir_stats::mean(&entries);
    let (Some(figure), Some(mean)) = (figure, mean) else { return Err("no directory was filled".into()) };
    // Relative to the mean, to which the prediction refers; scatter is reported by the extremes.
    let error = predicted.as_ref().map(|predicted| predicted.entries as f64 / mean - 1.0);
    Ok(Refusal {
        arm,
        directories: counts.len(),
        entries: figure,
        mean,
        least: counts.iter().copied().min().unwrap_or(0),
        most: counts.iter().copied().max().unwrap_or(0),
        predicted: predicted.clone(),
        error: error.filter(|error| error.is_finite()),
    })
}
