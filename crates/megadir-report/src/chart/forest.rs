//! Forest plot of ratios and the equivalence band.
//!
//! ```text
//!             |::|
//! arm b   -<>-|::|           0.72x [0.69, 0.76]   :: equivalence band
//! arm c       |:<>:-         1.02x [0.98, 1.06]   <> estimate, -- adjusted interval
//!           0.7  1.0  1.4
//! ```

use super::rows::{Frame, Mark, Row, description_of, draw};
use super::{Axis, Drawing, Picture, Shape, Unit, Width};
use crate::render::paint;
use crate::report::Report;
use crate::summary::{GroupReading, GroupSummary, Outcome, OutcomeClass, PairRow, Verdict};
use crate::text;

const ROWS_MAX: usize = 60;

/// Words that all pairs have in common go to the title and are left out of the labels, because a label that
/// begins like all others hides the part that differs. Controls are not shown: a baseline against itself is
/// no contrast. Beyond [`ROWS_MAX`] rows there is no picture; the table has them all.
pub(super) fn forest(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let summary = &report.summary;
    let (rows, against): (Vec<(String, &Outcome)>, String) = match &group.reading {
        GroupReading::Compare(comparison) => {
            let others = comparison.rows.iter().filter(|row| !summary.is_control(row.arm));
            let rows = others.filter(|row| row.outcome != Outcome::Baseline);
            let named = rows.map(|row| (summary.arm_name_in(comparison, row.arm), &row.outcome));
            (named.collect(), summary.arm_name_in(comparison, comparison.baseline))
        }
        GroupReading::Pairs(pairs) => {
            let first = pairs.rows.first()?;
            let than = pairs.rows.iter().all(|row| row.pair.than == first.pair.than);
            let at = pairs.rows.iter().all(|row| row.pair.at == first.pair.at);
            let label = |row: &PairRow| {
                let label = match than {
                    true => row.pair.subject.clone(),
                    false => format!("{} / {}", row.pair.subject, row.pair.than),
                };
                if at { label } else { format!("{label}: {}", row.pair.at) }
            };
            let against = if than { first.pair.than.clone() } else { String::new() };
            (pairs.rows.iter().map(|row| (label(row), &row.outcome)).collect(), against)
        }
        _ => return None,
    };
    let shown: Vec<(String, &Outcome)> =
        rows.into_iter().filter(|(_, outcome)| ratio(outcome).is_some()).collect();
    if shown.is_empty() || shown.len() > ROWS_MAX {
        return None;
    }
    let title = match against.as_str() {
        "" => group.title.clone(),
        against => format!("{} Against {against}", group.title),
    };
    let (drawing, description) = ratios(&shown, summary.rules.equivalence_band, width, axis_title(group));
    let described = format!("Ratios of times with intervals; {description}");
    Some(Picture::new("forest", Some(&group.name), &title, drawing, described))
}

fn axis_title(group: &GroupSummary) -> &'static str {
    match &group.reading {
        GroupReading::Pairs(pairs) if pairs.rows.iter().all(|row| row.pair.wall_time) => {
            "wall time per file, as a multiple of the other's; left is faster"
        }
        _ => "time, as a multiple of the other's; left is faster",
    }
}

/// With the band, and the end of the description.
pub(super) fn ratios(
    shown: &[(String, &Outcome)],
    band: f64,
    width: Width,
    title: &str,
) -> (Drawing, String) {
    let rows: Vec<Row> = shown.iter().map(|(label, outcome)| row(label, outcome)).collect();
    let (low, high) = (1.0 / (1.0 + band), 1.0 + band);
    // The band belongs to the extent of the axis even if all ratios are far from it.
    let values = shown.iter().filter_map(|(_, outcome)| outcome.adjusted()).flat_map(|ratio| ratio.ends());
    let axis = Axis::log(Unit::Ratio, values.chain([low, high]));
    let frame = Frame { band: Some((low, high)), line: Some(1.0), ..Frame::new(width, title, axis) };
    let description = format!("shaded: within {} of 1. {}.", text::chosen(band), description_of(&rows));
    (draw(&frame, &rows), description)
}

/// Ratios of zero or infinity have no place on a logarithmic axis.
pub(super) fn ratio(outcome: &Outcome) -> Option<f64> {
    outcome.ratio_value().filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

pub(super) fn words(outcome: &Outcome) -> String {
    let (ratio, verdict, _) = paint::outcome(outcome);
    match outcome {
        // `1.22x [1.19, 1.25] 1.22x slower` would repeat the ratio.
        Outcome::Judged { verdict: Verdict::Slower { negligible: false }, .. } => format!("{ratio} slower"),
        Outcome::Judged { verdict: Verdict::Inconclusive { .. }, .. } => format!("{ratio} inconclusive"),
        _ => format!("{ratio} {verdict}"),
    }
}

fn row(label: &str, outcome: &Outcome) -> Row {
    // Shape repeats the verdict, so that the chart can be read without colours.
    let (class, tone, shape) = match outcome.class() {
        Some(OutcomeClass::Faster) => ("good", "good", Shape::Triangle),
        Some(OutcomeClass::Slower) => ("bad", "bad", Shape::Square),
        Some(OutcomeClass::Open) => ("open", "faint", Shape::Circle),
        Some(OutcomeClass::Same) | None => ("even", "", Shape::Diamond),
    };
    let stroke = if class == "open" { "even" } else { class };
    let mut marks = Vec::new();
    if let Outcome::Judged { adjusted: Some(range), .. } = outcome {
        marks.push(Mark::Range { range: *range, class: stroke });
    }
    marks.extend(ratio(outcome).map(|at| Mark::Dot { at, shape, class: class.into() }));
    Row { tone, ..Row::new(label, words(outcome), marks) }
}
