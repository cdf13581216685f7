//! A run as one row of CSV: its time, the commit, and the time and ratio of each arm. Rows of many runs are what tools that look for
//! change points read (Apache Otava: `time_column: time`, `attributes: [commit]`, any other column as a metric).
//!
//! ```text
//! time,study,megadir,commit,rounds,ARM ns,ARM low ns,ARM high ns,ARM ratio,ARM ratio low,ARM ratio high,...
//! ```
//!
//! Runs of one plan have the same columns in the same order, also if one ended early, so that a second run without its first line continues
//! the file of the first. A program or a file system that is missing leaves its arms out of the plan. `time` is the start of the run in
//! seconds since 1970, UTC. What was not measured or has no interval is empty.

use crate::render::quoted;
use crate::report::Report;
use crate::summary::{GroupReading, Outcome};
use megadir_record::ArmId;

/// Header and row.
///
/// All figures are those of the report: medians of rounds, nanoseconds an operation, and ratios to the baseline of the group.
pub fn history(report: &Report) -> String {
    let (header, summary) = (&report.record.header, &report.summary);
    let machine = &header.machine;
    let mut columns = ["time", "study", "megadir", "commit", "rounds"].map(str::to_owned).to_vec();
    let mut values = vec![
        header.started_unix_s.to_string(),
        header.plan.study.clone(),
        machine.version.clone(),
        machine.commit.clone().unwrap_or_default(),
        summary.progress.rounds_used.to_string(),
    ];
    for arm in &summary.arms {
        let name = arm.planned.name.as_str();
        let figure = arm.timing.as_ref().map(|timing| &timing.time_ns);
        let interval = figure.and_then(|figure| figure.interval);
        push(&mut columns, &mut values, format!("{name} ns"), figure.map(|figure| figure.value));
        push(&mut columns, &mut values, format!("{name} low ns"), interval.map(|interval| interval.low));
        push(&mut columns, &mut values, format!("{name} high ns"), interval.map(|interval| interval.high));
    }
    for (arm, ratio, bounds) in ratios(report) {
        let name = summary.arms[arm.0 as usize].planned.name.as_str();
        push(&mut columns, &mut values, format!("{name} ratio"), ratio);
        push(&mut columns, &mut values, format!("{name} ratio low"), bounds.map(|(low, _)| low));
        push(&mut columns, &mut values, format!("{name} ratio high"), bounds.map(|(_, high)| high));
    }
    let line = |fields: &[String]| fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",");
    format!("{}\n{}\n", line(&columns), line(&values))
}

fn push(columns: &mut Vec<String>, values: &mut Vec<String>, column: String, value: Option<f64>) {
    columns.push(column);
    values.push(value.map(|value| crate::render::rounded(value).to_string()).unwrap_or_default());
}

type Bounds = Option<(f64, f64)>;

/// Every arm but the baselines, in its first group. The bounds are adjusted for all arms of the group.
fn ratios(report: &Report) -> Vec<(ArmId, Option<f64>, Bounds)> {
    let mut ratios: Vec<(ArmId, Option<f64>, Bounds)> = Vec::new();
    for group in &report.summary.groups {
        let GroupReading::Compare(comparison) = &group.reading else { continue };
        for row in &comparison.rows {
            let (ratio, bounds) = match &row.outcome {
                Outcome::Baseline => continue,
                Outcome::Judged { ratio, adjusted, .. } => {
                    (Some(ratio.value), adjusted.map(|interval| (interval.low, interval.high)))
                }
                Outcome::TooFewRounds { ratio } => (Some(*ratio), None),
                Outcome::Unequal | Outcome::NotMeasured => (None, None),
            };
            if ratios.iter().all(|(arm, ..)| *arm != row.arm) {
                ratios.push((row.arm, ratio, bounds));
            }
        }
    }
    ratios
}
