//! Published figures next to the run's figures, if the study maps one to the other.

use megadir_record::{CellId, Published};

use super::grid::{Column, Grid, Text};
use super::outcome::outcome;
use crate::summary::{Figure, GroupReading, GroupSummary, Outcome, Range, Summary, entries_nowhere, unlike};
use crate::text;

pub(crate) const TITLE: &str = "Published, and here";

/// Returns the figures of a group (`None`: of no group) as a grid.
pub(crate) fn grid(summary: &Summary, group: Option<&GroupSummary>) -> Option<Grid> {
    let figures = figures(summary, group);
    let columns = vec![
        Column::left("published", 0),
        Column::right("there", 0),
        Column::right("here", 0),
        Column::left("measured by", 1),
    ];
    let row = |figure: &&Published| {
        let ours = group.and_then(|group| ours(summary, group, figure));
        let (by, here) = match (unlike_ours(summary, figure, ours.as_ref()), ours) {
            // No arm: the plan knows that the data differ. An arm with different data: its figure would
            // mislead.
            (Some(why), _) => (format!("nothing: {why}"), String::new()),
            (None, Some(ours)) => (ours.name, ours.figure),
            (None, None) => (String::new(), String::new()),
        };
        [figure.what.clone(), value(figure), here, by].map(Text::plain).into()
    };
    let legend = "There: as published, on another machine. Here: this run's arm that does the same, where there is one.";
    let rows: Vec<Vec<Text>> = figures.iter().map(row).collect();
    (!rows.is_empty()).then(|| Grid { columns, rows, legend: vec![legend.into()], bars: None })
}

/// Returns them as a sentence.
pub(crate) fn sentence(summary: &Summary, group: Option<&GroupSummary>) -> Option<String> {
    let one = |figure: &&Published| {
        let ours = group.and_then(|group| ours(summary, group, figure));
        let here = match (unlike_ours(summary, figure, ours.as_ref()), ours) {
            (Some(why), _) => format!(" (not comparable: {why})"),
            (None, Some(ours)) => format!(" (here {}, {})", ours.figure, ours.name),
            (None, None) => String::new(),
        };
        format!("{}: {}{here}", figure.what, value(figure))
    };
    let figures: Vec<String> = figures(summary, group).iter().map(one).collect();
    (!figures.is_empty()).then(|| format!("Published, another machine: {}.", figures.join("; ")))
}

/// Returns the figures of a group (`None`: of no group).
fn figures<'a>(summary: &'a Summary, group: Option<&GroupSummary>) -> Vec<&'a Published> {
    let belongs = |figure: &&Published| match (group, &figure.group) {
        (None, of) => of.is_none(),
        (Some(group), Some(of)) => group.is_of(of),
        (Some(_), None) => false,
    };
    summary.published.iter().filter(belongs).collect()
}

/// Returns why the figure is not comparable with this run; `None` if it is.
fn unlike_ours(summary: &Summary, figure: &Published, ours: Option<&Ours>) -> Option<String> {
    let why = match ours {
        Some(ours) => unlike(summary, figure, ours.arm),
        None => entries_nowhere(summary, figure),
    };
    why.or(figure.unlike.clone())
}

fn value(figure: &Published) -> String {
    match figure.unit.as_str() {
        "ratio" => text::ratio(figure.value, None),
        unit if figure.value >= 1e4 && figure.value.fract() == 0.0 => {
            format!("{} {unit}", text::count(figure.value as u64))
        }
        unit => format!("{} {}", figure.value, if unit == "us" { "µs" } else { unit }),
    }
}

/// The run's counterpart of a published figure.
struct Ours {
    name: String,
    figure: String,
    /// Arm whose data must be like the source's.
    arm: CellId,
}

fn ours(summary: &Summary, group: &GroupSummary, figure: &Published) -> Option<Ours> {
    let wanted = figure.ours.as_deref();
    match &group.reading {
        GroupReading::Decompose(read) => {
            let (name, an_entry) = match wanted? {
                "slow" => (&read.slow_name, read.slow_ns),
                "fast" => (&read.fast_name, read.fast_ns),
                _ => return None,
            };
            let whole: Figure = an_entry.scaled(read.entries as f64);
            let of_group = summary.arms.iter().find(|arm| arm.cell.groups.contains(&group.name))?;
            let name = format!("{name}, {}", text::entries(read.entries));
            Some(Ours { name, figure: text::time_with_interval(&whole), arm: of_group.cell.id })
        }
        GroupReading::Compare(read) => {
            let named = |arm| summary.arm_name(arm);
            let row = pick(&read.rows, wanted?, |row| named(row.arm))?;
            let here = match figure.unit.as_str() {
                "x" => speed_up(&row.outcome)?,
                "ratio" => outcome(&row.outcome).0,
                _ => text::time_with_interval(&summary.arm(row.arm)?.timing.as_ref()?.time_ns),
            };
            Some(Ours { name: named(row.arm).to_owned(), figure: here, arm: row.arm })
        }
        GroupReading::Pairs(read) => {
            let row = pick(&read.rows, wanted?, |row| &row.pair.what)?;
            let (here, ..) = outcome(&row.outcome);
            let name = format!("{}, {}", row.pair.what, summary.circumstances_in_full(&row.pair));
            Some(Ours { name, figure: here, arm: row.pair.arm })
        }
        GroupReading::Fill(read) => {
            let last = read.buckets.last()?;
            let (here, ..) = outcome(&last.outcome);
            let name = format!("among {} to {} files", text::count(last.from), text::count(last.to));
            Some(Ours { name, figure: here, arm: last.arm })
        }
        GroupReading::Refusal(read) => {
            let of_group = summary.arms.iter().find(|arm| arm.cell.groups.contains(&group.name))?;
            let figure = format!("{} entries", text::count(read.mean.round() as u64));
            let name = format!("mean of {} directories", read.directories);
            Some(Ours { name, figure, arm: of_group.cell.id })
        }
        GroupReading::Grow(_) | GroupReading::BreakEven(_) | GroupReading::Unreadable { .. } => None,
    }
}

/// Returns the row of this name, otherwise the last that contains it: the largest directory.
fn pick<'r, Row>(rows: &'r [Row], wanted: &str, name: impl Fn(&'r Row) -> &'r str) -> Option<&'r Row> {
    let exact = rows.iter().find(|row| name(row) == wanted);
    exact.or_else(|| rows.iter().rfind(|row| name(row).contains(wanted)))
}

fn speed_up(outcome: &Outcome) -> Option<String> {
    let turned = |range: Range| Range { low: 1.0 / range.high, high: 1.0 / range.low };
    match outcome {
        Outcome::Judged { ratio, adjusted, .. } => Some(text::ratio(1.0 / ratio.value, adjusted.map(turned))),
        Outcome::TooFewRounds { ratio } => Some(text::ratio(1.0 / ratio, None)),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => None,
    }
}
