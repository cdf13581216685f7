//! Growth with entries: a line for each series over a logarithmic axis, with intervals and the predicted limit
//! of a directory.

use super::axis::{Axis, Unit};
use super::lines::{Frame, Line, Point, draw, xs, y_axis};
use super::picture::Width;
use super::{Chart, Picture, of_groups};
use crate::report::Report;
use crate::summary::{GroupReading, GroupSummary, Series};
use crate::text;
use megadir_record::Work;

pub(super) struct GrowthLines;

impl Chart for GrowthLines {
    fn name(&self) -> &'static str {
        "growth"
    }

    fn answers(&self) -> &'static str {
        "How does the time grow with entries?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        of_groups(report, |group| of_group(report, group, width))
    }
}

fn of_group(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Grow(growth) = &group.reading else { return None };
    let series: Vec<&Series> = growth.series.iter().filter(|series| series.points.len() > 1).collect();
    // Listings are shown per entry: linear growth is then a level line.
    let an_entry = series.iter().all(|series| series.points.iter().all(|point| point.entry_ns.is_some()));
    let line = |series: &&Series| Line {
        name: match &series.exponent {
            Some(exponent) => format!("{}: power {}", series.name, text::exponent(exponent)),
            None => series.name.clone(),
        },
        points: series
            .points
            .iter()
            .map(|point| {
                let figure = point.entry_ns.filter(|_| an_entry).unwrap_or(point.time_ns);
                Point { x: point.entries as f64, y: figure.value, interval: figure.interval }
            })
            .collect(),
        marked: true,
        reference: false,
    };
    let lines: Vec<Line> = series.iter().map(line).collect();
    if lines.is_empty() {
        return None;
    }
    let limits = predicted_limit(report);
    let xs: Vec<f64> = xs(&lines).into_iter().chain(limits.iter().map(|(at, _)| *at)).collect();
    let frame = Frame {
        width,
        x: &|places| Axis::log(Unit::Count, xs.iter().copied(), places),
        x_title: "entries of the directory",
        y: &y_axis(Unit::Time, &lines),
        y_title: if an_entry { "time an entry" } else { "time of an operation" },
        limits,
        band: None,
    };
    let told: Vec<String> = series.iter().map(|series| told(series)).collect();
    let description = format!(
        "{} over entries of the directory; shaded: 95 % intervals. {}.",
        if an_entry { "Time an entry" } else { "Time of an operation" },
        told.join("; ")
    );
    Some(Picture::new("growth", Some(&group.name), &group.title, draw(&frame, &lines)).described(description))
}

fn told(series: &Series) -> String {
    let point = |point: &crate::summary::Point| {
        format!("{} among {}", text::time_with_interval(&point.time_ns), text::count(point.entries))
    };
    format!("{}: {}", series.name, series.points.iter().map(point).collect::<Vec<_>>().join(", "))
}

/// Returns the number of entries at which the record reports a full directory.
pub(super) fn predicted_limit(report: &Report) -> Vec<(f64, String)> {
    let cells = report.record.header.plan.cells.iter();
    let predicted = cells.filter_map(|cell| match &cell.work {
        Work::FillUntilRefused { predicted, .. } => predicted.as_ref(),
        _ => None,
    });
    predicted
        .take(1)
        .map(|of| (of.entries as f64, format!("predicted limit, {}", text::count(of.entries))))
        .collect()
}
