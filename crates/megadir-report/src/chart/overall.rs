//! File systems over all kinds of work: the time of each as a multiple of the smallest, with the equivalence
//! band.

use super::axis::{Axis, Unit};
use super::forest::{row, values, words};
use super::picture::Width;
use super::rows::{Frame, Row, draw};
use super::{Chart, Picture};
use crate::report::Report;
use crate::summary::{Figure, Outcome, Overview};
use crate::text;

pub(super) struct Overall;

impl Chart for Overall {
    fn name(&self) -> &'static str {
        "overall"
    }

    fn answers(&self) -> &'static str {
        "Which file system takes least over all kinds of work?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        let overview = report.summary.overview.as_ref();
        overview.and_then(|overview| picture(report, overview, width)).into_iter().collect()
    }
}

fn picture(report: &Report, overview: &Overview, width: Width) -> Option<Picture> {
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
    let frame = Frame {
        width,
        axis: &|places| Axis::log(Unit::Ratio, values.iter().copied(), places),
        title: "time, as a multiple of the other's; left is faster",
        band: Some((1.0 / (1.0 + band), 1.0 + band)),
        line: Some(1.0),
        key: Vec::new(),
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
