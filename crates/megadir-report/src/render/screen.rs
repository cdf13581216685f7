//! First screen of a report: question, answer, table, main warnings, in [`LINES_MAX`] lines of [`WIDTH_MAX`] columns.
//!
//! A run ends with this screen, and many readers see nothing else. So an alarm is never cut, no sentence is
//! cut in the middle, and a table is shortened with the number of rows that it lacks.

use super::grid::{Bars, Grid, SHARE, Text};
use super::machine::{cache_lines, stand_in_lines};
use super::paint::{Tone, fitting, wrap};
use super::table::Page;
use super::{Style, groups, overview};
use crate::report::Report;
use crate::summary::GroupSummary;
use crate::text;
use crate::warning::{Advisory, DisplayedWarning, Warning, displayed, disturbance, incomplete_line};

/// 25, less the lines in which the program names the record and the page.
pub const LINES_MAX: usize = 22;
pub const WIDTH_MAX: usize = 80;
/// Notes and alarms together; more are counted in the last line.
const WARNINGS_MAX: usize = 3;
const DISTURBED: &str = "Other work disturbed this run: stop it and run again.";
/// Lines of all answers.
const ANSWER_MAX: usize = 6;
/// Fewer rows are no table, and a title needs at least this many below it.
const ROWS_MIN: usize = 2;
const ROWS_FIRST: usize = 5;
/// Lines of a table in addition to its rows: a gap, the names of the columns, the number of missing rows.
const TABLE_FRAME: usize = 3;
const SMALL_PRINT_MAX: usize = 2;
/// Lines: reason and remedy. Whole sentences only.
const ALARM_MAX: usize = 5;

/// The screen has a fixed number of lines, and its parts compete for them. Alarms and the answer come first
/// and are never dropped. The notes at the bottom are measured before the table is written, with one line
/// each, and the table gets the room between. If lines remain after that, the notes are written out in full.
///
/// ```text
/// alarms, question, answer | table: the room that is left | notes (as many as fit), caches, the omitted parts
/// ```
pub fn screen(report: &Report, width: usize, style: Style) -> String {
    let width = width.min(WIDTH_MAX);
    let mut top = Page::new(width, style);
    let warnings = displayed(&report.warnings);
    top.each_within(incomplete_line(&report.warnings), "! ", Tone::Alarm, 1);
    let alarms = alarms(&mut top, report, &warnings);
    top.paragraph(&report.question(), "", Tone::Heading);
    let mut left = ANSWER_MAX;
    // The second answer gets the lines that the first one leaves.
    for finding in report.first_findings() {
        if left > 0 {
            left = left.saturating_sub(top.sentences(&finding.text, "", Tone::Plain, left));
        }
    }
    // No line was used, so there was no answer.
    if left == ANSWER_MAX {
        top.paragraph(&report.without_answer(), "", Tone::Plain);
    }

    let quiet: Vec<&DisplayedWarning> =
        warnings.iter().filter(|warning| !warning.loud && !warning.is_incomplete).collect();
    top.each_within(overview::differences_line(&report.summary), "", Tone::Plain, SMALL_PRINT_MAX);
    top.each_within(overview::omitted_lines(&report.summary), "", Tone::Plain, 1);
    let table = main_table(report);
    let states = states_named(report, &top, table.as_ref());
    // A gap before the notes only if the top leaves room.
    let has_gap = top.lines() + SMALL_PRINT_MAX < LINES_MAX;
    let bottom = |notes: usize, lines_each: usize| {
        let mut page = Page::new(width, style);
        if has_gap {
            page.gap();
        }
        let texts = quiet.iter().take(notes).map(|warning| &warning.text);
        page.each_within(texts, "Note: ", Tone::Plain, lines_each);
        page.paragraphs(&states, "", Tone::Faint);
        page.paragraph(&rest(report, quiet.len() - notes), "", Tone::Faint);
        page
    };
    let notes_max = quiet.len().min(WARNINGS_MAX - alarms);
    let fits = |page: &Page, lines: usize| page.lines() + lines <= LINES_MAX;
    // The first note may shorten the table, further notes may not.
    let least = |notes: usize| match &table {
        Some((_, grid)) if notes > 1 => grid.rows.len().min(ROWS_FIRST) + TABLE_FRAME,
        _ => 0,
    };
    let may_be = |notes: &usize| fits(&bottom(*notes, 1), top.lines() + least(*notes));
    let notes = (0..=notes_max).rev().find(may_be).unwrap_or(0);
    let small = bottom(notes, 1);
    let room = LINES_MAX.saturating_sub(top.lines() + small.lines());
    if let Some((title, grid)) = table {
        // A title that repeats the question is left out.
        let title = Some(title).filter(|title| *title != report.record.header.plan.question);
        push_table(&mut top, title, grid, room);
    }
    let large = bottom(notes, SMALL_PRINT_MAX);
    top.append(if fits(&large, top.lines()) { &large } else { &small });
    top.text
}

/// Warnings that make the numbers unusable, the cause first if it is known; returns their number.
fn alarms(page: &mut Page, report: &Report, warnings: &[DisplayedWarning]) -> usize {
    page.each_within(stand_in_lines(&report.summary), "! ", Tone::Alarm, SMALL_PRINT_MAX);
    // If the baseline differs from its double and the run noted other work, that work is named as the
    // cause.
    let false_control =
        |advisory: &Advisory| advisory.loud && matches!(advisory.warning, Warning::ControlDiffers { .. });
    let is_disturbed =
        report.warnings.iter().any(|advisory| matches!(advisory.warning, Warning::Disturbed { .. }));
    if !is_disturbed && disturbance(&report.warnings).is_some() && report.warnings.iter().any(false_control) {
        page.sentences(DISTURBED, "! ", Tone::Alarm, 1);
    }
    let findings = report.findings.iter().filter(|finding| finding.loud).take(WARNINGS_MAX);
    page.each_within(findings.map(|finding| &finding.text), "! ", Tone::Alarm, ALARM_MAX);
    let loud = warnings.iter().filter(|warning| warning.loud).take(WARNINGS_MAX);
    loud.map(|warning| page.sentences(&warning.text, "WARNING: ", Tone::Alarm, ALARM_MAX)).count()
}

/// Lines on cache states whose names occur above or in the table: names of states are no words of a
/// reader's language.
fn states_named(report: &Report, top: &Page, table: Option<&(String, Grid)>) -> Vec<String> {
    let fields = table.into_iter().flat_map(|(_, grid)| grid.rows.iter().flatten());
    let fields: Vec<&str> = fields.map(|field| field.text.as_str()).collect();
    let named = |name: &str| top.text.contains(name) || fields.iter().any(|field| field.contains(name));
    let states = cache_lines(&report.summary).into_iter().filter(|(name, _)| named(name));
    states.map(|(_, line)| line).collect()
}

fn rest(report: &Report, notes: usize) -> String {
    let groups = report.summary.groups.len() as u64;
    let groups = (groups > 1).then(|| format!("{} groups", text::count(groups)));
    let notes = (notes > 0).then(|| text::counted(notes as u64, "note"));
    let parts: Vec<String> = groups.into_iter().chain(notes).chain(["the method".into()]).collect();
    format!("More ({}): megadir bench report RECORD --verbose", text::list(&parts))
}

/// The table of the finding that is printed above it: of file systems, if there are several, otherwise of
/// its group.
fn main_table(report: &Report) -> Option<(String, Grid)> {
    let summary = &report.summary;
    if let Some(over) = &summary.overview {
        let first_rows = || overview::tables(&overview::first_of_each_section(over), WIDTH_MAX);
        let grid = overview::overall(over).or_else(|| first_rows().into_iter().next())?;
        return Some((overview::title(summary), grid));
    }
    let main = report.first_findings().into_iter().find_map(|finding| finding.group.clone());
    let group = |group: &&GroupSummary| main.as_ref().is_none_or(|name| *name == group.name);
    let group = summary.groups.iter().find(group)?;
    Some((group.title.clone(), groups::grid(summary, group)?))
}

/// Within `room` lines: first the rows, then the title, then the legend.
/// Legend and title are dropped before rows, since both are in the verbose report.
///
/// A table of too few rows would mislead, so below [`ROWS_MIN`] there is none. Tables of shares keep their
/// largest rows, all others their first, which the plan put in order of importance. The number of rows that
/// are missing is always printed. The legend is printed whole or not at all.
pub(crate) fn push_table(page: &mut Page, title: Option<String>, grid: Grid, room: usize) {
    let Grid { columns, mut rows, legend, mut bars } = grid;
    let all = rows.len();
    let Some(mut room) = room.checked_sub(2).filter(|room| *room >= all.min(ROWS_MIN)) else { return };
    let lines = |title: &String| wrap(title, page.width).len();
    let title = title.filter(|title| room >= all.min(ROWS_FIRST) + lines(title));
    room -= title.as_ref().map_or(0, lines);
    let cut = all > room;
    let mut smaller = false;
    // The line on missing rows needs room.
    if cut {
        room -= 1;
        match bars.as_mut().filter(|bars| bars.label == SHARE) {
            Some(bars) => {
                smaller = true;
                keep_largest(&mut rows, bars, room);
            }
            None => rows.truncate(room),
        }
    }
    room -= rows.len();
    page.gap();
    page.each_within(title, "", Tone::Heading, 1);
    let dropped = all - rows.len();
    page.grid(&Grid { columns, rows, legend: Vec::new(), bars });
    if cut {
        let line = match smaller {
            true => format!("... and {} with smaller shares", text::counted(dropped as u64, "row")),
            false => format!("... and {}", text::counted(dropped as u64, "more row")),
        };
        page.paragraph(&line, "  ", Tone::Faint);
    }
    let (legend, lines) = (legend.join(" "), room.min(SMALL_PRINT_MAX));
    if fitting(&legend, page.width - 2, lines).len() <= lines {
        page.sentences(&legend, "  ", Tone::Faint, lines);
    }
}

/// The order of the rows stays; only their selection follows the shares.
fn keep_largest(rows: &mut Vec<Vec<Text>>, bars: &mut Bars, most: usize) {
    let value = |row: usize| bars.values.get(row).copied().flatten().unwrap_or(-1.0);
    let mut kept: Vec<usize> = (0..rows.len()).collect();
    kept.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
    kept.truncate(most);
    let mut places = 0..;
    rows.retain(|_| places.next().is_some_and(|row| kept.contains(&row)));
    let mut places = 0..;
    bars.values.retain(|_| places.next().is_some_and(|row| kept.contains(&row)));
}
