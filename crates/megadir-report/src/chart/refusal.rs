//! Number of entries at the first refusal, beside predicted and published numbers.

use super::axis::{Axis, Unit};
use super::drawing::Shape;
use super::picture::Width;
use super::rows::{Frame, Mark, Row, draw};
use super::{Chart, Picture, of_groups};
use crate::report::Report;
use crate::summary::{GroupReading, GroupSummary};
use crate::text;

pub(super) struct Refused;

impl Chart for Refused {
    fn name(&self) -> &'static str {
        "refusal"
    }

    fn answers(&self) -> &'static str {
        "After how many entries is one refused, and was that predicted?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        of_groups(report, |group| of_group(report, group, width))
    }
}

fn of_group(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Refusal(refusal) = &group.reading else { return None };
    let (least, most) = (refusal.least as f64, refusal.most as f64);
    let bar = |to: f64, class: &str| Mark::Bar { from: 0.0, to, class: class.into() };
    let mut rows = vec![Row {
        label: format!("measured, {}", directories(refusal.directories)),
        value: format!(
            "{} ({} to {})",
            text::count(refusal.mean.round() as u64),
            text::count(refusal.least),
            text::count(refusal.most)
        ),
        tone: "",
        marks: vec![bar(refusal.mean, "s0"), Mark::Interval { low: least, high: most, class: "rule" }],
        heading: false,
    }];
    let mut values = vec![most];
    if let Some(predicted) = &refusal.predicted {
        let [at, low, high] =
            [predicted.entries, predicted.low, predicted.high].map(|entries| entries as f64);
        values.extend([at, high]);
        rows.push(Row {
            label: "predicted before the first".into(),
            value: format!(
                "{} [{}, {}]",
                text::count(predicted.entries),
                text::count(predicted.low),
                text::count(predicted.high)
            ),
            tone: "",
            marks: vec![bar(at, "s2"), Mark::Interval { low, high, class: "rule" }],
            heading: false,
        });
    }
    for published in report.summary.published.iter().filter(|figure| {
        let of_group = figure.group.as_ref() == Some(&group.name) && figure.unit == "entries";
        of_group && (0.5..2.0).contains(&(figure.value / refusal.mean))
    }) {
        values.push(published.value);
        rows.push(Row {
            label: format!("published: {}", published.what),
            value: text::count(published.value.max(0.0).round() as u64),
            tone: "",
            marks: vec![Mark::Dot { at: published.value, shape: Shape::Diamond, class: "s3".into() }],
            heading: false,
        });
    }
    let frame = Frame {
        width,
        axis: &|places| Axis::from_zero(Unit::Count, values.iter().copied(), places),
        title: "entries when the first file was refused",
        band: None,
        line: None,
        key: Vec::new(),
    };
    let told: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.label, row.value)).collect();
    let drawing = draw(&frame, &rows);
    let described = format!("Entries when the first file was refused. {}.", told.join("; "));
    Some(Picture::new("refusal", Some(&group.name), &group.title, drawing).described(described))
}

fn directories(number: usize) -> String {
    if number == 1 { "1 directory".into() } else { format!("{} directories", text::count(number as u64)) }
}
