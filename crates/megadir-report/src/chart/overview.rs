//! File systems side by side: times of every kind of work as bars from zero; kinds of one operation share a
//! scale.

use super::axis::{Axis, Unit};
use super::picture::Width;
use super::rows::{Frame, Mark, Row, draw};
use super::{Chart, Picture};
use crate::report::Report;
use crate::summary::{Overview as Table, OverviewCell, OverviewRow};
use crate::text;

pub(super) struct Overview;

impl Chart for Overview {
    fn name(&self) -> &'static str {
        "overview"
    }

    fn answers(&self) -> &'static str {
        "How fast is each file system at each kind of work?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        let Some(table) = &report.summary.overview else { return Vec::new() };
        sections(table).iter().map(|rows| picture(table, rows, width)).collect()
    }
}

/// Groups rows by section; rows without a section have nothing in common, and stand alone.
fn sections(table: &Table) -> Vec<Vec<&OverviewRow>> {
    let mut sections: Vec<Vec<&OverviewRow>> = Vec::new();
    let several = |row: &&OverviewRow| row.cells.iter().flatten().count() > 1;
    for row in table.rows.iter().filter(several) {
        match sections.last_mut().filter(|rows| !row.section.is_empty() && rows[0].section == row.section) {
            Some(rows) => rows.push(row),
            None => sections.push(vec![row]),
        }
    }
    sections
}

/// Returns the bar of one file system, if it was measured.
fn bar(table: &Table, row: &OverviewRow, column: usize, cell: &OverviewCell) -> Row {
    let figure = cell.time_ns;
    let mut marks = vec![Mark::Bar {
        from: 0.0,
        to: figure.value,
        class: if table.columns[column].comparable { "s0" } else { "even" }.into(),
    }];
    marks.extend(figure.interval.map(|range| Mark::Interval {
        low: range.low,
        high: range.high,
        class: "rule",
    }));
    let fastest = row.fastest == Some(column);
    let of = &table.columns[column];
    let beside = match (of.comparable, fastest) {
        (false, _) => ", not compared",
        (true, true) => ", fastest",
        (true, false) => "",
    };
    Row {
        label: of.name.clone(),
        value: format!("{}{beside}", text::time_with_interval(&figure)),
        tone: if fastest { "good" } else { "" },
        marks,
        heading: false,
    }
}

fn picture(table: &Table, rows: &[&OverviewRow], width: Width) -> Picture {
    let section = &rows[0].section;
    let mut drawn: Vec<Row> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for row in rows {
        let bars = row.cells.iter().enumerate();
        let bars: Vec<Row> =
            bars.filter_map(|(column, cell)| Some(bar(table, row, column, cell.as_ref()?))).collect();
        let words: Vec<String> = bars.iter().map(|bar| format!("{} {}", bar.label, bar.value)).collect();
        told.push(format!("{}: {}", row.what, words.join(", ")));
        if !section.is_empty() {
            drawn.push(Row::heading(row.what.clone()));
        }
        drawn.extend(bars);
    }
    let figures = rows.iter().flat_map(|row| row.cells.iter().flatten()).map(|cell| cell.time_ns);
    let values: Vec<f64> = figures
        .flat_map(|figure| [Some(figure.value), figure.interval.map(|range| range.high)])
        .flatten()
        .collect();
    let frame = Frame {
        width,
        axis: &|places| Axis::from_zero(Unit::Time, values.iter().copied(), places),
        title: "median time of an operation",
        band: None,
        line: None,
        key: Vec::new(),
    };
    let what = if section.is_empty() { &rows[0].what } else { section };
    Picture::new("overview", None, &format!("By file system: {what}"), draw(&frame, &drawn))
        .described(format!("Median time of an operation on each file system. {}.", told.join("; ")))
}
