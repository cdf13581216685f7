//! Two runs of the same arms, the new one against the old one, in the manner of benchstat.
//!
//! Arms are matched by what they are (name, work, data, cache), never by their place. The rounds of two runs are not paired, so times are
//! compared by the unpaired Hodges-Lehmann ratio with the Mann-Whitney interval, Holm over all rows. What differs between the runs as
//! wholes (machine, load, file system) is in the ratio too: `alike` says what is known of that.

mod alike;
mod table;

pub use alike::differences;
pub use table::table;

use megadir_record::{Cell, Data, Record, Role, Work};
use megadir_stats::{Judging, judge_unpaired_family};
use serde::{Deserialize, Serialize};

use crate::summary::{Figure, Outcome, Resolution, Rounds, Summary, Verdict, judged};

/// The version of the JSON form of [`Between`].
pub const BETWEEN_VERSION: u32 = 1;

/// A new run against an old one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Between {
    /// The version of this form ([`BETWEEN_VERSION`]).
    pub version: u32,
    /// The study.
    pub study: String,
    /// What differs between machines, file systems and data sets; empty where the runs are comparable.
    pub differences: Vec<String>,
    /// What the runs noted of others' work on the machine; empty where they noted none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<String>,
    /// The arms that both runs have, in the order of the new one.
    pub rows: Vec<Row>,
    /// The geometric mean of the ratios of all rows that have one; `None` without any.
    pub geometric_mean: Option<f64>,
    /// How many ratios that is of.
    pub ratios: usize,
    /// Arms that only the old run has.
    pub only_old: Vec<String>,
    /// Arms that only the new run has.
    pub only_new: Vec<String>,
    /// The baseline of the old run against itself.
    pub resolution_old: Vec<Resolution>,
    /// The baseline of the new run against itself.
    pub resolution_new: Vec<Resolution>,
    /// The equivalence band, as a fraction.
    pub band: f64,
}

/// One arm in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The arm.
    pub arm: String,
    /// The cache's state.
    pub cache: String,
    /// Rounds of the old run.
    pub old_rounds: usize,
    /// Rounds of the new run.
    pub new_rounds: usize,
    /// Median time of an operation in the old run, nanoseconds; `None` if it was not measured.
    pub old_ns: Option<Figure>,
    /// The same in the new run.
    pub new_ns: Option<Figure>,
    /// New over old.
    pub outcome: Outcome,
}

/// A run: its record and what was made of it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The record.
    pub record: &'a Record,
    /// Its summary.
    pub summary: &'a Summary,
}

/// Compares a new run with an old one; whatever differs between them as wholes is told beside the rows.
#[must_use]
pub fn between(old: Run<'_>, new: Run<'_>) -> Between {
    let (of_old, of_new) = (Rounds::of(old.record), Rounds::of(new.record));
    let measured = |cell: &&Cell| cell.role != Role::AgainstItself;
    let old_cells: Vec<&Cell> = old.record.header.plan.cells.iter().filter(measured).collect();
    let mut unmatched = old_cells.clone();
    let (mut rows, mut times, mut only_new) = (Vec::new(), Vec::new(), Vec::new());
    for cell in new.record.header.plan.cells.iter().filter(measured) {
        let Some(place) = unmatched.iter().position(|other| same(old, other, new, cell)) else {
            only_new.push(cell.name.clone());
            continue;
        };
        let other = unmatched.remove(place);
        let (before, after) = (of_old.times(other.id), of_new.times(cell.id));
        let confidence = new.summary.rules.confidence;
        let equal = [(old, other), (new, cell)]
            .iter()
            .all(|(run, cell)| run.summary.arm(cell.id).is_some_and(|arm| arm.work.is_equal()));
        rows.push(Row {
            arm: cell.name.clone(),
            cache: cell.cache.name().to_owned(),
            old_rounds: before.len(),
            new_rounds: after.len(),
            old_ns: Figure::median_of(&before, confidence),
            new_ns: Figure::median_of(&after, confidence),
            outcome: if equal { Outcome::NotMeasured } else { Outcome::Unequal },
        });
        times.push((after, before));
    }
    judge(&mut rows, &times, new.summary.rules.equivalence_band);
    let logs: Vec<f64> = rows.iter().filter_map(|row| ratio(&row.outcome)).map(f64::ln).collect();
    Between {
        version: BETWEEN_VERSION,
        study: new.summary.study.clone(),
        differences: differences(old.record, new.record),
        disturbances: alike::disturbances(old.record, new.record),
        geometric_mean: megadir_stats::mean(&logs).map(f64::exp),
        ratios: logs.len(),
        rows,
        only_old: unmatched.iter().map(|cell| cell.name.clone()).collect(),
        only_new,
        resolution_old: old.summary.resolution.clone(),
        resolution_new: new.summary.resolution.clone(),
        band: new.summary.rules.equivalence_band,
    }
}

impl Between {
    /// Returns the arms that are slower in the new run, beyond what is negligible and by more than `by`, a fraction.
    #[must_use]
    pub fn slower(&self, by: f64) -> Vec<&Row> {
        let is_slower = |row: &&Row| match row.outcome {
            Outcome::Judged { ratio, verdict: Verdict::Slower { negligible: false }, .. } => {
                ratio.value > 1.0 + by
            }
            _ => false,
        };
        self.rows.iter().filter(is_slower).collect()
    }
}

/// Judges all rows that can be as one family.
fn judge(rows: &mut [Row], times: &[(Vec<f64>, Vec<f64>)], band: f64) {
    let equal = |row: &Row| row.outcome != Outcome::Unequal;
    let family: Vec<(Vec<f64>, Vec<f64>)> =
        rows.iter().zip(times).filter(|(row, _)| equal(row)).map(|(_, times)| times.clone()).collect();
    // Both runs may have stopped at a width; what they looked for was within each, not between them.
    let judgements = judge_unpaired_family(&family, Judging { band, looks: 1 });
    let rows = rows.iter_mut().filter(|row| equal(row));
    for ((row, judgement), (new, old)) in rows.zip(judgements).zip(&family) {
        let medians = (megadir_stats::median(new), megadir_stats::median(old));
        row.outcome = match (judgement, medians) {
            (Some(judgement), _) => judged(judgement),
            (None, (Some(new), Some(old))) => Outcome::TooFewRounds { ratio: new / old },
            (None, _) => Outcome::NotMeasured,
        };
    }
}

/// Returns the ratio of an outcome, where there is one.
fn ratio(outcome: &Outcome) -> Option<f64> {
    match outcome {
        Outcome::Judged { ratio, .. } => Some(ratio.value),
        Outcome::TooFewRounds { ratio } => Some(*ratio),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => None,
    }
}

/// Tells whether two arms are the same.
fn same(old: Run<'_>, of_old: &Cell, new: Run<'_>, of_new: &Cell) -> bool {
    let of = |cell: &Cell| (cell.name.clone(), work(cell), cell.cache, cell.rate_per_s, cell.operations);
    of(of_old) == of(of_new) && data(old, of_old).zip(data(new, of_new)).is_some_and(|(old, new)| old == new)
}

/// Returns what is known of a data set that does not depend on the seed.
fn data<'a>(run: Run<'a>, cell: &Cell) -> Option<(u64, &'a megadir_record::DataSource)> {
    let data: &Data = run.record.header.plan.data.iter().find(|data| data.id == cell.data)?;
    Some((data.entries, &data.source))
}

/// Returns the work without what was found out when it was carried out.
fn work(cell: &Cell) -> Work {
    let mut work = cell.work.clone();
    match &mut work {
        Work::FillUntilRefused { predicted, .. } => *predicted = None,
        Work::Attributes { expected, .. } => *expected = None,
        _ => {}
    }
    work
}
