//! Tails: times of single operations by quantile, on a scale stretched towards 100 %.

use super::axis::{Axis, Unit};
use super::lines::{Frame, Line, Point, draw, xs};
use super::picture::Width;
use super::{Chart, Picture};
use crate::report::Report;
use crate::summary::{Arm, together};
use crate::text;
use megadir_record::Role;
use megadir_stats::histogram::Histogram;

pub(super) struct Nines;

/// Arms in one picture.
const ARMS: usize = 6;
/// Points for every nine.
const POINTS: i32 = 8;

impl Chart for Nines {
    fn name(&self) -> &'static str {
        "nines"
    }

    fn answers(&self) -> &'static str {
        "How long do the slowest operations take?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        let rounds = report.rounds();
        let timed: Vec<(&Arm, Histogram)> = timed(report)
            .filter_map(|arm| Some((arm, together(rounds.times_by_round(arm.cell.id)?))))
            .collect();
        let lines: Vec<Line> = timed.iter().map(|(arm, times)| line(&arm.cell.name, times)).collect();
        let ys: Vec<f64> = lines.iter().flat_map(|line| line.points.iter().map(|point| point.y)).collect();
        let parts = lines.len().div_ceil(ARMS).max(1);
        let size = lines.len().div_ceil(parts).max(1);
        let mut pictures = Vec::new();
        for (part, lines) in lines.chunks(size).enumerate() {
            let title = match parts {
                1 => "Times of single operations".to_owned(),
                _ => format!("Times of single operations, {} of {parts}", part + 1),
            };
            let arms = &timed[part * size..][..lines.len()];
            pictures.push(picture(&title, arms, lines, &ys, width));
        }
        pictures
    }
}

/// Returns the arms with timed operations and meaningful quantiles.
pub(super) fn timed(report: &Report) -> impl Iterator<Item = &Arm> {
    let known = |arm: &&Arm| {
        let single = arm.timing.as_ref().and_then(|timing| timing.single.as_ref());
        single.is_some_and(|single| single.quantiles.is_some()) && arm.cell.role != Role::AgainstItself
    };
    report.summary.asked().filter(known)
}

fn line(name: &str, times: &Histogram) -> Line {
    // No quantiles beyond the last operation.
    let last = libm::log10(times.count().max(1) as f64);
    let steps = (0..).map(|step| f64::from(step) / f64::from(POINTS)).take_while(|nines| *nines <= last);
    let point = |nines: f64| {
        let ns = times.quantile(1.0 - libm::exp10(-nines))?;
        Some(Point { x: nines, y: (ns as f64).max(1.0), interval: None })
    };
    Line { name: name.into(), points: steps.filter_map(point).collect(), marked: false, reference: false }
}

fn picture(title: &str, arms: &[(&Arm, Histogram)], lines: &[Line], ys: &[f64], width: Width) -> Picture {
    let xs = xs(lines);
    let frame = Frame {
        width,
        x: &|places| Axis::from_zero(Unit::Nines, xs.iter().copied(), places),
        x_title: "share of operations that took no longer, %",
        y: &|places| Axis::log(Unit::Time, ys.iter().copied(), places),
        y_title: "time of an operation",
        limits: Vec::new(),
        band: None,
    };
    let told = |(arm, times): &(&Arm, Histogram)| {
        let at = |p| times.quantile(p).map(|ns| text::time(ns as f64)).unwrap_or_default();
        format!(
            "{}: p50 {}, p99 {}, p99.9 {}, longest {}, of {} operations",
            arm.cell.name,
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0),
            text::count(times.count())
        )
    };
    let told: Vec<String> = arms.iter().map(told).collect();
    Picture::new("nines", None, title, draw(&frame, lines))
        .described(format!("Times of single operations by share. {}.", told.join("; ")))
}
