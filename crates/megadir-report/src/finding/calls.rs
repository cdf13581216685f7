//! Finding on system calls: how time changes with fewer calls, all else being equal.

use super::{Finding, FindingKind};
use crate::summary::{CallsContrast, GroupReading, Summary};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let told = summary.groups.iter().filter_map(|group| {
        let GroupReading::Compare(comparison) = &group.reading else { return None };
        let text = tell(summary, comparison.calls.as_ref()?);
        Some(Finding::of_group(FindingKind::Calls, &group.name, text))
    });
    told.collect()
}

fn tell(summary: &Summary, contrast: &CallsContrast) -> String {
    let CallsContrast { most, most_calls, fewest, fewest_calls, ratio } = contrast;
    let band = 1.0 + summary.rules.equivalence_band;
    let says = match ratio.interval {
        Some(interval) if interval.low * band > 1.0 && interval.high < band => {
            "that makes a negligible difference in time, if any"
        }
        Some(interval) if interval.high < 1.0 => "the fewer calls take less time",
        Some(interval) if interval.low > 1.0 => "the fewer calls take more time, not less",
        Some(_) => "that makes no difference in time that this run can show",
        None => "so few rounds do not show if that makes a difference in time",
    };
    format!(
        "On {}, {} lists the directory in {}, {} in {}: {says} ({}).",
        summary.place(*fewest),
        summary.arm_name(*fewest),
        text::counted(*fewest_calls, "call"),
        summary.arm_name(*most),
        text::count(*most_calls),
        text::ratio(ratio.value, ratio.interval)
    )
}
