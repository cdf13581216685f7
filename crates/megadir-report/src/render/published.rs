//! Published figures next to the run's.
//!
//! Three cases for each figure: an arm of this run did the same on like data, and its figure is shown; an
//! arm did the same on other data, and the difference is shown in place of a figure; or no arm did it. A
//! figure that does not compare is never printed next to a published one.

use std::collections::BTreeSet;

use megadir_record::{Arm, ArmId, CacheState, Keys, Published, Role, Work};

use crate::render::grid::{Column, Grid, Text, headings};
use crate::render::groups::{self, RAW_CALLS, prints_speed_ups};
use crate::summary::{
    Contrast, Figure, GroupReading, GroupSummary, Outcome, Summary, entries_nowhere, unlike,
};
use crate::text;

pub(crate) const TITLE: &str = "Published, and here";

pub(crate) fn grid(summary: &Summary, group: Option<&GroupSummary>) -> Option<Grid> {
    let figures = figures(summary, group);
    let columns = headings![left "published" 0, right "there" 0, right "here" 0, left "measured by" 1];
    let row = |figure: &&Published| {
        let (by, here) = match here(summary, group, figure) {
            // Without an arm the plan knows that the data differ; with one, its figure would mislead.
            (Some(why), _) => (format!("nothing: {why}"), String::new()),
            (None, Some(ours)) => (ours.name, ours.figure),
            (None, None) => (String::new(), String::new()),
        };
        [figure.quantity.clone(), value(figure), here, by].map(Text::plain).into()
    };
    let legend = "There: as published, on another machine. Here: this run's arm that does the same, where there is one.";
    let rows: Vec<Vec<Text>> = figures.iter().map(row).collect();
    (!rows.is_empty()).then(|| Grid::new(columns, rows, legend))
}

pub(crate) fn sentence(summary: &Summary, group: Option<&GroupSummary>) -> Option<String> {
    let phrase = |figure: &&Published| {
        let here = match here(summary, group, figure) {
            (Some(why), _) => format!(" (not comparable: {why})"),
            (None, Some(ours)) => format!(" (here {}, {})", ours.figure, ours.name),
            (None, None) => String::new(),
        };
        format!("{}: {}{here}", figure.quantity, value(figure))
    };
    let figures: Vec<String> = figures(summary, group).iter().map(phrase).collect();
    (!figures.is_empty()).then(|| format!("Published, another machine: {}.", figures.join("; ")))
}

/// Figures without a group belong to the study as a whole.
fn figures<'a>(summary: &'a Summary, group: Option<&GroupSummary>) -> Vec<&'a Published> {
    let belongs = |figure: &&Published| match (group, &figure.group) {
        (None, of) => of.is_none(),
        (Some(group), Some(of)) => group.is_of(of),
        (Some(_), None) => false,
    };
    summary.published.iter().filter(belongs).collect()
}

/// The reason why this run's figure does not compare, and the figure, if there is one.
fn here(
    summary: &Summary,
    group: Option<&GroupSummary>,
    figure: &Published,
) -> (Option<String>, Option<Ours>) {
    let ours = group.and_then(|group| ours(summary, group, figure));
    let why = match &ours {
        Some(ours) => unlike(summary, figure, ours.arm),
        None => entries_nowhere(summary, figure),
    };
    (why.or(figure.unlike.clone()), ours)
}

/// Units of study files are ASCII; large whole numbers are grouped.
fn value(figure: &Published) -> String {
    match figure.unit.as_str() {
        "ratio" => text::ratio(figure.value, None),
        unit if figure.value >= 1e4 && figure.value.fract() == 0.0 => {
            format!("{} {unit}", text::count(figure.value as u64))
        }
        unit => format!("{} {}", figure.value, if unit == "us" { "µs" } else { unit }),
    }
}

struct Ours {
    name: String,
    figure: String,
    arm: ArmId,
}

/// The run's counterpart of a published figure. A study names it by `ours`, an arm or a program, and its
/// meaning depends on the rule of the group. `None` if the group has no such figure or it was not measured:
/// then the published one stands alone, since the nearest other arm would be a wrong comparison.
fn ours(summary: &Summary, group: &GroupSummary, figure: &Published) -> Option<Ours> {
    let wanted = figure.ours.as_deref();
    match &group.reading {
        GroupReading::Decompose(read) => {
            let (name, an_entry) = match wanted? {
                "slow" => (&read.slow_name, read.slow_ns),
                "fast" => (&read.fast_name, read.fast_ns),
                _ => return None,
            };
            // Decompositions are per entry; the source timed whole directories.
            let whole: Figure = an_entry.scaled(read.entries as f64);
            let of_group = summary.arms.iter().find(|arm| arm.planned.groups.contains(&group.name))?;
            let name = format!("{name}, {}", text::entries(read.entries));
            Some(Ours { name, figure: text::time_with_interval(&whole), arm: of_group.planned.id })
        }
        GroupReading::Compare(read) => {
            let named = |arm| summary.arm_name(arm);
            let row = pick(&read.rows, wanted?, |row| named(row.arm))?;
            let here = match figure.unit.as_str() {
                "x" => groups::judged_speed_up(&row.outcome)?,
                "ratio" => row.outcome.ratio_text(),
                _ => text::time_with_interval(&summary.timing(row.arm)?.time_ns),
            };
            Some(Ours { name: named(row.arm).to_owned(), figure: here, arm: row.arm })
        }
        GroupReading::Pairs(read) => {
            let row = pick(&read.rows, wanted?, |row| &row.pair.subject)?;
            let name = format!("{}, {}", row.pair.subject, summary.circumstances_in_full(&row.pair));
            Some(Ours { name, figure: row.outcome.ratio_text(), arm: row.pair.arm })
        }
        // The last bucket stands for the filling.
        GroupReading::Fill(read) => {
            let last = read.buckets.last()?;
            let name = format!("among {} to {} files", text::count(last.from), text::count(last.to));
            Some(Ours { name, figure: last.outcome.ratio_text(), arm: last.arm })
        }
        GroupReading::Refusal(read) => {
            let of_group = summary.arms.iter().find(|arm| arm.planned.groups.contains(&group.name))?;
            let figure = format!("{} entries", text::count(read.mean.round() as u64));
            let name = format!("mean of {} directories", read.directories);
            Some(Ours { name, figure, arm: of_group.planned.id })
        }
        GroupReading::Grow(_) | GroupReading::BreakEven(_) | GroupReading::Unreadable { .. } => None,
    }
}

/// The row of this name, otherwise the last that contains it: the largest directory.
fn pick<'r, Row>(rows: &'r [Row], wanted: &str, name: impl Fn(&'r Row) -> &'r str) -> Option<&'r Row> {
    let exact = rows.iter().find(|row| name(row) == wanted);
    exact.or_else(|| rows.iter().rfind(|row| name(row).contains(wanted)))
}

pub(crate) const SOURCE_TABLE_TITLE: &str = "The source's table, measured here";

/// The source of one study prints speed-ups, the source of another lookups; both have the form of their own
/// table, which readers may compare line by line.
pub(crate) fn grid_source_table(summary: &Summary) -> Option<Grid> {
    match prints_speed_ups(summary) {
        true => attributes(summary),
        false if summary.published.is_empty() => None,
        false => lookups(summary),
    }
}

/// All compared arms, with their contrasts.
fn rows(summary: &Summary) -> impl Iterator<Item = (&Arm, &Contrast)> {
    let all = summary.groups.iter().flat_map(|group| match &group.reading {
        GroupReading::Compare(comparison) => &comparison.rows[..],
        _ => &[],
    });
    let all = all.filter_map(move |row| Some((&summary.arm(row.arm)?.planned, row)));
    all.filter(|(planned, _)| planned.role != Role::Control)
}

/// Only lookups of one fixed name, as in the source.
fn lookups(summary: &Summary) -> Option<Grid> {
    let fixed = |planned: &Arm| matches!(planned.work, Work::Lookup { keys: Keys::Fixed, .. });
    let rows: Vec<Vec<Text>> = rows(summary)
        .filter(|(planned, _)| fixed(planned))
        .map(|(planned, contrast)| {
            let timing = summary.timing(planned.id);
            let time = |ns: Option<f64>| ns.map(text::time).unwrap_or_default();
            let ratio = match contrast.outcome {
                Outcome::Baseline => "1".to_owned(),
                ref other => other.ratio_text(),
            };
            let fields = [
                planned.name.clone(),
                time(timing.map(|timing| timing.mean_ns)),
                time(timing.and_then(|timing| timing.error_ns)),
                time(timing.and_then(|timing| timing.deviation_ns)),
                time(timing.map(|timing| timing.time_ns.value)),
                ratio,
            ];
            fields.map(Text::plain).into()
        })
        .collect();
    let columns = headings![
        left "looked up" 0, right "Mean" 0, right "Error" 0, right "StdDev" 0, right "Median" 0, left "Ratio" 0
    ];
    let legend = "Times of one look-up over the rounds. Error: half of the mean's 99.9 % interval; StdDev: standard deviation; Ratio: to the first row.";
    let raw = if summary.machine.kernel.starts_with("Linux") { RAW_CALLS } else { "" };
    (!rows.is_empty()).then(|| Grid::new(columns, rows, format!("{legend}{raw}")))
}

/// Row of the source's table: a method in one state of the cache.
#[derive(Clone, PartialEq, Eq)]
struct Way {
    method: String,
    state: CacheState,
}

/// Rebuilds the table of the published source: a row for each method and state of the cache, and two columns
/// for each number of files. On narrow terminals the columns of the smallest numbers are dropped first.
/// Methods keep the order of the plan, whichever size has them first.
fn attributes(summary: &Summary) -> Option<Grid> {
    let mut ways: Vec<Way> = Vec::new();
    let mut sizes = BTreeSet::new();
    let mut figures = Vec::new();
    for (planned, contrast) in rows(summary) {
        let Some(method) = method(summary, planned) else { continue };
        let entries = summary.data_set(planned.data)?.entries;
        let way = Way { method, state: planned.cache };
        sizes.insert(entries);
        if !ways.contains(&way) {
            ways.push(way.clone());
        }
        figures.push((way, entries, contrast));
    }
    let methods: Vec<String> = ways.iter().map(|way| way.method.clone()).collect();
    let first = |way: &Way| methods.iter().position(|method| *method == way.method);
    // First runs above second runs of the same method, as in the source.
    ways.sort_by_key(|way| (first(way), std::cmp::Reverse(run(way.state).0)));
    let states: BTreeSet<(u8, &str)> = ways.iter().map(|way| run(way.state)).collect();
    let several = states.len() > 1;
    let mut columns = vec![Column::left("method", 0)];
    if several {
        columns.push(Column::left("run", 0));
    }
    for (place, entries) in sizes.iter().enumerate() {
        // The rank of a column rises towards small sizes: their columns give way first.
        let rank = (sizes.len() - 1 - place) as u8;
        columns.push(Column::right(format!("{} files", text::count(*entries)), rank));
        columns.push(Column::right("speed-up", rank));
    }
    let row = |way: &Way| {
        let run = several.then(|| run(way.state).1.to_owned());
        let mut fields: Vec<String> = std::iter::once(way.method.clone()).chain(run).collect();
        for entries in &sizes {
            let figure = figures.iter().find(|(of, on, _)| of == way && on == entries);
            let time = figure.and_then(|(.., contrast)| summary.timing(contrast.arm));
            fields.push(time.map_or_else(|| "-".into(), |timing| text::time(timing.time_ns.value)));
            fields.push(figure.map(|(.., contrast)| without_interval(&contrast.outcome)).unwrap_or_default());
        }
        fields.into_iter().map(Text::plain).collect()
    };
    let rows = ways.iter().map(row).collect();
    (!ways.is_empty()).then(|| Grid::new(columns, rows, legend(&states, &ways)))
}

fn method(summary: &Summary, planned: &Arm) -> Option<String> {
    let Work::Attributes { method, threads, .. } = &planned.work else { return None };
    let on = summary.data_set(planned.data).and_then(|data| data.on);
    let label = on.and_then(|on| summary.file_systems.iter().find(|of| of.id == on)).map(|of| &of.label);
    let threads = if *threads > 1 { format!(", {threads} threads") } else { String::new() };
    Some(format!("{method}{threads}{}", label.map(|label| format!(", {label}")).unwrap_or_default()))
}

/// Order and name of a state: the source calls an uncached pass the first run, and a cached one the second.
fn run(state: CacheState) -> (u8, &'static str) {
    match state {
        CacheState::Warm => (0, "second"),
        CacheState::Unseen => (1, "first, unseen"),
        CacheState::DataCold => (2, "data-cold"),
        CacheState::VfsCold => (3, "first, vfs-cold"),
        CacheState::FsCold => (4, "first, fs-cold"),
    }
}

/// The source has no intervals, and two columns for each size leave no room for them.
fn without_interval(outcome: &Outcome) -> String {
    let speed_up = groups::speed_up(outcome);
    speed_up.split(" [").next().unwrap_or_default().to_owned()
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
