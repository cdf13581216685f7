//! File systems: each kind of work in a panel, and all kinds of work together.
//!
//! Bars start at zero, and a section has one axis, so that operations of one kind are compared by length.
//! Columns on other storage are grey and marked in words.

use crate::chart::forest::ratios;
use crate::chart::rows::{Frame, Row, draw};
use crate::chart::{Axis, Picture, Unit, Width};
use crate::report::Report;
use crate::summary::{Outcome, Overview as Table, OverviewCell, OverviewRow};
use crate::text;

pub(super) fn overview(report: &Report, width: Width) -> Vec<Picture> {
    let Some(table) = &report.summary.overview else { return Vec::new() };
    // A single cell compares nothing.
    let several = |row: &&OverviewRow| row.cells.iter().flatten().count() > 1;
    let rows: Vec<&OverviewRow> = table.rows.iter().filter(several).collect();
    // Rows without a section have a picture each: their operations may differ by orders of magnitude.
    let sections = rows.chunk_by(|a, b| !a.section.is_empty() && a.section == b.section);
    sections.map(|rows| picture(table, rows, width)).collect()
}

fn bar(table: &Table, row: &OverviewRow, column: usize, arm: &OverviewCell) -> Row {
    let figure = arm.time_ns;
    let fastest = row.fastest == Some(column);
    let of = &table.columns[column];
    let beside = match (of.comparable, fastest) {
        (false, _) => ", not compared",
        (true, true) => ", fastest",
        (true, false) => "",
    };
    let value = format!("{}{beside}", text::time_with_interval(&figure));
    let bar = Row::bar(&of.name, value, figure, if of.comparable { "s0" } else { "even" });
    Row { tone: if fastest { "good" } else { "" }, ..bar }
}

fn picture(table: &Table, rows: &[&OverviewRow], width: Width) -> Picture {
    let section = &rows[0].section;
    let mut drawn: Vec<Row> = Vec::new();
    let mut phrases: Vec<String> = Vec::new();
    for row in rows {
        let bars = row.cells.iter().enumerate();
        let bars: Vec<Row> =
            bars.filter_map(|(column, arm)| Some(bar(table, row, column, arm.as_ref()?))).collect();
        let words: Vec<String> = bars.iter().map(|bar| format!("{} {}", bar.label, bar.value)).collect();
        phrases.push(format!("{}: {}", row.label, words.join(", ")));
        if !section.is_empty() {
            drawn.push(Row::heading(row.label.clone()));
        }
        drawn.extend(bars);
    }
    let cells = rows.iter().flat_map(|row| row.cells.iter().flatten());
    let axis = Axis::from_zero(Unit::Time, cells.flat_map(|arm| arm.time_ns.ends()));
    let frame = Frame::new(width, "median time of an operation", axis);
    let title = if section.is_empty() { &rows[0].label } else { section };
    let described = format!("Median time of an operation on each file system. {}.", phrases.join("; "));
    Picture::new("overview", None, &format!("By file system: {title}"), draw(&frame, &drawn), described)
}

pub(super) fn overall(report: &Report, width: Width) -> Option<Picture> {
    // Only ratios: times of different kinds of work have no common mean.
    let table = report.summary.overview.as_ref()?;
    let (least, others) = table.against_least()?;
    let label = |column: usize| table.columns[column].label.clone();
    let shown: Vec<(String, &Outcome)> =
        others.iter().map(|(column, outcome)| (label(*column), outcome)).collect();
    let axis_title = "time, as a multiple of the other's; left is faster";
    let (drawing, description) = ratios(&shown, report.summary.rules.equivalence_band, width, axis_title);
    let title = format!("Time over all kinds of work (geometric mean), against {}", label(least));
    let described = format!("Ratios of times with intervals adjusted for all pairs; {description}");
    Some(Picture::new("overall", None, &title, drawing, described))
}
