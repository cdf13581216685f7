//! Finding on directories made beforehand: the cost of making them, which write times do not include.

use megadir_record::{DataSource, FileOperation, Spread, Work};

use super::{Finding, FindingKind};
use crate::summary::{Arm, GroupSummary, Summary};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let tell = |group: &GroupSummary| {
        let arms = summary.arms.iter().filter(|arm| arm.cell.groups.contains(&group.name));
        let told: Vec<String> = arms.filter_map(|arm| made_before(summary, arm)).collect();
        (!told.is_empty()).then(|| {
            let text = format!("Making the directories beforehand took {}.", text::list(&told));
            Finding::of_group(FindingKind::Pair, &group.name, text)
        })
    };
    summary.groups.iter().filter_map(tell).collect()
}

/// Returns the time to make the directories of a data set beside the time to write its files.
fn made_before(summary: &Summary, arm: &Arm) -> Option<String> {
    let time_ns = median(arm, FileOperation::MakeDirectories)?;
    let mut of_data = summary.arms.iter().filter(|other| other.cell.data == arm.cell.data);
    let writing = of_data.find_map(|other| median(other, FileOperation::Create));
    let share = writing.filter(|ns| *ns > 0.0).map(|ns| time_ns / ns);
    let share = share.map(|share| format!(" ({} of writing)", text::percent(100.0 * share)));
    let of = layout(summary, arm).map(|layout| format!(" for `{layout}`")).unwrap_or_default();
    Some(format!("{} a file more{}{of}", text::time(time_ns), share.unwrap_or_default()))
}

/// Returns the median time per file of the matching arm, nanoseconds.
fn median(arm: &Arm, operation: FileOperation) -> Option<f64> {
    let does = matches!(&arm.cell.work, Work::Files(work) if work.operation == operation);
    arm.timing.as_ref().filter(|_| does).map(|timing| timing.time_ns.value)
}

fn layout<'a>(summary: &'a Summary, arm: &Arm) -> Option<&'a str> {
    let check = summary.data.iter().find(|check| check.data.id == arm.cell.data)?;
    match &check.data.source {
        DataSource::Made(made) => match &made.spread {
            Spread::Layout { layout } => Some(layout),
            _ => None,
        },
        DataSource::Existing { .. } => None,
    }
}
