//! Comparison of runs as CSV (RFC 4180, LF line ends). The column `row` gives the kind of row; only layout is
//! lost.

use super::{Between, Row};
use crate::render::outcome_words;
use crate::summary::Outcome;

const HEADINGS: [&str; 15] = [
    "row",
    "arm",
    "cache",
    "old_runs",
    "new_runs",
    "old_rounds",
    "new_rounds",
    "old_ns",
    "new_ns",
    "ratio",
    "low",
    "high",
    "adjusted_low",
    "adjusted_high",
    "text",
];

#[must_use]
pub fn csv(between: &Between) -> String {
    let mut text = HEADINGS.join(",") + "\n";
    let mut push = |fields: [String; 15]| {
        text.push_str(&fields.map(quoted).join(","));
        text.push('\n');
    };
    between.rows.iter().for_each(|row| push(of_arm(between, row)));
    if let Some(mean) = between.geometric_mean {
        let mut fields = said("geometric-mean", String::new(), String::new());
        fields[9] = number(mean);
        push(fields);
    }
    let arms = [("only-old", &between.only_old), ("only-new", &between.only_new)];
    arms.into_iter().for_each(|(kind, arms)| {
        arms.iter().for_each(|arm| push(said(kind, arm.clone(), String::new())));
    });
    let texts = [("difference", &between.differences), ("disturbance", &between.disturbances)];
    texts.into_iter().for_each(|(kind, lines)| {
        lines.iter().for_each(|line| push(said(kind, String::new(), line.clone())));
    });
    for doubt in &between.doubts {
        push(said("warning", String::new(), format!("{}: {}", doubt.run, doubt.text)));
    }
    for reason in &between.unjudged {
        push(said("unjudged", reason.arms.join("; "), format!("{}: {}", reason.kind.name(), reason.text)));
    }
    for line in
        between.gate.iter().flat_map(|gate| std::iter::once(gate.says.name().to_owned()).chain(gate.lines()))
    {
        push(said("gate", String::new(), line));
    }
    text
}

fn of_arm(between: &Between, row: &Row) -> [String; 15] {
    let (_, verdict) = outcome_words(&row.outcome);
    let (ratio, own, adjusted) = match &row.outcome {
        Outcome::Judged { ratio, adjusted, .. } => (Some(ratio.value), ratio.interval, *adjusted),
        Outcome::TooFewRounds { ratio } => (Some(*ratio), None, None),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => (None, None, None),
    };
    let field = |value: Option<f64>| value.map(number).unwrap_or_default();
    [
        "arm".into(),
        row.arm.clone(),
        row.cache.clone(),
        between.old_runs.len().to_string(),
        between.new_runs.len().to_string(),
        row.old_rounds.to_string(),
        row.new_rounds.to_string(),
        field(row.old_ns.map(|figure| figure.value)),
        field(row.new_ns.map(|figure| figure.value)),
        field(ratio),
        field(own.map(|range| range.low)),
        field(own.map(|range| range.high)),
        field(adjusted.map(|range| range.low)),
        field(adjusted.map(|range| range.high)),
        verdict,
    ]
}

fn said(kind: &str, arm: String, text: String) -> [String; 15] {
    let mut fields = [const { String::new() }; 15];
    fields[0] = kind.into();
    fields[1] = arm;
    fields[14] = text;
    fields
}

/// Prints a number with nine digits, like JSON.
fn number(value: f64) -> String {
    format!("{value:.8e}").parse::<f64>().map_or_else(|_| value.to_string(), |rounded| rounded.to_string())
}

fn quoted(field: String) -> String {
    if field.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}
