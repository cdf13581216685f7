//!
//! ```text
//! stalls  time of operation |  .   .        ##     darker: more operations
//!         (log, own scale)  | ::::.:::::::.:##::
//!                           +------------------- time since the start of the run
//! nines   time of operation |            __/       share that took no longer: 90, 99, 99.9 %
//!         (log)             |________---'
//! ```
//!
//! Quantiles show how long the slowest operations take, not when.
//! Slow single operations: when they occurred, and the tail of latencies.

use megadir_record::Role;
use megadir_stats::histogram::Histogram;

use crate::chart::drawing::shortened;
use crate::chart::lines::{Frame, Line, Point, draw, xs, ys};
use crate::chart::{Anchor, Axis, Drawing, FONT_PX, LINE_PX, Picture, Unit, Width, bounds, text_width};
use crate::report::Report;
use crate::summary::{ArmSummary, Figure, OperationQuantiles, together};
use crate::text;

/// At most this many arms have a strip, and each has this many rows and columns of tiles.
const STRIPS: usize = 8;
const ROWS: usize = 9;
const COLUMNS: usize = 48;
const ROW_PX: f64 = 8.0;

pub(super) fn stalls(report: &Report, width: Width) -> Option<Picture> {
    let mut arms: Vec<(&ArmSummary, OperationQuantiles)> =
        timed(report).filter_map(|arm| Some((arm, arm.single()?.quantiles?))).collect();
    let all = arms.len();
    if all == 0 {
        return None;
    }
    // The tail relative to the median, so that long operations do not win by their length alone.
    let tail = |of: &OperationQuantiles| of.max_ns / of.p50_ns.value.max(1.0);
    arms.sort_by(|a, b| tail(&b.1).total_cmp(&tail(&a.1)));
    arms.truncate(STRIPS);
    // Chosen by their tails, shown in the order of the plan.
    arms.sort_by_key(|(arm, _)| arm.planned.id);
    Some(picture(report, &arms, all, width))
}

/// `[row * COLUMNS + column]`, the shortest times in row 0.
type Counts = Vec<u64>;

/// Each arm has a strip of its own scale in height, because the lengths of different operations lie far
/// apart, while all share the axis of time: stalls of several arms at one moment have a common cause. A
/// histogram of a block has no moments within the block, so its operations are drawn at the block's middle.
fn picture(report: &Report, arms: &[(&ArmSummary, OperationQuantiles)], all: usize, width: Width) -> Picture {
    let rounds = report.rounds();
    let samples = || arms.iter().flat_map(|(arm, _)| rounds.samples(arm.planned.id));
    // The axis covers all blocks from the first start to the last end.
    let ends = samples().map(|sample| sample.start_ns.saturating_add(sample.elapsed_ns));
    let moments: Vec<f64> =
        samples().map(|sample| sample.start_ns).chain(ends).map(|ns| ns as f64 / 1e9).collect();
    let mut drawing = Drawing::new(width.px());
    let note = "The darker, the more operations in that time and of that length; each strip from its shortest to its longest.";
    let mut y = drawing.paragraph(8.0, 16.0, drawing.width() - 16.0, "faint", note) - 8.0;
    let (left, right) = (78.0, drawing.width() - 12.0);
    let seconds = Axis::span(Unit::Seconds, moments).placed((left, right));
    let mut phrases = Vec::new();
    for (arm, of) in arms {
        let mut times = Vec::new();
        for (sample, of_block) in rounds.samples_with_times(arm.planned.id) {
            let at = (sample.start_ns as f64 + sample.elapsed_ns as f64 / 2.0) / 1e9;
            times.extend(of_block.into_iter().flatten().map(|(ns, count)| (at, *ns as f64, *count)));
        }
        let (least, most) = bounds(times.iter().map(|(_, ns, _)| *ns)).unwrap_or((1.0, 2.0));
        let tail = format!("p50 {}, longest {}", text::time(of.p50_ns.value), text::time(of.max_ns));
        phrases.push(format!("{}: {tail}", arm.planned.name));
        y = heading(&mut drawing, y, &arm.planned.name, &tail);
        let counts = count(&times, &seconds, (left, right), (least, most));
        strip(&mut drawing, &counts, (left, right), y);
        let height = ROW_PX * ROWS as f64;
        drawing.text(left - 6.0, y + 11.0, Anchor::End, "faint", &text::time(most));
        drawing.text(left - 6.0, y + height, Anchor::End, "faint", &text::time(least));
        y += height + 10.0;
    }
    seconds.draw_below(&mut drawing, y, y - 6.0, "time since the start of the run");
    let title = match all > arms.len() {
        true => format!("Stalls: the {} of {all} arms with the longest tails", arms.len()),
        false => "Stalls: how long operations took, when".to_owned(),
    };
    let described = format!("Operations by length over the time of the run. {}.", phrases.join("; "));
    Picture::new("stalls", None, &title, drawing, described)
}

/// Name and tail share a line if both fit; otherwise the name is shortened and the tail goes below it.
fn heading(drawing: &mut Drawing, y: f64, name: &str, tail: &str) -> f64 {
    let tail_width = text_width(tail, FONT_PX);
    let room = drawing.width() - tail_width - 28.0;
    if text_width(name, FONT_PX) <= room {
        drawing.text(8.0, y + 16.0, Anchor::Start, "", name);
        drawing.text(drawing.width() - 8.0, y + 16.0, Anchor::End, "faint", tail);
        return y + 22.0;
    }
    let name = shortened(name, drawing.width() - 16.0, FONT_PX);
    drawing.text(8.0, y + 16.0, Anchor::Start, "", &name);
    drawing.text(8.0, y + 16.0 + LINE_PX, Anchor::Start, "faint", tail);
    y + 22.0 + LINE_PX
}

fn count(
    times: &[(f64, f64, u64)],
    seconds: &Axis,
    (left, right): (f64, f64),
    (least, most): (f64, f64),
) -> Counts {
    let mut counts = vec![0_u64; ROWS * COLUMNS];
    // Logarithms of nanoseconds; an interval of no width must not be divided by.
    let (low, range) =
        (libm::log(least.max(1.0)), (libm::log(most.max(1.0)) - libm::log(least.max(1.0))).max(1e-9));
    for (at, ns, count) in times {
        let across = (seconds.at(*at) - left) / (right - left);
        let column = ((across * COLUMNS as f64) as usize).min(COLUMNS - 1);
        let up = (libm::log(ns.max(1.0)) - low) / range;
        let row = ((up * ROWS as f64) as usize).min(ROWS - 1);
        counts[row * COLUMNS + column] += count;
    }
    counts
}

/// Five shades, equal steps of the logarithm of counts.
fn strip(drawing: &mut Drawing, counts: &Counts, (left, right): (f64, f64), y: f64) {
    let across = (right - left) / COLUMNS as f64;
    drawing.rect((left, y), (right - left, ROW_PX * ROWS as f64), "band");
    let most = libm::log(counts.iter().copied().max().unwrap_or(1).max(2) as f64);
    // One path for each shade, because thousands of single tiles would make the page large.
    for shade in 1..=5_usize {
        let mut corners = Vec::new();
        for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let of = ((libm::log(*count as f64) / most * 5.0) as usize + 1).min(5);
            if of == shade {
                let (row, column) = (ROWS - 1 - place / COLUMNS, place % COLUMNS);
                corners.push((left + across * column as f64, y + ROW_PX * row as f64));
            }
        }
        drawing.tiles(&corners, (across, ROW_PX), &format!("tile q{shade}"));
    }
}

/// Lines of a picture, and points for each factor of ten.
const ARMS: usize = 6;
const POINTS: i32 = 8;

pub(super) fn nines(report: &Report, width: Width) -> Vec<Picture> {
    let rounds = report.rounds();
    let timed: Vec<(&ArmSummary, Histogram)> = timed(report)
        .filter_map(|arm| Some((arm, together(rounds.times_by_round(arm.planned.id)?))))
        .collect();
    let lines: Vec<Line> = timed.iter().map(|(arm, times)| line(&arm.planned.name, times)).collect();
    // One axis of times for all pictures, so that they can be compared.
    let times = Axis::log(Unit::Time, ys(&lines));
    let parts = lines.len().div_ceil(ARMS).max(1);
    // Evenly divided: seven arms become four and three, not six and one.
    let size = lines.len().div_ceil(parts).max(1);
    let picture = |(part, lines): (usize, &[Line])| {
        let arms = timed.iter().skip(part * size).take(size);
        let title = match parts {
            1 => "Times of single operations".to_owned(),
            _ => format!("Times of single operations, {} of {parts}", part + 1),
        };
        let shares = (Axis::from_zero(Unit::Nines, xs(lines)), "share of operations that took no longer, %");
        let frame = Frame::new(width, shares, (times, "time of an operation"));
        let phrases: Vec<String> = arms.map(|(arm, times)| quantiles(&arm.planned.name, times)).collect();
        let described = format!("Times of single operations by share. {}.", phrases.join("; "));
        Picture::new("nines", None, &title, draw(&frame, lines), described)
    };
    lines.chunks(size).enumerate().map(picture).collect()
}

fn quantiles(name: &str, times: &Histogram) -> String {
    let at = |p| times.quantile(p).map(|ns| text::time(ns as f64)).unwrap_or_default();
    let [p50, p99, p999, longest] = [0.5, 0.99, 0.999, 1.0].map(at);
    let all = text::count(times.count());
    format!("{name}: p50 {p50}, p99 {p99}, p99.9 {p999}, longest {longest}, of {all} operations")
}

pub(super) fn timed(report: &Report) -> impl Iterator<Item = &ArmSummary> {
    let known = |arm: &&ArmSummary| {
        let quantiles = arm.single().and_then(|single| single.quantiles);
        quantiles.is_some() && arm.planned.role != Role::Control
    };
    report.summary.measured().filter(known)
}

/// Up to the quantile of the longest operation: beyond, there are no data.
fn line(name: &str, times: &Histogram) -> Line {
    let last = libm::log10(times.count().max(1) as f64);
    let steps = (0..).map(|step| f64::from(step) / f64::from(POINTS)).take_while(|nines| *nines <= last);
    let point = |nines: f64| {
        let ns = times.quantile(1.0 - libm::exp10(-nines))?;
        Some(Point { x: nines, y: Figure { value: (ns as f64).max(1.0), interval: None } })
    };
    Line { marked: false, ..Line::new(name, steps.filter_map(point).collect()) }
}
