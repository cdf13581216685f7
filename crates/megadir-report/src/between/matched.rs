//! Matches arms of several records by name, work, data and cache, never by index.
//!
//! An index is a place in one plan and means something else in the next one. Arms with equal names may
//! still do different work in another version, so work, data and cache state are compared too.

use std::collections::{BTreeSet, HashMap};

use megadir_record::{Arm, Data, DataSource, Record, Role, Work};

use super::{NEW, OLD, Run};
use crate::summary::Rounds;

/// Runs of one side of the comparison.
pub(super) struct Side<'a> {
    name: &'static str,
    pub(super) runs: &'a [Run<'a>],
    pub(super) rounds: Vec<Rounds<'a>>,
}

impl<'a> Side<'a> {
    pub(super) fn new(name: &'static str, runs: &'a [Run<'a>]) -> Self {
        Self { name, runs, rounds: runs.iter().map(|run| run.report.rounds()).collect() }
    }

    pub(super) fn name_of(&self, run: &Run<'_>) -> String {
        if self.runs.len() == 1 { self.name.into() } else { format!("{} '{}'", self.name, run.name) }
    }

    /// Times of an arm in each run that has it, in nanoseconds an operation.
    pub(super) fn times(&self, planned_arms: &[Option<&Arm>]) -> Vec<Vec<f64>> {
        let there = self.rounds.iter().zip(planned_arms);
        there.filter_map(|(rounds, planned)| planned.map(|planned| rounds.times(planned.id))).collect()
    }
}

/// One arm across all runs. `planned` and `of` are of the first run that has it, with which the others are
/// compared.
pub(super) struct Matched<'a> {
    pub(super) planned: &'a Arm,
    of: &'a Record,
    /// One for each run of the old and the new side.
    pub(super) arms: [Vec<Option<&'a Arm>>; 2],
}

impl<'a> Matched<'a> {
    pub(super) fn is_in(&self, side: usize) -> bool {
        self.arms[side].iter().any(Option::is_some)
    }

    /// Runs that have the arm, with their rounds.
    pub(super) fn runs<'s>(
        &'s self,
        sides: &'s [Side<'a>; 2],
    ) -> impl Iterator<Item = (&'s Run<'a>, &'s Rounds<'a>, &'a Arm)> {
        let all = sides.iter().zip(&self.arms);
        let all = all.flat_map(|(side, arms)| side.runs.iter().zip(&side.rounds).zip(arms));
        all.filter_map(|((run, rounds), planned)| Some((run, rounds, (*planned)?)))
    }
}

/// New runs first, in their order; without baselines against themselves, which describe a run, not a version.
pub(super) fn arms<'a>(sides: &[Side<'a>; 2]) -> Vec<Matched<'a>> {
    let mut arms: Vec<Matched<'a>> = Vec::new();
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    let of_side = |side: usize| sides[side].runs.iter().enumerate().map(move |(at, run)| (side, at, run));
    for (side, at, run) in of_side(NEW).chain(of_side(OLD)) {
        let record = &run.report.record;
        for planned in record.header.plan.arms.iter().filter(|planned| planned.role != Role::Control) {
            // By name first: comparing the work of all arms with all others would be quadratic, and plans
            // have hundreds.
            let places = named.entry(planned.name.as_str()).or_default();
            let fits = |place: &usize| {
                // A run may have two arms of one name in different states; each takes the first match that
                // is still free.
                let known = &arms[*place];
                known.arms[side][at].is_none() && same((known.of, known.planned), (record, planned))
            };
            let place = places.iter().copied().find(fits).unwrap_or_else(|| {
                let none = [OLD, NEW].map(|side| vec![None; sides[side].runs.len()]);
                arms.push(Matched { planned, of: record, arms: none });
                places.push(arms.len() - 1);
                arms.len() - 1
            });
            arms[place].arms[side][at] = Some(planned);
        }
    }
    arms
}

/// The same number of entries, and the same names if the directory existed before: the summary checks each run against its own plan only.
/// Two runs that each did equal work may still have listed different directories.
pub(super) fn saw_the_same<'a>(arm: &Matched<'a>, sides: &[Side<'a>; 2]) -> bool {
    // Its number of entries is the result, not the work.
    if matches!(arm.planned.work, Work::FillUntilRefused { .. }) {
        return true;
    }
    let entries = arm.runs(sides).filter_map(|(_, rounds, planned)| {
        let seen = rounds.samples(planned.id).map(|sample| sample.counted.entries);
        Some(seen.collect::<BTreeSet<u64>>()).filter(|seen| !seen.is_empty())
    });
    let names = arm.runs(sides).filter_map(|(run, _, planned)| {
        let data = run.report.record.header.plan.data_set(planned.data)?;
        // Generated names follow from a seed, which may differ between runs on purpose.
        data.hash.filter(|_| matches!(data.source, DataSource::Existing { .. }))
    });
    all_equal(entries) && all_equal(names)
}

fn all_equal<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    values.next().is_none_or(|first| values.all(|value| value == first))
}

fn same((left_record, left): (&Record, &Arm), (right_record, right): (&Record, &Arm)) -> bool {
    let of = |planned: &Arm| (planned.cache, planned.rate_per_s, planned.operations, work(planned));
    let data = (left_record.header.plan.data_set(left.data), right_record.header.plan.data_set(right.data));
    let alike = |left: &Data, right: &Data| left.entries == right.entries && left.source == right.source;
    left.name == right.name
        && of(left) == of(right)
        && matches!(data, (Some(left), Some(right)) if alike(left, right))
}

/// Work without the fields that are results or facts of one run: predictions, expected numbers, versions of
/// programs. The last may differ, since a comparison is often made for that.
fn work(planned: &Arm) -> Work {
    let mut work = planned.work.clone();
    match &mut work {
        Work::FillUntilRefused { predicted, .. } => *predicted = None,
        Work::Attributes { expected, .. } => *expected = None,
        Work::Command(work) => (work.expected, work.version) = (None, None),
        _ => {}
    }
    work
}
