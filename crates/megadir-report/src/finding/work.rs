//! The rule about equal work: loud, and told before anything else.

use super::{Finding, FindingKind};
use crate::summary::{Arm, GroupReading, GroupSummary, Mismatch, Summary, WorkCheck};
use crate::text;

/// Tells of every arm that did other work, and of every group that cannot be read.
pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let arms = summary.arms.iter().filter_map(unequal);
    arms.chain(summary.groups.iter().filter_map(unreadable)).collect()
}

fn unequal(arm: &Arm) -> Option<Finding> {
    let WorkCheck::Unequal(mismatch) = &arm.work else { return None };
    let text = format!(
        "`{}` did NOT {} in {}: {}. Its times are not compared with any.",
        arm.cell.name,
        if mismatch.recorded { "list what its data set holds" } else { "do the same work as the other arms" },
        text::counted(mismatch.rounds as u64, "round"),
        first(mismatch)
    );
    Some(Finding { kind: FindingKind::Work, group: None, loud: true, text })
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
