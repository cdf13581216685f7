//! Finding on equal work: loud, and printed before all others.

use megadir_record::Work;

use super::{Finding, FindingKind};
use crate::summary::{Arm, GroupReading, GroupSummary, Mismatch, Summary, WorkCheck};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let arms = summary.arms.iter().filter_map(unequal);
    arms.chain(summary.groups.iter().filter_map(unreadable)).collect()
}

fn unequal(arm: &Arm) -> Option<Finding> {
    let WorkCheck::Unequal(mismatch) = &arm.work else { return None };
    if let Work::Command(_) = arm.cell.work {
        return Some(of_program(arm, mismatch));
    }
    let text = format!(
        "`{}` did NOT {} in {}: {}. Its times are not compared with any.",
        arm.cell.name,
        match (arm.cell.work.lists(), mismatch.recorded) {
            (false, _) => "find exactly the names that exist",
            (true, true) => "list its data set",
            (true, false) => "do the same work as the other arms",
        },
        text::counted(mismatch.rounds as u64, "round"),
        if arm.cell.work.lists() { first(mismatch) } else { looked_up(mismatch) }
    );
    Some(Finding { kind: FindingKind::Work, group: None, loud: true, text })
}

/// Finding on a program whose result changed during the run.
fn of_program(arm: &Arm, mismatch: &Mismatch) -> Finding {
    let expected = mismatch.entries_expected.map(text::count).unwrap_or_default();
    let text = format!(
        "`{}` did NOT have the result of the run's first command in {}: in round {} it had {} lines or entries, and {expected} are expected. Its times are not compared with any.",
        arm.cell.name,
        text::counted(mismatch.rounds as u64, "round"),
        mismatch.first_round,
        text::count(mismatch.entries),
    );
    Finding { kind: FindingKind::Work, group: None, loud: true, text }
}

fn looked_up(mismatch: &Mismatch) -> String {
    let round = mismatch.first_round;
    match mismatch.entries_expected {
        Some(0) => format!("in round {round} it found names that were never created"),
        _ => format!("in round {round} it did not find all names that were created"),
    }
}

fn first(mismatch: &Mismatch) -> String {
    let saw = format!("in round {} it saw {}", mismatch.first_round, text::entries(mismatch.entries));
    match mismatch.entries_expected {
        Some(there) if mismatch.recorded && there == mismatch.entries => {
            format!("{saw}, as many as there are, but with other names")
        }
        Some(there) if mismatch.recorded => format!("{saw} where there are {}", text::count(there)),
        Some(others) if others == mismatch.entries => {
            format!("{saw}, as many as the others, but with other names")
        }
        Some(others) => format!("{saw} where the others saw {}", text::count(others)),
        None => format!("{saw}, and the arms do not agree on what there was"),
    }
}

fn unreadable(group: &GroupSummary) -> Option<Finding> {
    let GroupReading::Unreadable { reason } = &group.reading else { return None };
    let text = format!("The group `{}` cannot be read: {reason}.", group.name);
    Some(Finding { kind: FindingKind::Work, group: Some(group.name.clone()), loud: true, text })
}
