//! Tables in the shape of two sources, with the figures of this run.
//!
//! Look-ups: mean, error, standard deviation, median, and the ratio to the first row. Methods of reading
//! attributes: time and speed-up on every directory, first and second run.

use std::collections::BTreeSet;

use megadir_record::{CacheState, Cell, Keys, Role, Work};

use super::grid::{Column, Grid, Text};
use super::groups::{RAW_CALLS, speed_up, tells_speed_ups};
use super::outcome::outcome;
use crate::summary::{Comparison, Contrast, GroupReading, Outcome, Summary};
use crate::text;

pub(crate) const TITLE: &str = "The source's table, measured here";

/// Returns the table of the study's source; `None` if there is none.
pub(crate) fn grid(summary: &Summary) -> Option<Grid> {
    let comparisons = summary.groups.iter().filter_map(|group| match &group.reading {
        GroupReading::Compare(comparison) => Some(comparison),
        _ => None,
    });
    let comparisons: Vec<&Comparison> = comparisons.collect();
    match tells_speed_ups(summary) {
        true => attributes(summary, &comparisons),
        false if summary.published.is_empty() => None,
        false => lookups(summary, &comparisons),
    }
}

/// An arm of a comparison; `None` for the baseline against itself.
fn rows<'a>(
    summary: &'a Summary,
    comparison: &'a Comparison,
) -> impl Iterator<Item = (&'a Cell, &'a Contrast)> {
    let row = |row: &'a Contrast| Some((&summary.arm(row.arm)?.cell, row));
    comparison.rows.iter().filter_map(row).filter(|(cell, _)| cell.role != Role::AgainstItself)
}

/// Returns the table of repeated look-ups of one name.
fn lookups(summary: &Summary, comparisons: &[&Comparison]) -> Option<Grid> {
    let fixed = |cell: &Cell| matches!(cell.work, Work::Lookup { keys: Keys::Fixed, .. });
    let arms = comparisons.iter().flat_map(|comparison| rows(summary, comparison));
    let rows: Vec<Vec<Text>> = arms
        .filter(|(cell, _)| fixed(cell))
        .map(|(cell, contrast)| {
            let timing = summary.arm(cell.id).and_then(|arm| arm.timing.as_ref());
            let time = |ns: Option<f64>| ns.map(text::time).unwrap_or_default();
            let ratio = match contrast.outcome {
                Outcome::Baseline => "1".to_owned(),
                ref other => outcome(other).0,
            };
            let fields = [
                cell.name.clone(),
                time(timing.map(|timing| timing.mean_ns)),
                time(timing.and_then(|timing| timing.error_ns)),
                time(timing.and_then(|timing| timing.deviation_ns)),
                time(timing.map(|timing| timing.time_ns.value)),
                ratio,
            ];
            fields.map(Text::plain).into()
        })
        .collect();
    let headings = ["Mean", "Error", "StdDev", "Median"].map(|heading| Column::right(heading, 0));
    let columns = std::iter::once(Column::left("looked up", 0)).chain(headings);
    let legend = "Times of one look-up over the rounds. Error: half of the mean's 99.9 % interval; StdDev: standard deviation; Ratio: to the first row.";
    let raw = if summary.machine.kernel.starts_with("Linux") { RAW_CALLS } else { "" };
    (!rows.is_empty()).then(|| Grid {
        columns: columns.chain([Column::left("Ratio", 0)]).collect(),
        rows,
        legend: vec![format!("{legend}{raw}")],
        bars: None,
    })
}

/// A method in one cache state on one file system.
#[derive(Clone, PartialEq, Eq)]
struct Way {
    method: String,
    state: CacheState,
}

/// Returns the table of methods: time and speed-up on every directory, first and second run.
fn attributes(summary: &Summary, comparisons: &[&Comparison]) -> Option<Grid> {
    let mut ways: Vec<Way> = Vec::new();
    let mut sizes = BTreeSet::new();
    let mut figures = Vec::new();
    for comparison in comparisons {
        for (cell, contrast) in rows(summary, comparison) {
            let Some(method) = method(summary, cell) else { continue };
            let entries = summary.data.iter().find(|check| check.data.id == cell.data)?.data.entries;
            let way = Way { method, state: cell.cache };
            sizes.insert(entries);
            if !ways.contains(&way) {
                ways.push(way.clone());
            }
            figures.push((way, entries, contrast));
        }
    }
    // The first run of each method precedes the second.
    let methods: Vec<String> = ways.iter().map(|way| way.method.clone()).collect();
    let first = |way: &Way| methods.iter().position(|method| *method == way.method);
    ways.sort_by_key(|way| (first(way), std::cmp::Reverse(run(way.state).0)));
    let states: BTreeSet<(u8, &str)> = ways.iter().map(|way| run(way.state)).collect();
    let several = states.len() > 1;
    let mut columns = vec![Column::left("method", 0)];
    if several {
        columns.push(Column::left("run", 0));
    }
    for (place, entries) in sizes.iter().enumerate() {
        let rank = (sizes.len() - 1 - place) as u8;
        columns.push(Column::right(format!("{} files", text::count(*entries)), rank));
        columns.push(Column::right("speed-up", rank));
    }
    let row = |way: &Way| {
        let run = several.then(|| run(way.state).1.to_owned());
        let mut fields: Vec<String> = std::iter::once(way.method.clone()).chain(run).collect();
        for entries in &sizes {
            let figure = figures.iter().find(|(of, on, _)| of == way && on == entries);
            let time = figure.and_then(|(.., contrast)| summary.arm(contrast.arm)?.timing.as_ref());
            fields.push(time.map_or_else(|| "-".into(), |timing| text::time(timing.time_ns.value)));
            fields.push(figure.map(|(.., contrast)| without_interval(&contrast.outcome)).unwrap_or_default());
        }
        fields.into_iter().map(Text::plain).collect()
    };
    let rows = ways.iter().map(row).collect();
    (!ways.is_empty()).then(|| Grid { columns, rows, legend: vec![legend(&states, &ways)], bars: None })
}

/// Returns the name of a method, with threads and location; `None` for other work.
fn method(summary: &Summary, cell: &Cell) -> Option<String> {
    let Work::Attributes { method, threads, .. } = &cell.work else { return None };
    let on = summary.data.iter().find(|check| check.data.id == cell.data).and_then(|check| check.data.on);
    let label = on.and_then(|on| summary.file_systems.iter().find(|of| of.id == on)).map(|of| &of.label);
    let threads = if *threads > 1 { format!(", {threads} threads") } else { String::new() };
    Some(format!("{method}{threads}{}", label.map(|label| format!(", {label}")).unwrap_or_default()))
}

/// Maps a cache state to the source's run, coldest last, and its name.
fn run(state: CacheState) -> (u8, &'static str) {
    match state {
        CacheState::Warm => (0, "second"),
        CacheState::Unseen => (1, "first, unseen"),
        CacheState::DataCold => (2, "data-cold"),
        CacheState::VfsCold => (3, "first, vfs-cold"),
        CacheState::FsCold => (4, "first, fs-cold"),
    }
}

/// Prints a speed-up without interval: the groups have it.
fn without_interval(outcome: &Outcome) -> String {
    let told = speed_up(outcome);
    told.split(" [").next().unwrap_or_default().to_owned()
}

fn legend(states: &BTreeSet<(u8, &str)>, ways: &[Way]) -> String {
    let slowest = ways.first().map_or("", |way| way.method.as_str());
    let mut legend = format!(
        "Medians; speed-up: as many times as fast as {slowest} in the same run, which does what the source's slowest does."
    );
    let has = |name: &str| states.iter().any(|(_, of)| of.ends_with(name));
    if has("second") && states.len() > 1 {
        legend.push_str(" Second: cached.");
    }
    if has("unseen") {
        legend.push_str(
            " First, unseen: the files were recreated, and nothing had listed or queried them since; memory holds the leftovers of creating them.",
        );
    }
    if has("vfs-cold") || has("fs-cold") {
        legend.push_str(" First, cold: the cache was dropped.");
    }
    if !states.iter().any(|(_, name)| name.starts_with("first")) {
        legend.push_str(
            " All is cached: the source's second run. First runs: --cache warm,unseen, or where caches can be dropped --cache warm,vfs-cold --drop-caches.",
        );
    }
    legend
}
