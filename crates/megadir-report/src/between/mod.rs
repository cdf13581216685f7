//! Comparison of new runs with old runs of the same arms, in the manner of benchstat. Rounds of two runs are not paired. With
//! [`RUNS_MIN`] runs or more a side, each run is one observation of an arm (the median of its rounds), and intervals are Welch's.
//! A single run a side is compared by its rounds (unpaired Hodges-Lehmann ratio, Mann-Whitney interval): that describes these two
//! runs, with everything else that differed between them. Both are adjusted over all rows (Holm).
//!
//! ```text
//! runs -> sides [old, new] -> matched arms -> rows: times by round (one run a side) or medians by run
//!                                 |                `-> judge: one family -> outcome of each row
//!                                 `-> only on one side; reasons against a gate (unjudged.rs)
//! differences, doubts, disturbances: of the runs as a whole (comparability.rs)
//! ```

mod comparability;
mod gate;
mod machines;
mod matched;
mod render;
mod unjudged;

pub use comparability::{Doubt, differences};
pub use gate::{Condition, Gate, GateVerdict, Unjudged, UnjudgedKind};
pub use machines::{MachineRuns, Machines, Travels, machines, render_machines};
pub use render::{FORMATS, Format, csv, format_named, html, markdown, screen, table};
pub use unjudged::is_same;

use megadir_record::Arm;
use megadir_stats::{Judging, RUNS_MIN, judge_family_of_runs, judge_unpaired_family, median};
use serde::{Deserialize, Serialize};

use crate::report::Report;
use crate::summary::{Figure, Outcome, Resolution, judged};
use matched::{Matched, Side};

/// Version of the JSON form of [`Between`]; fields may be added to it.
pub const BETWEEN_VERSION: u32 = 1;

/// The complete comparison as data: text, Markdown and JSON are written from it alone, and it can be read
/// back. Sides are named old and new throughout, and every ratio is new over old, so above 1 is slower.
/// Ratios are computed even if the runs are not comparable; `differences`, `disturbances` and `doubts` are
/// printed with them, and the gate refuses to judge. `geometric_mean` is over the `ratios` rows that have a
/// ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Between {
    pub version: u32,
    pub study: String,
    pub basis: Basis,
    pub old_runs: Vec<String>,
    pub new_runs: Vec<String>,
    /// Differences between machines, file systems and data sets; empty if the runs are comparable.
    pub differences: Vec<String>,
    /// Other work on the machine that the runs noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// Arms on both sides, in the order of the new one.
    pub rows: Vec<Row>,
    pub geometric_mean: Option<f64>,
    pub ratios: usize,
    pub only_old: Vec<String>,
    pub only_new: Vec<String>,
    pub resolution_old: Vec<Resolution>,
    pub resolution_new: Vec<Resolution>,
    /// Equivalence band, a fraction: the narrowest of all records.
    pub band: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<Unjudged>,
    /// Result of the gate, if one was requested ([`Between::apply`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Rounds of a single run a side: valid for these two runs.
    Rounds,
    /// Runs of each side, one observation each: valid for the versions.
    Runs,
    /// None: several runs, but fewer than an interval takes.
    TooFewRuns,
}

/// One arm on both sides. Cold and warm runs of equal work are different rows, by `cache`. Times are
/// nanoseconds of one operation, and the rounds are the sums over the runs of a side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub arm: String,
    pub cache: String,
    pub old_rounds: usize,
    pub new_rounds: usize,
    /// Median time of an operation in the old run, nanoseconds (of several the median); `None` if not measured.
    pub old_ns: Option<Figure>,
    pub new_ns: Option<Figure>,
    /// Median of each old run, nanoseconds, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub old_each_ns: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_each_ns: Vec<f64>,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub name: &'a str,
    pub report: &'a Report,
}

impl Run<'_> {
    fn did_equal_work(&self, planned: &Arm) -> bool {
        self.report.summary.arm(planned.id).is_some_and(|arm| arm.work.is_equal())
    }
}

/// Indices into every `[Side; 2]` and into [`Matched::arms`]: both hold the old side, then the new one.
const OLD: usize = 0;
const NEW: usize = 1;

/// Arms are matched once, and everything follows from the matches: rows, arms on one side only, and the
/// reasons against a gate. These reasons come last, since they depend on the finished rows. The band is the
/// narrowest of all records: a difference that any of the runs would have called relevant is not called
/// equivalent here.
pub fn between(old_runs: &[Run<'_>], new_runs: &[Run<'_>]) -> Option<Between> {
    let (_, first_new) = (old_runs.first()?, new_runs.first()?);
    let sides = [Side::new("the old run", old_runs), Side::new("the new run", new_runs)];
    let arms = matched::arms(&sides);
    let all = old_runs.iter().chain(new_runs);
    // One run on one side and several on the other have no statistic of their own: too few runs.
    let basis = match (old_runs.len(), new_runs.len()) {
        (1, 1) => Basis::Rounds,
        (old, new) if old.min(new) >= RUNS_MIN => Basis::Runs,
        _ => Basis::TooFewRuns,
    };
    let band = all.map(|run| run.report.summary.rules.equivalence_band).fold(f64::INFINITY, f64::min);
    let rows = rows(&arms, &sides, basis, band);
    // The mean is over ratios that exist, whatever their verdict; it is a summary and is not judged.
    let logs: Vec<f64> = rows.iter().filter_map(|row| row.outcome.ratio_value()).map(f64::ln).collect();
    let missing_in = |side: usize| -> Vec<String> {
        arms.iter().filter(|arm| !arm.is_in(side)).map(|arm| arm.planned.name.clone()).collect()
    };
    let resolution =
        |runs: &[Run<'_>]| runs.iter().flat_map(|run| run.report.summary.resolution.clone()).collect();
    let called = |runs: &[Run<'_>]| runs.iter().map(|run| run.name.to_owned()).collect();
    let mut compared = Between {
        version: BETWEEN_VERSION,
        study: first_new.report.record.header.plan.study.clone(),
        basis,
        old_runs: called(old_runs),
        new_runs: called(new_runs),
        differences: comparability::of_all(old_runs, new_runs),
        disturbances: sides.iter().flat_map(comparability::disturbances).collect(),
        doubts: sides.iter().flat_map(comparability::doubts).collect(),
        geometric_mean: megadir_stats::mean(&logs).map(f64::exp),
        ratios: logs.len(),
        rows,
        only_old: missing_in(NEW),
        only_new: missing_in(OLD),
        resolution_old: resolution(old_runs),
        resolution_new: resolution(new_runs),
        band,
        unjudged: Vec::new(),
        gate: None,
    };
    // Last, because the reasons need the rows.
    compared.unjudged = unjudged::reasons(&compared, &sides, &arms);
    Some(compared)
}

fn rows<'a>(arms: &[Matched<'a>], sides: &[Side<'a>; 2], basis: Basis, band: f64) -> Vec<Row> {
    let (mut rows, mut times) = (Vec::new(), Vec::new());
    for arm in arms.iter().filter(|arm| arm.is_in(OLD) && arm.is_in(NEW)) {
        let [before, after] = [OLD, NEW].map(|side| sides[side].times(&arm.arms[side]));
        let worked = arm.runs(sides).all(|(run, _, planned)| run.did_equal_work(planned));
        let equal = worked && matched::saw_the_same(arm, sides);
        // With one run a side the medians are in `old_ns` and `new_ns` already.
        let several = |series: &[Vec<f64>]| if basis == Basis::Rounds { Vec::new() } else { medians(series) };
        let confidence = sides[NEW].runs[0].report.summary.rules.confidence;
        rows.push(Row {
            arm: arm.planned.name.clone(),
            cache: arm.planned.cache.name().to_owned(),
            old_rounds: before.iter().map(Vec::len).sum(),
            new_rounds: after.iter().map(Vec::len).sum(),
            old_ns: figure(&before, basis, confidence),
            new_ns: figure(&after, basis, confidence),
            old_each_ns: several(&before),
            new_each_ns: several(&after),
            // Replaced by `judge`, unless the work was unequal.
            outcome: if equal { Outcome::NotMeasured } else { Outcome::Unequal },
        });
        times.push(match basis {
            Basis::Rounds => (after.concat(), before.concat()),
            Basis::Runs | Basis::TooFewRuns => (medians(&after), medians(&before)),
        });
    }
    judge(&mut rows, &times, basis, band);
    rows
}

fn medians(series: &[Vec<f64>]) -> Vec<f64> {
    series.iter().filter_map(|times| median(times)).collect()
}

/// Over runs the figure has no interval here: the interval of interest is the one of the ratio.
fn figure(series: &[Vec<f64>], basis: Basis, confidence: f64) -> Option<Figure> {
    match basis {
        Basis::Rounds => Figure::median_of(&series.concat(), confidence),
        Basis::Runs | Basis::TooFewRuns => Some(Figure { value: median(&medians(series))?, interval: None }),
    }
}

fn judge(rows: &mut [Row], times: &[(Vec<f64>, Vec<f64>)], basis: Basis, band: f64) {
    // Rows with unequal work are no members of the family.
    let equal = |row: &Row| row.outcome != Outcome::Unequal;
    let family: Vec<(Vec<f64>, Vec<f64>)> =
        rows.iter().zip(times).filter(|(row, _)| equal(row)).map(|(_, times)| times.clone()).collect();
    // Looks of a stopping rule were within each run.
    let judging = Judging { band, looks: 1 };
    let judgements = match basis {
        Basis::Rounds => judge_unpaired_family(&family, judging),
        Basis::Runs => judge_family_of_runs(&family, judging),
        Basis::TooFewRuns => vec![None; family.len()],
    };
    let rows = rows.iter_mut().filter(|row| equal(row));
    for ((row, judgement), (new, old)) in rows.zip(judgements).zip(&family) {
        // Without a judgement the medians give a ratio, which is shown as such.
        let alone = median(new).zip(median(old)).map(|(new, old)| new / old);
        row.outcome = match (judgement, alone.filter(|ratio| ratio.is_finite() && *ratio > 0.0)) {
            (Some(judgement), _) => judged(judgement),
            (None, Some(ratio)) => Outcome::TooFewRounds { ratio },
            (None, None) => Outcome::NotMeasured,
        };
    }
}
