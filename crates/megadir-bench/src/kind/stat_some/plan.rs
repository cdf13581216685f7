//! Arms and groups of a study of the break-even: the fraction of files above which listing a directory costs
//! less than a stat of each.

use megadir_record::{BreakEvenArms, CellId, DataId, Group, GroupRule, Work};

use crate::kind::arms::Arms;
use crate::kind::stat_all::{ascending, baseline, work_of};
use crate::kind::stat_some::StatSomeSpec;
use crate::note::NoteKind;
use crate::request::{PlanError, Request};

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
