//! Course of a run: the baseline and itself over time, voided rounds and pressure, and their ratio by round.
//!
//! ```text
//! time    o  [] o                     o, []: the baseline and its double, which do equal work
//!       []  o    :  o []              : a round that was voided
//! ratio ---<>----<>------<>--         between the dashed lines: the interval of the ratio
//!       0 s        start of the block
//! ```
//!
//! If the two differ by more than noise, or if both wander, then so may every other ratio of the run.

use super::rows::key;
use super::{Anchor, Axis, Drawing, LINE_PX, Picture, Shape, Unit, Width, bounds};
use crate::report::Report;
use crate::summary::{Resolution, Rounds};
use crate::text;
use megadir_record::{ArmId, Phase, Pressure, Sample};

const PANEL_PX: f64 = 130.0;
const HEAD_PX: f64 = 28.0;
/// More points are drawn as ranges.
const POINTS_MAX: usize = 400;
const COLUMNS: usize = 200;

pub(super) fn run_order(report: &Report, width: Width) -> Option<Picture> {
    // Of several baselines, the one that resolves least: doubts are best shown by the worst case.
    let resolution = report.summary.widest_resolution()?;
    let rounds = report.rounds();
    let name = report.summary.arm_name(resolution.baseline);
    let mut drawing = Drawing::new(width.px());
    let (first, second) = (series(&rounds, resolution.baseline), series(&rounds, resolution.arm));
    let (starts, times): (Vec<f64>, Vec<f64>) = first.iter().chain(&second).copied().unzip();
    let names = [
        (Shape::Circle, "s0".to_owned(), name.to_owned()),
        (Shape::Square, "s1".to_owned(), "the same again".to_owned()),
    ];
    let top = key(&mut drawing, &names) + 6.0;
    let seconds = Axis::span(Unit::Seconds, starts).placed((66.0, drawing.width() - 14.0));
    let bottom = top + HEAD_PX + PANEL_PX;
    let axis = Axis::from_zero(Unit::Time, times).placed((bottom, top + HEAD_PX));
    panel(&mut drawing, top, &axis, "time of an operation");
    voided(&mut drawing, report, &seconds, (top + HEAD_PX, bottom));
    points(&mut drawing, &first, &seconds, &axis, (Shape::Circle, "s0"));
    points(&mut drawing, &second, &seconds, &axis, (Shape::Square, "s1"));
    let y = ratios(&mut drawing, report, resolution, &rounds, &seconds, bottom + 22.0);
    let y = seconds.draw_below(&mut drawing, y, y, "start of the block, time since the start of the run");
    let pressure = pressure(report);
    drawing.paragraph(8.0, y + LINE_PX, drawing.width() - 16.0, "faint", &pressure);
    let ratio = text::ratio(resolution.ratio.value, resolution.ratio.interval);
    let rounds = text::counted(resolution.rounds as u64, "round");
    let described = format!("{name} against itself over {rounds}: {ratio}. {pressure}");
    Some(Picture::new("run-order", None, "The run in the order of measuring", drawing, described))
}

/// Starts in seconds, times per operation in nanoseconds.
/// Start of the block and time of an operation in it.
fn series(rounds: &Rounds<'_>, arm: ArmId) -> Vec<(f64, f64)> {
    let samples = rounds.samples(arm).zip(rounds.times(arm));
    samples.map(|(sample, ns)| (sample.start_ns as f64 / 1e9, ns)).collect()
}

fn panel(drawing: &mut Drawing, top: f64, y: &Axis, title: &str) {
    drawing.text(8.0, top + 10.0, Anchor::Start, "", &y.title(title));
    let (left, right) = (66.0, drawing.width() - 14.0);
    // Labels of the vertical axis from the bottom; one that would touch the label below it is left out.
    let mut free = f64::INFINITY;
    for (tick, text) in y.labelled() {
        drawing.line((left, y.at(tick)), (right, y.at(tick)), "grid");
        if y.at(tick) < free {
            drawing.text(left - 6.0, y.at(tick) + 4.0, Anchor::End, "faint", &text);
            free = y.at(tick) - LINE_PX;
        }
    }
}

fn points(drawing: &mut Drawing, series: &[(f64, f64)], x: &Axis, y: &Axis, (shape, class): (Shape, &str)) {
    if series.len() <= POINTS_MAX {
        for (at, value) in series {
            drawing.mark((x.at(*at), y.at(*value)), shape, &format!("{class} dot"));
        }
        return;
    }
    // A million points would make a file of many megabytes: each of 200 columns shows the range of its
    // points.
    let size = series.len().div_ceil(COLUMNS);
    for some in series.chunks(size) {
        let (low, high) = bounds(some.iter().map(|(_, value)| *value)).unwrap_or((0.0, 0.0));
        let at = x.at(some[some.len() / 2].0);
        drawing.line((at, y.at(low)), (at, y.at(high)), &format!("{class} line"));
    }
}

fn voided(drawing: &mut Drawing, report: &Report, x: &Axis, (top, bottom): (f64, f64)) {
    let voided = |sample: &&Sample| sample.voided.is_some() && sample.phase == Phase::Measure;
    let mut rounds: Vec<(u32, u32, u32)> = Vec::new();
    // Bounded twice, by samples read and lines drawn, because a record may consist of voided rounds alone.
    for sample in report.record.samples.iter().filter(voided).take(100_000) {
        let round = (sample.epoch, sample.round, sample.attempt);
        if rounds.last() != Some(&round) && rounds.len() < POINTS_MAX {
            rounds.push(round);
            let at = x.at(sample.start_ns as f64 / 1e9).max(66.0).min(drawing.width() - 14.0);
            drawing.line((at, top), (at, bottom), "limit");
        }
    }
}

fn ratios(
    drawing: &mut Drawing,
    report: &Report,
    resolution: &Resolution,
    rounds: &Rounds<'_>,
    x: &Axis,
    top: f64,
) -> f64 {
    let times = rounds.paired(&[resolution.baseline, resolution.arm]);
    let starts = series(rounds, resolution.baseline).into_iter().map(|(at, _)| at);
    let ratios = times[0].iter().zip(&times[1]).map(|(base, again)| again / base);
    let ratios: Vec<(f64, f64)> = starts.zip(ratios).collect();
    let band = report.summary.rules.equivalence_band;
    let (low, high) = (1.0 / (1.0 + band), 1.0 + band);
    let values = ratios.iter().map(|(_, ratio)| *ratio).chain([low, high]);
    let bottom = top + HEAD_PX + PANEL_PX;
    let axis = Axis::log(Unit::Ratio, values).placed((bottom, top + HEAD_PX));
    let (left, right) = (66.0, drawing.width() - 14.0);
    drawing.rect((left, axis.at(high)), (right - left, axis.at(low) - axis.at(high)), "band");
    panel(drawing, top, &axis, "the same again / the first, by round");
    if let Some(range) = resolution.ratio.interval {
        for value in [range.low, range.high] {
            drawing.line((left, axis.at(value)), (right, axis.at(value)), "limit");
        }
    }
    points(drawing, &ratios, x, &axis, (Shape::Diamond, "s2"));
    bottom
}

fn pressure(report: &Report) -> String {
    let of = |pressure: &Pressure| {
        let percent =
            |resource: &str, value: Option<f64>| value.map(|value| format!("{resource} {value:.1} %"));
        let parts = [
            pressure.load_1m.map(|load| format!("load {load:.2}")),
            percent("processor", pressure.cpu_some_10s_percent),
            percent("input and output", pressure.io_some_10s_percent),
            percent("memory", pressure.memory_some_10s_percent),
            percent("others on the processors", pressure.others_busy_percent),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let after = report.summary.pressure_after.as_ref().map_or_else(|| "not known".into(), of);
    let band = text::chosen(report.summary.rules.equivalence_band);
    format!(
        "Shaded: within {band}; dashed: the interval of the ratio, and voided rounds. Pressure before: {}; after: {after}.",
        of(&report.summary.machine.pressure)
    )
}
