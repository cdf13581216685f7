//! Matches arms of several records by name, work, data and cache, never by index.

use std::collections::{BTreeSet, HashMap};

use megadir_record::{Arm, Data, DataSource, Record, Role, Work};

use super::Run;
use crate::summary::Rounds;

pub(super) struct Side<'a> {
    pub(super) runs: &'a [Run<'a>],
    pub(super) rounds: Vec<Rounds<'a>>,
}

impl<'a> Side<'a> {
    pub(super) fn of(runs: &'a [Run<'a>]) -> Self {
        Self { runs, rounds: runs.iter().map(|run| run.report.rounds()).collect() }
    }

    pub(super) fn times(&self, planned_arms: &[Option<&Arm>]) -> Vec<Vec<f64>> {
        let there = self.rounds.iter().zip(planned_arms);
        there.filter_map(|(rounds, planned)| planned.map(|planned| rounds.times(planned.id))).collect()
    }
}

pub(super) struct Matched<'a> {
    pub(super) planned: &'a Arm,
    of: &'a Record,
    pub(super) old: Vec<Option<&'a Arm>>,
    pub(super) new: Vec<Option<&'a Arm>>,
}

impl Matched<'_> {
    pub(super) fn is_on_both_sides(&self) -> bool {
        self.is_old() && self.is_new()
    }

    pub(super) fn is_old(&self) -> bool {
        self.old.iter().any(Option::is_some)
    }

    pub(super) fn is_new(&self) -> bool {
        self.new.iter().any(Option::is_some)
    }
}

/// New runs first, in their order; without baselines against themselves, which describe a run, not a version.
pub(super) fn arms<'a>(old: &'a [Run<'a>], new: &'a [Run<'a>]) -> Vec<Matched<'a>> {
    let mut arms: Vec<Matched<'a>> = Vec::new();
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    let all = (0..new.len()).map(|at| (false, at)).chain((0..old.len()).map(|at| (true, at)));
    for (is_old, at) in all {
        let record = if is_old { &old[at].report.record } else { &new[at].report.record };
        for planned in record.header.plan.arms.iter().filter(|planned| planned.role != Role::AgainstItself) {
            let places = named.entry(planned.name.as_str()).or_default();
            let is_free =
                |arm: &Matched<'_>| if is_old { arm.old[at].is_none() } else { arm.new[at].is_none() };
            let fits = |place: &usize| {
                is_free(&arms[*place]) && same((arms[*place].of, arms[*place].planned), (record, planned))
            };
            let place = places.iter().copied().find(fits).unwrap_or_else(|| {
                let (old, new) = (vec![None; old.len()], vec![None; new.len()]);
                arms.push(Matched { planned, of: record, old, new });
                places.push(arms.len() - 1);
                arms.len() - 1
            });
            let arm = &mut arms[place];
            *if is_old { &mut arm.old[at] } else { &mut arm.new[at] } = Some(planned);
        }
    }
    arms
}

/// The same number of entries, and the same names if the directory existed before: the summary checks each run
/// against its own plan only.
pub(super) fn saw_the_same(arm: &Matched<'_>, old: &Side<'_>, new: &Side<'_>) -> bool {
    if matches!(arm.planned.work, Work::FillUntilRefused { .. }) {
        return true;
    }
    let in_runs = || {
        let sides = [(old, &arm.old), (new, &arm.new)].into_iter();
        sides.flat_map(|(side, planned_arms)| side.runs.iter().zip(&side.rounds).zip(planned_arms))
    };
    let entries = in_runs().filter_map(|((_, rounds), planned)| {
        let seen = rounds.samples((*planned)?.id).map(|sample| sample.counted.entries);
        Some(seen.collect::<BTreeSet<u64>>()).filter(|seen| !seen.is_empty())
    });
    let names = in_runs().filter_map(|((run, _), planned)| {
        let data = run.report.record.header.plan.data_set((*planned)?.data)?;
        data.hash.filter(|_| matches!(data.source, DataSource::Existing { .. }))
    });
    all_equal(entries) && all_equal(names)
}

fn all_equal<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    values.next().is_none_or(|first| values.all(|value| value == first))
}

fn same((of_one, one): (&Record, &Arm), (of_other, other): (&Record, &Arm)) -> bool {
    let of = |planned: &Arm| (planned.cache, planned.rate_per_s, planned.operations, work(planned));
    let data = (of_one.header.plan.data_set(one.data), of_other.header.plan.data_set(other.data));
    let alike = |one: &Data, other: &Data| one.entries == other.entries && one.source == other.source;
    one.name == other.name
        && of(one) == of(other)
        && matches!(data, (Some(one), Some(other)) if alike(one, other))
}

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
