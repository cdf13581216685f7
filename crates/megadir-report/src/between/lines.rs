//! Sentences and grid shared by all text formats of a comparison.

use super::warned::capital;
use super::{Basis, Between, Row};
use crate::render::{Column, Grid, Text, Tone, outcome_tone};
use crate::summary::Resolution;
use crate::text;

/// Sentences of a comparison, in order.
pub(crate) struct Lines {
    /// Both sides of the comparison.
    pub(crate) heading: String,
    /// Warnings, printed above the numbers.
    pub(crate) alarms: Vec<String>,
    /// Limits of what the numbers show.
    pub(crate) caution: Option<String>,
    /// Result of the gate in one sentence, then the reasons.
    pub(crate) gate: Vec<String>,
    /// Legend, and arms without a row.
    pub(crate) notes: Vec<String>,
}

impl Lines {
    pub(crate) fn of(between: &Between) -> Self {
        let mut alarms: Vec<String> =
            between.differences.iter().map(|difference| format!("Not the same {difference}.")).collect();
        alarms.extend(between.disturbances.iter().cloned());
        alarms.extend(between.doubts.iter().map(|doubt| format!("{}: {}", capital(&doubt.run), doubt.text)));
        Self {
            heading: format!("Study {}: {}", between.study, sides(between)),
            alarms,
            caution: caution(between),
            gate: gate(between),
            notes: notes(between),
        }
    }
}

fn sides(between: &Between) -> String {
    match between.basis {
        Basis::Rounds => "a new run against an old one".into(),
        Basis::Runs | Basis::TooFewRuns => format!(
            "{} against {}",
            text::counted(between.new_runs.len() as u64, "new run"),
            text::counted(between.old_runs.len() as u64, "old run")
        ),
    }
}

/// Explains what the runs do not show about the versions.
fn caution(between: &Between) -> Option<String> {
    let needed = megadir_stats::RUNS_MIN;
    match between.basis {
        Basis::Runs => None,
        Basis::Rounds => Some(format!(
            "This shows how these two runs differ, not whether the versions do: two runs of one version differ too, often by several \
             per cent. For the versions take {needed} or more runs a side (--old A B C --new D E F)."
        )),
        Basis::TooFewRuns => {
            Some(format!("Nothing is judged: an interval over runs takes {needed} runs on either side."))
        }
    }
}

fn gate(between: &Between) -> Vec<String> {
    let Some(gate) = &between.gate else { return Vec::new() };
    std::iter::once(gate.verdict()).chain(gate.lines().iter().map(|line| capital(line) + ".")).collect()
}

fn notes(between: &Between) -> Vec<String> {
    let ratio = "Ratio: new / old, below 1 the new run is faster.";
    let mut notes = vec![match between.basis {
        Basis::Rounds => format!(
            "{ratio} [ ]: 95 % interval (Mann-Whitney), adjusted for all rows (Holm). Two runs share no rounds: what differed between \
             them as wholes, such as load, is in the ratios."
        ),
        Basis::Runs => "Ratio: new / old, below 1 the new version is faster. Each run is one observation: times are medians of the runs' \
                        medians, ratios those of geometric means. [ ]: 95 % interval over runs (Welch), adjusted for all rows (Holm). \
                        (~n): the number of runs a side that would probably decide."
            .into(),
        Basis::TooFewRuns => ratio.into(),
    }];
    for (which, resolution) in [("old", &between.resolution_old), ("new", &between.resolution_new)] {
        let half_width = |resolution: &Resolution| resolution.half_width_percent;
        let of_run = resolution.iter().find_map(half_width).filter(|_| between.basis == Basis::Rounds);
        notes.extend(
            of_run.map(|percent| format!("The {which} run's own resolution: {}.", text::percent(percent))),
        );
    }
    let (old, new) = match between.basis {
        Basis::Rounds => ("run", "run"),
        Basis::Runs | Basis::TooFewRuns => ("runs", "runs"),
    };
    for (which, runs, arms) in [("old", old, &between.only_old), ("new", new, &between.only_new)] {
        if !arms.is_empty() {
            notes.push(format!("Only in the {which} {runs}: {}.", arms.join("; ")));
        }
    }
    notes
}

pub(crate) fn grid(between: &Between) -> Grid {
    let runs = between.basis != Basis::Rounds;
    let columns = vec![
        Column::left("arm", 0),
        Column::right("old", 1),
        Column::right("new", 1),
        Column::right(if runs { "runs" } else { "rounds" }, 2),
        Column::left("ratio", 0),
        Column::left("verdict", 0),
    ];
    let caches = between.rows.iter().any(|row| row.cache != between.rows[0].cache);
    let row = |row: &Row| {
        let (ratio, verdict, tone) = outcome_tone(&row.outcome);
        let time = |figure: &Option<crate::Figure>| {
            figure.map(|figure| text::time(figure.value)).unwrap_or_default()
        };
        let name = if caches { format!("{} ({})", row.arm, row.cache) } else { row.arm.clone() };
        let counts = match runs {
            true => format!("{}/{}", row.old_each_ns.len(), row.new_each_ns.len()),
            false => format!("{}/{}", row.old_rounds, row.new_rounds),
        };
        let fields = [name, time(&row.old_ns), time(&row.new_ns), counts, ratio];
        fields.into_iter().map(Text::plain).chain([Text { text: verdict, tone }]).collect()
    };
    let mut rows: Vec<Vec<Text>> = between.rows.iter().map(row).collect();
    if let Some(mean) = between.geometric_mean {
        let of = format!("of {}", text::counted(between.ratios as u64, "ratio"));
        let empty = String::new;
        let fields = ["geometric mean".into(), empty(), empty(), empty(), text::ratio(mean, None), of];
        rows.push(fields.map(|text| Text { text, tone: Tone::Heading }).into());
    }
    Grid { columns, rows, legend: Vec::new(), bars: None }
}
