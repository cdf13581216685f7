//! File systems: each kind of work in a panel, and all kinds of work together.

use crate::chart::Picture;
use crate::chart::axis::{Axis, Unit};
use crate::chart::forest::{row, values, words};
use crate::chart::picture::Width;
use crate::chart::rows::{Frame, Row, draw};
use crate::report::Report;
use crate::summary::{Figure, Outcome, Overview as Table, OverviewCell, OverviewRow};
use crate::{summary, text};

pub(super) fn overview(report: &Report, width: Width) -> Vec<Picture> {
    let Some(table) = &report.summary.overview else { return Vec::new() };
    sections(table).iter().map(|rows| picture(table, rows, width)).collect()
}

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
    let mut told: Vec<String> = Vec::new();
    for row in rows {
        let bars = row.cells.iter().enumerate();
        let bars: Vec<Row> =
            bars.filter_map(|(column, arm)| Some(bar(table, row, column, arm.as_ref()?))).collect();
        let words: Vec<String> = bars.iter().map(|bar| format!("{} {}", bar.label, bar.value)).collect();
        told.push(format!("{}: {}", row.what, words.join(", ")));
        if !section.is_empty() {
            drawn.push(Row::heading(row.what.clone()));
        }
        drawn.extend(bars);
    }
    let figures = rows.iter().flat_map(|row| row.cells.iter().flatten()).map(|arm| arm.time_ns);
    let values: Vec<f64> = figures.flat_map(|figure| figure.ends()).collect();
    let axis = |places| Axis::from_zero(Unit::Time, values.iter().copied(), places);
    let frame = Frame::new(width, "median time of an operation", &axis);
    let what = if section.is_empty() { &rows[0].what } else { section };
    Picture::new("overview", None, &format!("By file system: {what}"), draw(&frame, &drawn))
        .described(format!("Median time of an operation on each file system. {}.", told.join("; ")))
}

pub(super) fn overall(report: &Report, width: Width) -> Vec<Picture> {
    let overview = report.summary.overview.as_ref();
    overview.and_then(|overview| picture_overall(report, overview, width)).into_iter().collect()
}

fn picture_overall(report: &Report, overview: &summary::Overview, width: Width) -> Option<Picture> {
    let least = overview.least()?;
    let others = overview.comparable().filter(|column| *column != least);
    let outcome = |(ratio, adjusted, verdict)| match verdict {
        Some(verdict) => Outcome::Judged {
            ratio: Figure { value: ratio, interval: adjusted },
            adjusted,
            verdict,
            epochs: None,
        },
        None => Outcome::TooFewRounds { ratio },
    };
    let mut shown: Vec<(&str, f64, Outcome)> = others
        .filter_map(|column| {
            let against = overview.against(column, least)?;
            Some((&*overview.columns[column].label, against.0, outcome(against)))
        })
        .collect();
    if shown.is_empty() {
        return None;
    }
    shown.sort_by(|a, b| a.1.total_cmp(&b.1));
    let band = report.summary.rules.equivalence_band;
    let values = values(shown.iter().map(|(.., outcome)| outcome), band);
    let axis = |places| Axis::log(Unit::Ratio, values.iter().copied(), places);
    let frame = Frame {
        band: Some((1.0 / (1.0 + band), 1.0 + band)),
        line: Some(1.0),
        ..Frame::new(width, "time, as a multiple of the other's; left is faster", &axis)
    };
    let rows: Vec<Row> = shown.iter().map(|(label, _, outcome)| row(label, outcome)).collect();
    let told: Vec<String> =
        shown.iter().map(|(label, _, outcome)| format!("{label}: {}", words(outcome))).collect();
    let title =
        format!("Time over all kinds of work (geometric mean), against {}", overview.columns[least].label);
    let description = format!(
        "Ratios of times with intervals adjusted for all pairs; shaded: within {} of 1. {}.",
        text::chosen(band),
        told.join("; ")
    );
    Some(Picture::new("overall", None, &title, draw(&frame, &rows)).described(description))
}
