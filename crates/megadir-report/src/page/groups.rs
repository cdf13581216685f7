//! One section a group: its findings, charts, table, and the published figures.

use super::Page;
use super::table::{every, push_grid};
use crate::chart::Picture;
use crate::render::{OPERATIONS_TITLE, PUBLISHED_TITLE, group_grid, operations_grid, published_grid};
use crate::report::Report;
use crate::summary::GroupSummary;

/// If there are more groups than this, each has its main chart only.
const GROUPS_MAX: usize = 12;
/// Number of charts of single operations in a page.
const NINES_MAX: usize = 3;

/// Adds the sections of all groups and of single operations.
pub(super) fn sections(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    let first = report.first_findings();
    let many = summary.groups.len() > GROUPS_MAX;
    for group in &summary.groups {
        page.element("h2", &group.title);
        let of_group =
            |finding: &&crate::Finding| !finding.loud && finding.group.as_ref() == Some(&group.name);
        let findings = report.findings.iter().filter(of_group).filter(|finding| !first.contains(finding));
        page.list(findings.map(|finding| finding.text.clone()));
        let of_group = |picture: &Picture| picture.group.as_ref() == Some(&group.name);
        if many {
            page.picture(of_group);
            page.leave_out(of_group);
        } else {
            while page.picture(of_group) {}
        }
        match group_grid(summary, group) {
            Some(_) if page.is_full() => {
                page.paragraph("Its table is omitted to keep the page small; `--format markdown` has it.");
            }
            Some(grid) => push_grid(page, &grid, false),
            None => page.paragraph("This group cannot be read; the findings at the top say why."),
        }
        published(page, report, Some(group));
    }
    published(page, report, None);
    while page.picture(|picture| picture.chart == "main-effects" || picture.chart == "scaling") {}
    if let Some(grid) = operations_grid(summary) {
        page.element("h2", OPERATIONS_TITLE);
        for _ in 0..NINES_MAX {
            page.picture(|picture| picture.chart == "nines");
        }
        page.leave_out(|picture| picture.chart == "nines");
        while page.picture(|picture| picture.chart == "stalls") {}
        every(page, "All quantiles", &grid);
    }
}

/// Adds the published figures of a group (`None`: of no group) next to the run's figures.
fn published(page: &mut Page, report: &Report, group: Option<&GroupSummary>) {
    let Some(grid) = published_grid(&report.summary, group) else { return };
    page.element("h3", PUBLISHED_TITLE);
    let matched = grid.rows.iter().any(|row| row.get(2).is_some_and(|here| !here.text.is_empty()));
    push_grid(page, &grid, false);
    // If no figure is comparable, a finding explains that.
    let of_group = |finding: &&crate::Finding| finding.group.as_ref() == group.map(|group| &group.name);
    let ours = report.findings.iter().filter(|finding| !finding.loud).find(of_group);
    if let Some(ours) = ours.filter(|_| !matched) {
        page.paragraph(&format!("Here: {}", ours.text));
    }
}
