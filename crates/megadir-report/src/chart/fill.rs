//! Filling: the cost of creating a file as a directory fills, as median with its interval and quantiles of
//! single files.

use super::axis::{Axis, Unit};
use super::growth::predicted_limit;
use super::lines::{Frame, Line, Point, draw, xs, y_axis};
use super::picture::Width;
use super::{Chart, Picture, of_groups};
use crate::report::Report;
use crate::summary::{Bucket, Figure, Fill, GroupReading, GroupSummary, OperationQuantiles, Summary};
use crate::text;

pub(super) struct Filling;

impl Chart for Filling {
    fn name(&self) -> &'static str {
        "fill"
    }

    fn answers(&self) -> &'static str {
        "How much does creating a file cost as a directory fills?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        of_groups(report, |group| of_group(report, group, width))
    }
}

fn of_group(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Fill(fill) = &group.reading else { return None };
    let mut lines = vec![line("median of the rounds", fill, |bucket| bucket.time_ns)];
    let quantile = |of: fn(&OperationQuantiles) -> Figure| {
        move |bucket: &Bucket| quantiles(&report.summary, bucket).map(|quantiles| of(&quantiles))
    };
    lines.push(line("p50 of single files", fill, quantile(|of| of.p50_ns)));
    lines.push(line("p99 of single files", fill, quantile(|of| of.p99_ns)));
    lines.retain(|line| line.points.len() > 1);
    if lines.is_empty() {
        return None;
    }
    let limits = predicted_limit(report);
    let xs: Vec<f64> = xs(&lines).into_iter().chain(limits.iter().map(|(at, _)| *at)).collect();
    let frame = Frame {
        width,
        x: &|places| Axis::from_zero(Unit::Count, xs.iter().copied(), places),
        x_title: "files in the directory",
        y: &y_axis(Unit::Time, &lines),
        y_title: "time of creating a file",
        limits,
        band: None,
    };
    let point = |bucket: &Bucket| {
        let time = bucket.time_ns?;
        Some(format!("{} from {} files on", text::time_with_interval(&time), text::count(bucket.from)))
    };
    let told: Vec<String> = fill.buckets.iter().filter_map(point).collect();
    let description =
        format!("Time of creating a file over files that are there. Median: {}.", told.join("; "));
    Some(Picture::new("fill", Some(&group.name), &group.title, draw(&frame, &lines)).described(description))
}

fn quantiles(summary: &Summary, bucket: &Bucket) -> Option<OperationQuantiles> {
    summary.arm(bucket.arm)?.timing.as_ref()?.single.as_ref()?.quantiles
}

fn line(name: &str, fill: &Fill, figure: impl Fn(&Bucket) -> Option<Figure>) -> Line {
    let point = |bucket: &Bucket| {
        let figure = figure(bucket)?;
        Some(Point { x: bucket.from.midpoint(bucket.to) as f64, y: figure.value, interval: figure.interval })
    };
    Line {
        name: name.into(),
        points: fill.buckets.iter().filter_map(point).collect(),
        marked: true,
        reference: false,
    }
}
