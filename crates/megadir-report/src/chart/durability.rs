//! Durability: the time of a file with and without sync, as dots on a logarithmic axis.

use super::axis::{Axis, Unit};
use super::drawing::Shape;
use super::picture::Width;
use super::rows::{Frame, Mark, Row, draw, key_of};
use super::{Chart, Picture, of_groups};
use crate::report::Report;
use crate::summary::{Figure, GroupReading, GroupSummary, PairRow, Summary};
use crate::text;
use megadir_record::{CellId, SyncPolicy, Work};

pub(super) struct Durability;

impl Chart for Durability {
    fn name(&self) -> &'static str {
        "durability"
    }

    fn answers(&self) -> &'static str {
        "How much does it cost to have files on the disk?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        of_groups(report, |group| of_group(&report.summary, group, width))
    }
}

fn of_group(summary: &Summary, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Pairs(pairs) = &group.reading else { return None };
    let differs = |row: &&PairRow| sync(summary, row.pair.arm) != sync(summary, row.pair.to);
    let rows: Vec<&PairRow> = pairs.rows.iter().filter(differs).collect();
    let mut names: Vec<&str> = Vec::new();
    for row in &rows {
        for name in [row.pair.than.as_str(), row.pair.what.as_str()] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let (mut drawn, mut values) = (Vec::new(), Vec::new());
    for row in &rows {
        let (one, of_row) = self::row(summary, row, &names);
        drawn.push(one);
        values.extend(of_row);
    }
    if drawn.is_empty() {
        return None;
    }
    let frame = Frame {
        width,
        axis: &|places| Axis::log(Unit::Time, values.iter().copied(), places),
        title: "median time of a file",
        band: None,
        line: None,
        key: key_of(&names),
    };
    let told: Vec<String> = drawn.iter().map(|row| format!("{}: {}", row.label, row.value)).collect();
    Some(
        Picture::new("durability", Some(&group.name), &group.title, draw(&frame, &drawn)).described(format!(
            "Median times, {}. {}.",
            names.join(" / "),
            told.join("; ")
        )),
    )
}

/// Returns the row of a contrast, and its values.
fn row(summary: &Summary, row: &PairRow, names: &[&str]) -> (Row, Vec<f64>) {
    let time = |arm: CellId| summary.arm(arm).and_then(|arm| Some(arm.timing.as_ref()?.time_ns));
    let (mut marks, mut told, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (name, arm) in [(&row.pair.than, row.pair.to), (&row.pair.what, row.pair.arm)] {
        let place = names.iter().position(|known| known == name).unwrap_or(0);
        let Some(figure) = time(arm) else { continue };
        marks.extend(interval(&figure));
        marks.push(Mark::Dot { at: figure.value, shape: Shape::of(place), class: format!("s{place}") });
        values.push(figure.value);
        values.extend(figure.interval.iter().flat_map(|range| [range.low, range.high]));
        told.push(text::time(figure.value));
    }
    let label = summary.circumstances(&row.pair);
    (Row { label, value: told.join(" / "), tone: "", marks, heading: false }, values)
}

fn interval(figure: &Figure) -> Option<Mark> {
    figure.interval.map(|range| Mark::Interval { low: range.low, high: range.high, class: "even" })
}

fn sync(summary: &Summary, arm: CellId) -> Option<SyncPolicy> {
    match &summary.arm(arm)?.cell.work {
        Work::Files(work) => Some(work.sync),
        _ => None,
    }
}
