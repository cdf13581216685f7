//! The rule about calls: what asking less often does to the time, all else being the same.

use super::{Finding, FindingKind};
use crate::summary::{CallsContrast, GroupReading, Summary};
use crate::text;

/// Tells of the number of calls in every comparison whose arms differ in it.
pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let told = summary.groups.iter().filter_map(|group| match &group.reading {
        GroupReading::Compare(comparison) => {
            let text = tell(summary, comparison.calls.as_ref()?);
            Some(Finding::of_group(FindingKind::Calls, &group.name, text))
        }
        GroupReading::Decompose(_) | GroupReading::Grow(_) | GroupReading::Unreadable { .. } => None,
    });
    told.collect()
}

fn tell(summary: &Summary, contrast: &CallsContrast) -> String {
    let CallsContrast { most, most_calls, fewest, fewest_calls, ratio } = contrast;
    let says = match ratio.interval {
        Some(interval) if interval.high < 1.0 => "less time",
        Some(interval) if interval.low > 1.0 => "more time, not less",
        Some(_) => "no difference in time that this run can show",
        None => "a time that too few rounds were measured to judge",
    };
    format!(
        "On {}, {} makes {} to list the directory and {} {}: {} ({}).",
        summary.machine.file_system.kind,
        summary.arm_name(*most),
        text::counted(*most_calls, "call"),
        summary.arm_name(*fewest),
        text::count(*fewest_calls),
        says,
        text::ratio(ratio.value, ratio.interval)
    )
}
