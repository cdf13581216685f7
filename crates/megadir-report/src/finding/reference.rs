//! Finding on the reference file system: if it is too noisy to compare others with, this comes first.

use super::{Finding, FindingKind};
use crate::summary::{Figure, OverviewRow, Summary};
use crate::text;
use crate::warning::{Wide, wide};

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let Some(overview) = &summary.overview else { return Vec::new() };
    let others: Vec<usize> = overview.comparable().filter(|column| *column != 0).collect();
    let wide_at = |row: &OverviewRow| {
        let reference = row.cells.first()?.as_ref()?;
        let time = |column: &usize| row.cells.get(*column)?.as_ref().map(|cell| cell.time_ns);
        let times: Vec<Figure> = others.iter().filter_map(time).collect();
        // Without other columns nothing is measured against it.
        let wide = wide(summary, reference.arm, &times).filter(|_| !times.is_empty())?;
        Some((summary.arm_name(reference.arm), wide))
    };
    let all: Vec<(&str, Wide)> = overview.rows.iter().filter_map(wide_at).collect();
    let by_width =
        |a: &&(&str, Wide), b: &&(&str, Wide)| a.1.half_width_percent.total_cmp(&b.1.half_width_percent);
    let (Some((arm, worst)), Some(column)) = (all.iter().max_by(by_width), overview.columns.first()) else {
        return Vec::new();
    };
    let own = text::percent(worst.half_width_percent);
    let known = match worst.others_percent {
        None => format!("which against itself is known only to {own}"),
        Some(others) => {
            format!(
                "whose time is known only to {own}, while the others are known to {}",
                text::percent(others)
            )
        }
    };
    let text = format!(
        "{} is too noisy to serve as a reference in {} of {} kinds of work; the worst is `{arm}`, {known}. Do not use \
         ratios to it there, nor the result over all kinds of work: name another {} first ({}), or see the notes.",
        column.label,
        all.len(),
        overview.rows.len(),
        summary.place_word(),
        if summary.compares_volumes() { "--dir" } else { "--fs" },
    );
    vec![Finding { kind: FindingKind::FileSystems, group: None, loud: true, text }]
}
