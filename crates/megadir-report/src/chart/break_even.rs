//! Break-even: the cost of single requests relative to listing, over the share of entries requested.

use super::axis::{Axis, Unit};
use super::lines::{Frame, Line, Point, draw, xs};
use super::picture::Width;
use super::{Chart, Picture, of_groups};
use crate::report::Report;
use crate::summary::{BreakEven, BreakEvenSeries, GroupReading, GroupSummary, Threshold};
use crate::text;

pub(super) struct BreakEvenCurves;

impl Chart for BreakEvenCurves {
    fn name(&self) -> &'static str {
        "break-even"
    }

    fn answers(&self) -> &'static str {
        "From which share of the entries on does listing beat asking?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        of_groups(report, |group| of_group(group, width))
    }
}

fn of_group(group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::BreakEven(read) = &group.reading else { return None };
    let line = |series: &BreakEvenSeries| Line {
        name: format!("{} of {}: {}", series.name, text::entries(series.entries), meets(series)),
        points: series
            .asks
            .iter()
            .map(|ask| Point { x: ask.share, y: ask.ratio.value, interval: ask.ratio.interval })
            .collect(),
        marked: true,
        reference: false,
    };
    let lines: Vec<Line> = read.series.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    if lines.is_empty() {
        return None;
    }
    let ys: Vec<f64> =
        lines.iter().flat_map(|line| line.points.iter().map(|point| point.y)).chain([1.0]).collect();
    let shares = xs(&lines);
    let ends = super::axis::bounds(shares.iter().copied()).map_or(Vec::new(), |(low, high)| vec![low, high]);
    let level = ends.into_iter().map(|x| Point { x, y: 1.0, interval: None });
    let even =
        Line { name: "listing all, 1x".into(), points: level.collect(), marked: false, reference: true };
    let all: Vec<Line> = lines.into_iter().chain([even]).collect();
    let frame = Frame {
        width,
        x: &|places| Axis::log(Unit::Share, shares.iter().copied(), places),
        x_title: "share of the entries that are asked for, %",
        y: &|places| Axis::log(Unit::Ratio, ys.iter().copied(), places),
        y_title: "time of asking / time of listing all",
        limits: Vec::new(),
        band: band(read),
    };
    let told: Vec<String> = read
        .series
        .iter()
        .map(|series| format!("{} of {}: {}", series.name, text::entries(series.entries), meets(series)))
        .collect();
    let description = format!(
        "Time of asking for a share of the entries over the time of listing all; above 1 listing costs less. Shaded: where they meet. {}.",
        told.join("; ")
    );
    Some(
        Picture::new("break-even", Some(&group.name), &group.title, draw(&frame, &all))
            .described(description),
    )
}

fn meets(series: &BreakEvenSeries) -> String {
    match series.from {
        Threshold::At { share } => format!("even at {}", text::threshold(share, series.interval)),
        Threshold::Always => "listing costs less throughout".into(),
        Threshold::Never => "asking costs less throughout".into(),
    }
}

/// Returns the range of shares at which the series break even.
fn band(read: &BreakEven) -> Option<(f64, f64)> {
    let share = |threshold: Threshold| match threshold {
        Threshold::At { share } => Some(share),
        Threshold::Always | Threshold::Never => None,
    };
    let of = |series: &BreakEvenSeries| {
        let (low, high) = series.interval.unwrap_or((series.from, series.from));
        Some([share(low)?, share(high)?])
    };
    let ends: Option<Vec<[f64; 2]>> = read.series.iter().map(of).collect();
    super::axis::bounds(ends?.into_iter().flatten())
}
