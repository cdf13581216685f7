//! A section for each group of arms: its findings, its pictures, its table, and the published figures beside ours.

use super::Page;
use super::table::push_grid;
use crate::render::{OPERATIONS_TITLE, Report, group_grid, operations_grid};
use crate::summary::{GroupSummary, Summary};
use crate::text;
use megadir_record::Published;

/// So many pictures of the times of single operations are in a page: those of hundreds of arms nobody looks through.
const NINES_MAX: usize = 3;

/// Adds the sections of all groups, and that of single operations.
pub(super) fn sections(page: &mut Page, report: &Report<'_>) {
    let summary = report.summary;
    let main = summary.findings.iter().find(|finding| !finding.loud);
    for group in &summary.groups {
        page.element("h2", &group.title);
        let of_group =
            |finding: &&crate::Finding| !finding.loud && finding.group.as_ref() == Some(&group.name);
        let findings = summary.findings.iter().filter(of_group).filter(|finding| Some(*finding) != main);
        page.list(findings.map(|finding| finding.text.clone()));
        while page.picture(|picture| picture.group.as_ref() == Some(&group.name)) {}
        match group_grid(summary, group) {
            Some(grid) => push_grid(page, &grid, false),
            None => page.paragraph("This group cannot be read; what stands at the top says why."),
        }
        published(page, summary, Some(group));
    }
    published(page, summary, None);
    while page.picture(|picture| {
        picture.chart == "main-effects" || picture.chart == "scaling" || picture.chart == "overview"
    }) {}
    if let Some(grid) = operations_grid(summary) {
        page.element("h2", OPERATIONS_TITLE);
        for _ in 0..NINES_MAX {
            page.picture(|picture| picture.chart == "nines");
        }
        let more = page.leave_out(|picture| picture.chart == "nines");
        if more > 0 {
            page.paragraph(&format!(
                "{more} more such pictures, of the other arms, by `megadir bench report RECORD --format svg --chart nines:N`, N from {} on.",
                NINES_MAX + 1
            ));
        }
        while page.picture(|picture| picture.chart == "stalls") {}
        page.push("<details>\n<summary>All quantiles</summary>\n");
        push_grid(page, &grid, true);
        page.push("</details>\n");
    }
}

/// Adds the published figures of a group, or of none, beside ours.
fn published(page: &mut Page, summary: &Summary, group: Option<&GroupSummary>) {
    let name = group.map(|group| &group.name);
    let figures: Vec<&Published> =
        summary.published.iter().filter(|figure| figure.group.as_ref() == name).collect();
    if figures.is_empty() {
        return;
    }
    page.element("h3", "Published, and here");
    let value = |figure: &Published| match figure.unit.as_str() {
        "ratio" => text::ratio(figure.value, None),
        unit if figure.value >= 1e4 && figure.value.fract() == 0.0 => {
            format!("{} {unit}", text::count(figure.value as u64))
        }
        unit => format!("{} {}", figure.value, if unit == "us" { "µs" } else { unit }),
    };
    page.list(
        figures
            .iter()
            .map(|figure| format!("Published, on another machine: {}: {}.", figure.what, value(figure))),
    );
    let ours = summary.findings.iter().find(|finding| !finding.loud && finding.group.as_ref() == name);
    if let Some(ours) = ours {
        page.paragraph(&format!("Here: {}", ours.text));
    }
}
