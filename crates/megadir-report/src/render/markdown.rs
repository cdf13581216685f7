//! The full report in Markdown.
//!
//! Text of a record is cleaned before it becomes Markdown: a name with a bar or an angle bracket would end
//! a cell or start an element.

use super::data::use_lines;
use super::grid::{Align, Grid, Legends};
use super::machine::{
    cache_lines, families_line, file_system_lines, machine_details, machine_line, resolution_details,
    resolution_lines, run_line, self_check_line, stand_in_lines,
};
use super::paint::is_control;
use super::{groups, operations, overview, published};
use crate::report::Report;
use crate::text;
use crate::warning::{displayed, incomplete_line};

/// No address: the page is in every copy of the source.
pub(super) const READING: &str = "How to read this: `docs/how-to-read-a-report.md` of megadir.";

/// The complete report, in which nothing is left out for want of room: what the other text formats drop, they
/// refer to it for. Legends are printed once, however many tables share them.
pub fn markdown(report: &Report) -> String {
    let summary = &report.summary;
    // The order is the one of the other formats; each table is followed by the published figures of its
    // group.
    let mut legends = Legends::default();
    let mut page = format!("# {}\n\n", clean(&report.question()));
    findings(&mut page, report);
    if let Some(overview) = &summary.overview {
        page.push_str(&format!("## {}\n\n", overview::title(summary)));
        overview::legend(summary, overview).iter().for_each(|line| paragraph(&mut page, line));
        let each = overview::each_against_each(overview);
        // All columns of all tables: a page has no width.
        let tables = overview::tables(overview, usize::MAX).into_iter().chain(each);
        tables.for_each(|grid| push_grid(&mut page, &mut legends, &grid));
        paragraph(&mut page, overview::BARS);
        let lines = overview::lines(overview).join("\n").replace('`', "'");
        // Back quotes would end the block of code.
        page.push_str(&format!("```text\n{lines}\n```\n\n"));
    }
    titled(&mut page, &mut legends, published::SOURCE_TABLE_TITLE, published::grid_source_table(summary));
    for group in &summary.groups {
        page.push_str(&format!("## {}\n\n", clean(&group.title)));
        match groups::grid(summary, group) {
            Some(grid) => push_grid(&mut page, &mut legends, &grid),
            None => page.push_str("This group cannot be read; the findings say why.\n\n"),
        }
        let published = published::grid(summary, Some(group));
        published.iter().for_each(|grid| push_grid(&mut page, &mut legends, grid));
    }
    page.push_str("## Can the run be trusted?\n\n");
    resolution_lines(summary).iter().for_each(|line| paragraph(&mut page, line));
    let each = resolution_details(summary);
    if !each.is_empty() {
        paragraph(&mut page, &format!("Each: {}.", each.join("; ")));
    }
    families_line(summary).iter().for_each(|line| paragraph(&mut page, line));
    use_lines(summary).iter().for_each(|line| paragraph(&mut page, line));
    self_check_line(summary).iter().for_each(|line| paragraph(&mut page, line));
    warnings(&mut page, report);
    page.push_str("## All arms\n\n");
    push_grid(&mut page, &mut legends, &groups::arms(summary));
    titled(&mut page, &mut legends, operations::TITLE, operations::grid(summary));
    titled(&mut page, &mut legends, operations::HOSTS_TITLE, operations::grid_hosts(summary));
    method(&mut page, report);
    // Exactly one newline at the end, whatever the last part was.
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn findings(page: &mut String, report: &Report) {
    let incomplete = incomplete_line(&report.warnings);
    let lines = incomplete.into_iter().chain(stand_in_lines(&report.summary));
    lines.for_each(|line| page.push_str(&format!("* **{}**\n", clean(&line))));
    if report.has_alarm() {
        // The lines below are a list of findings; the alarm refers to the warnings after the tables.
        page.push_str("* **Do not use these numbers before reading the lines marked Warning below.**\n");
    }
    for finding in &report.findings {
        let text = clean(&finding.text);
        let text = if finding.loud { format!("**{text}**") } else { text };
        page.push_str(&format!("* {text}\n"));
    }
    page.push('\n');
    paragraph(page, &run_line(report));
    cache_lines(&report.summary).iter().for_each(|(_, line)| paragraph(page, line));
    page.push_str(&format!("{READING}\n\n"));
}

fn warnings(page: &mut String, report: &Report) {
    if report.warnings.is_empty() {
        page.push_str("No warnings.\n\n");
        return;
    }
    for warning in displayed(&report.warnings) {
        let mark = if warning.loud { "**Warning:** " } else { "" };
        page.push_str(&format!("* {mark}{}\n", clean(&warning.text)));
        if !warning.each.is_empty() {
            page.push_str(&format!("  Each: {}.\n", clean(warning.each.join("; ").trim_end_matches('.'))));
        }
    }
    page.push('\n');
}

fn method(page: &mut String, report: &Report) {
    let summary = &report.summary;
    page.push_str("## Method\n\n");
    let lists = [
        ("Source", vec![report.record.header.plan.source.clone()]),
        ("Reproduced", summary.reproduces.clone()),
        ("Fixed", summary.fixes.clone()),
    ];
    for (heading, lines) in lists {
        lines.iter().for_each(|line| page.push_str(&format!("* {heading}: {}\n", clean(line))));
    }
    page.push_str(&format!(
        "* Rounds: every arm once in each, in random order; ratios and differences are taken within rounds. Equivalence band {}.\n",
        text::chosen(summary.rules.equivalence_band)
    ));
    page.push_str(&format!("* Repeat: `{}`\n\n", clean(&summary.command.join(" ")).replace('`', "'")));
    let published = published::sentence(summary, None);
    published.iter().for_each(|published| paragraph(page, published));
    file_system_lines(summary).iter().for_each(|line| paragraph(page, line));
    paragraph(page, &machine_line(summary));
    machine_details(summary).iter().for_each(|line| paragraph(page, line));
    let mitigations = &summary.machine.mitigations;
    if !mitigations.is_empty() {
        paragraph(page, &format!("Mitigations: {}.", mitigations.join("; ")));
    }
}

fn titled(page: &mut String, legends: &mut Legends, title: &str, grid: Option<Grid>) {
    if let Some(grid) = grid {
        page.push_str(&format!("## {title}\n\n"));
        push_grid(page, legends, &grid);
    }
}

pub(crate) fn paragraph(page: &mut String, text: &str) {
    page.push_str(&clean(text));
    page.push_str("\n\n");
}

pub(crate) fn push_grid(page: &mut String, legends: &mut Legends, grid: &Grid) {
    let mut row = |fields: Vec<String>| page.push_str(&format!("| {} |\n", fields.join(" | ")));
    row(grid.columns.iter().map(|column| clean(&column.heading)).collect());
    let rule = |align: Align| if align == Align::Right { "--:" } else { ":--" };
    row(grid.columns.iter().map(|column| rule(column.align).into()).collect());
    for fields in &grid.rows {
        let mut fields: Vec<String> = fields.iter().map(|field| clean(&field.text)).collect();
        // Rows that are headings have fewer fields than the table.
        fields.resize(grid.columns.len(), String::new());
        row(fields);
    }
    page.push('\n');
    legends.unprinted(&grid.legend).iter().for_each(|legend| paragraph(page, legend));
}

/// Characters that would end a field or a line, or start markup.
pub(crate) fn clean(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(is_control, " ")
}
