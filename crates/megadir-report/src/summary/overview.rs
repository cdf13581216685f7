//! File systems side by side: a row for every kind of work, a column for every file system, and each against
//! each over all rows. On different storage (image file, device, memory) they are not compared.
//!
//! ```text
//!                  ext4        xfs         tmpfs (memory)
//! create, 1 ...    12 us   *   9 us        [ 3 us ]       cells: arm, median, against the first, best
//! read,   1 ...     4 us       4 us        [ 1 us ]       * = `fastest` of the row
//! overall           geometric mean of the ratios in each round, for every pair on like storage
//! ```
//!
//! Two questions are kept apart, because they have different families. "Is this one slower than the first?"
//! is answered for each pair of file systems alone, so the answer does not depend on the others. "Which one
//! is the fastest?" takes the whole table into account (`overview/rows.rs`), and needs a difference beyond
//! the equivalence band.

mod rows;

use std::collections::BTreeMap;

use megadir_record::{ArmId, FILE_SYSTEM_GROUP, GroupRule, LabFileSystem, Pair, Place, Plan};
use rows::{RowArms, arms_by_row, named};
use serde::{Deserialize, Serialize};

use super::compare::{Outcome, outcome};
use super::{Evidence, Figure};
use crate::summary::compare::read_file_systems;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overview {
    /// File systems or volumes.
    pub columns: Vec<OverviewColumn>,
    /// Kinds of work.
    pub rows: Vec<OverviewRow>,
    /// Every two file systems on like storage, over all rows that both have.
    pub overall: Vec<Overall>,
}

// One file system of the overview. The first one is the reference of all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverviewColumn {
    /// File system as requested, e.g. `ext4:block=1k`.
    pub name: String,
    /// Display name, with its driver if another file system's.
    pub label: String,
    /// Type that was formatted.
    pub kind: String,
    /// Kernel driver or FUSE server.
    pub driver: String,
    /// Storage below it, in words.
    pub ground: String,
    /// `true` if it may be compared with the first column.
    pub comparable: bool,
}

/// A kind of work.
// Arms that differ only in their file system form one row, so the cells of a row did the same work. Rows that
// repeat the work of other rows do not count for the mean over all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverviewRow {
    /// Common words of rows of the same operation; may be empty.
    pub section: String,
    /// Rest of the row's name.
    #[serde(rename = "what")]
    pub label: String,
    /// `true` if the row counts for [`Overview::overall`].
    pub counts: bool,
    /// One per column; `None` if not measured.
    pub cells: Vec<Option<OverviewCell>>,
    /// Column that is shown to be faster than every comparable one, by more than the equivalence band.
    ///
    /// Adjusted for all comparisons of the overview: each file system against each, in every row and over all rows.
    #[serde(default)]
    pub fastest: Option<usize>,
}

/// A kind of work on one file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverviewCell {
    /// Arm that does the work there.
    pub arm: ArmId,
    /// Median time of an operation, nanoseconds.
    pub time_ns: Figure,
    /// `true` if no comparable file system of the row is shown to be faster, as in [`OverviewRow::fastest`].
    pub best: bool,
    /// Against the first file system of the row; `None` for the first itself, and if not comparable.
    pub against_first: Option<Outcome>,
}

/// One file system against another over all kinds of work: the geometric mean of the ratios, by round.
// Each round has a geometric mean of its own, so the interval comes from whole rounds. Rows that one of the
// two file systems lacks are left out of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overall {
    /// Index of the column.
    pub of: usize,
    /// Index of the column that it is compared with.
    pub than: usize,
    /// Number of kinds of work that both have.
    pub rows: usize,
    /// Intervals are adjusted for all these contrasts.
    pub outcome: Outcome,
    /// Column that is shown to be faster, as in [`OverviewRow::fastest`].
    #[serde(default)]
    pub faster: Option<usize>,
}

impl Overview {
    pub fn comparable(&self) -> impl Iterator<Item = usize> {
        (0..self.columns.len()).filter(|column| self.columns[*column].comparable)
    }

    /// Least time over all kinds of work, even if the difference is not significant.
    /// The first comparable column is the reference for the search. The result is a position, not a
    /// verdict.
    pub fn least(&self) -> Option<usize> {
        let first = self.comparable().next()?;
        let to_first = |column: usize| if column == first { Some(1.0) } else { self.ratio(column, first) };
        let measured = self.comparable().filter_map(|column| Some((column, to_first(column)?)));
        let (nearest, _) = measured.min_by(|a, b| a.1.total_cmp(&b.1))?;
        // Ratios to a third file system are not quite the ratio of two to each other.
        let beats_all = |column: &usize| {
            let mut others = self.comparable().filter(|other| other != column);
            others.all(|other| self.ratio(other, *column).is_none_or(|ratio| ratio >= 1.0))
        };
        let known = self.comparable().filter(|column| to_first(*column).is_some()).find(beats_all);
        Some(known.unwrap_or(nearest))
    }

    /// Comparable file systems not shown to be slower than the fastest, including it; empty if fewer than two.
    pub fn undistinguished(&self) -> Vec<usize> {
        let Some(least) = self.least() else { return Vec::new() };
        // A pair is stored once, in the order of its columns.
        let pair = |column: usize| {
            let both = [column, least];
            self.overall.iter().find(|overall| both.contains(&overall.of) && both.contains(&overall.than))
        };
        // `None` of `against` is a pair without rounds in common, about which nothing is known.
        let known = |column: usize| self.against(column, least).is_some();
        if !self.comparable().any(|column| column != least && known(column)) {
            return Vec::new();
        }
        let open = |column: usize| pair(column).is_some_and(|overall| overall.faster != Some(least));
        self.comparable().filter(|column| *column == least || (known(*column) && open(*column))).collect()
    }

    pub fn against(&self, of: usize, than: usize) -> Option<Outcome> {
        let outcome = |of: usize, than: usize| {
            let found = self.overall.iter().find(|overall| (overall.of, overall.than) == (of, than))?;
            found.outcome.ratio().map(|_| found.outcome.clone())
        };
        outcome(of, than).or_else(|| Some(outcome(than, of)?.mirrored()))
    }

    /// Ratio over all kinds of work; the mirrored one if the pair is stored in the other order.
    fn ratio(&self, of: usize, than: usize) -> Option<f64> {
        self.against(of, than)?.ratio_value()
    }

    /// The one of least time, and the others against it, the fastest first; `None` if there are no others.
    pub(crate) fn against_least(&self) -> Option<(usize, Vec<(usize, Outcome)>)> {
        let least = self.least()?;
        let others = self.comparable().filter(|column| *column != least);
        let mut others: Vec<(f64, usize, Outcome)> = others
            .filter_map(|column| Some((self.ratio(column, least)?, column, self.against(column, least)?)))
            .collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let others: Vec<_> = others.into_iter().map(|(_, column, outcome)| (column, outcome)).collect();
        (!others.is_empty()).then_some((least, others))
    }
}

/// Storage in words, which readers see, and at once the key of comparability: equal words are like storage.
/// Devices are named by their paths, so file systems on different devices are not compared.
fn ground(of: &LabFileSystem) -> String {
    if let Some(disk) = &of.disk {
        if disk.is_model {
            return "an image on a MODEL of a rotating disk".into();
        }
        return format!("an image on a disk {}", disk.name);
    }
    match &of.place {
        Place::Image { direct_io: Some(false), .. } => "an image file read through the host's cache".into(),
        Place::Image { .. } => "an image file".into(),
        Place::Device { path } => format!("the device {path}"),
        Place::Memory { .. } => "memory".into(),
        Place::Directory { .. } => "a volume".into(),
    }
}

/// Pairs of arms on like storage; the others are shown in the table without a ratio.
pub(crate) fn comparable(plan: &Plan, pairs: &[Pair]) -> Vec<Pair> {
    let on = |cell: ArmId| {
        let data = plan.arm(cell)?.data;
        plan.data_set(data)?.on.and_then(|on| plan.file_system(on)).map(ground)
    };
    pairs.iter().filter(|pair| on(pair.arm) == on(pair.to)).cloned().collect()
}

pub(crate) fn overview(evidence: &Evidence<'_>) -> Option<Overview> {
    let plan = evidence.plan;
    // A single file system has no columns to compare.
    let first = ground(plan.file_systems.first().filter(|_| plan.file_systems.len() > 1)?);
    let column = |of: &LabFileSystem| OverviewColumn {
        name: of.name.clone(),
        label: of.label.clone(),
        kind: of.kind.clone(),
        driver: of.driver.clone(),
        ground: ground(of),
        comparable: ground(of) == first,
    };
    let columns: Vec<OverviewColumn> = plan.file_systems.iter().map(column).collect();
    let arms = arms_by_row(plan, columns.len());
    let judged = judged(evidence);
    // Rows first, then the pairs over all rows, then the marks: each needs the step before.
    let rows: Vec<OverviewRow> = arms.iter().map(|row| of_row(evidence, row, &judged)).collect();
    let overall = overall(evidence, &columns, &rows);
    let mut overview = Overview { columns, rows, overall };
    rows::set(evidence, &mut overview);
    Some(overview)
}

/// The group of file systems has the same pairs as the overview. Its verdicts are computed by the same
/// function, so that cell and group never disagree.
fn judged(evidence: &Evidence<'_>) -> BTreeMap<ArmId, Outcome> {
    let group = evidence.plan.groups.iter().find(|group| group.name == FILE_SYSTEM_GROUP);
    let Some(GroupRule::Pairs { pairs }) = group.map(|group| &group.rule) else { return BTreeMap::new() };
    let rows = read_file_systems(evidence, &comparable(evidence.plan, pairs)).rows;
    rows.into_iter().map(|row| (row.pair.arm, row.outcome)).collect()
}

fn of_row(evidence: &Evidence<'_>, row: &RowArms<'_>, judged: &BTreeMap<ArmId, Outcome>) -> OverviewRow {
    let time = |arm: ArmId| Figure::median_of(&evidence.rounds.times(arm), evidence.confidence());
    let cell = |arm: &Option<ArmId>| {
        let arm = (*arm)?;
        let against_first = judged.get(&arm).cloned();
        Some(OverviewCell { arm, time_ns: time(arm)?, best: false, against_first })
    };
    let cells = row.arms.iter().map(cell).collect();
    let (section, label, counts) = named(row.first);
    OverviewRow { section, label, counts, cells, fastest: None }
}

fn overall(evidence: &Evidence<'_>, columns: &[OverviewColumn], rows: &[OverviewRow]) -> Vec<Overall> {
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    let mut family: Vec<Vec<Vec<f64>>> = Vec::new();
    // Each pair once. Pairs on different storage are not members of the family.
    for of in 1..columns.len() {
        for than in (0..of).filter(|than| columns[*than].ground == columns[of].ground) {
            let arms = common(evidence, rows, of, than);
            if !arms.is_empty() {
                found.push((of, than, arms.len()));
                family.push(mean_log_ratios(evidence, &arms));
            }
        }
    }
    let judged = megadir_stats::judge_family_of_epochs(&family, evidence.judging());
    let outcomes = family.iter().zip(judged).map(|(logs, judgement)| outcome(&logs.concat(), judgement));
    let overall = |((of, than, rows), outcome)| Overall { of, than, rows, outcome, faster: None };
    found.into_iter().zip(outcomes).map(overall).collect()
}

/// In the rows that count and that both have, without arms that did other work.
fn common(evidence: &Evidence<'_>, rows: &[OverviewRow], of: usize, than: usize) -> Vec<(ArmId, ArmId)> {
    let arms = rows.iter().filter(|row| row.counts).filter_map(|row| {
        let arm = |column: usize| Some(row.cells.get(column)?.as_ref()?.arm);
        Some((arm(of)?, arm(than)?))
    });
    arms.filter(|(of, than)| evidence.is_equal(*of) && evidence.is_equal(*than)).collect()
}

/// In each round the mean of the logarithms over all kinds of work. A round counts only if it has all of
/// them, since a mean over other rows would be another quantity. One series per epoch.
fn mean_log_ratios(evidence: &Evidence<'_>, arms: &[(ArmId, ArmId)]) -> Vec<Vec<f64>> {
    let mut epochs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for key in evidence.rounds.keys() {
        let ratio = |(of, than): &(ArmId, ArmId)| {
            let time = |arm: ArmId| evidence.rounds.time(arm, key).filter(|ns| *ns > 0.0);
            Some((time(*of)? / time(*than)?).ln())
        };
        if let Some(logs) = arms.iter().map(ratio).collect::<Option<Vec<f64>>>() {
            epochs.entry(key.0).or_default().push(logs.iter().sum::<f64>() / logs.len() as f64);
        }
    }
    epochs.into_values().collect()
}
