//! Reading the attributes of some of a directory's files by name, compared with listing all of them.

mod run;

use megadir_record::{BreakEvenArms, CellId, DataId, Group, GroupRule, Work};
use serde::Deserialize;

use crate::kind::arms::Arms;
use crate::kind::stat_all::{ascending, baseline, work_of};
use crate::method::method_named;
use crate::note::NoteKind;
use crate::request::{PlanError, Request};

pub(crate) use run::{Ask, FILES_MAX};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatSomeSpec {
    pub title: String,
    /// Methods that list.
    pub list: Vec<String>,
    /// Fractions of the files to stat, ascending, at most 1.
    pub shares: Vec<f64>,
}

impl StatSomeSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.list.is_empty() {
            return Some("ask.list needs at least one method".into());
        }
        let shares = &self.shares;
        let bounds = shares.first().is_some_and(|first| *first > 0.0)
            && shares.last().is_some_and(|last| *last <= 1.0);
        if !(bounds && shares.is_sorted_by(|a, b| a < b)) {
            return Some("ask.shares must ascend from above 0 to at most 1".into());
        }
        self.list.iter().find_map(|name| method_named(name).err())
    }
}

const GROUP: &str = "break-even";

/// Adds arms that list and arms that stat, on every data set of `arms`, and the group that compares them.
pub(crate) fn asks(spec: &StatSomeSpec, request: &Request<'_>, arms: &mut Arms<'_>) -> Result<(), PlanError> {
    let mut lists: Vec<(&str, Work)> = Vec::new();
    for (place, name) in spec.list.iter().enumerate() {
        match work_of(request, name)? {
            Ok(work) => lists.push((name, work)),
            Err(reason) if place == baseline(&spec.list) => {
                return Err(PlanError::NoBaseline { name: name.clone(), reason });
            }
            Err(reason) => arms.note(NoteKind::ArmLeftOut, format!("method {name}: {reason}")),
        }
    }
    let sets = ascending(arms);
    let mut series = Vec::new();
    for &(entries, data) in &sets {
        let asks: Vec<CellId> = counts(&spec.shares, entries)
            .into_iter()
            .map(|files| arms.arm(GROUP, data, &Work::Ask { files }))
            .collect();
        let largest = Some(&(entries, data)) == sets.last();
        for (place, (name, work)) in lists.iter().enumerate() {
            let list = list(arms, data, work, largest && place == 0);
            series.push(BreakEvenArms { name: name_of(name, work), list, asks: asks.clone() });
        }
    }
    let rule = GroupRule::BreakEven { series };
    arms.groups.push(Group::new(GROUP, &spec.title, true, rule));
    Ok(())
}

/// Returns the listing arm; a baseline also gets an A/A arm.
fn list(arms: &mut Arms<'_>, data: DataId, work: &Work, baseline: bool) -> CellId {
    if !baseline {
        return arms.arm(GROUP, data, work);
    }
    let id = arms.baseline(data, work.clone());
    arms.join(id, GROUP);
    arms.join(CellId(id.0 + 1), GROUP);
    id
}

fn name_of(name: &str, work: &Work) -> String {
    match work {
        Work::Attributes { threads, .. } if *threads > 1 => format!("{name}, {threads} threads"),
        _ => name.to_owned(),
    }
}

/// Converts fractions of a directory to distinct numbers of files, ascending.
fn counts(shares: &[f64], entries: u64) -> Vec<u64> {
    let count = |share: &f64| ((entries as f64 * share).round() as u64).clamp(1, entries.max(1));
    let mut counts: Vec<u64> = shares.iter().map(count).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn shares_become_numbers_of_files_each_once() {
        let shares = [0.001, 0.003, 0.01, 0.1, 1.0];
        assert_eq!(counts(&shares, 100_000), [100, 300, 1000, 10_000, 100_000]);
        assert_eq!(counts(&shares, 100), [1, 10, 100]);
        assert_eq!(counts(&shares, 1), [1]);
    }
}
