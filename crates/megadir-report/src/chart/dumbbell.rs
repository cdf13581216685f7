//! Times of the same arm in two states, connected: cold and warm, written and synced.

use std::collections::BTreeMap;

use megadir_record::{ArmId, SyncPolicy, Work};

use crate::chart::axis::{Axis, Unit};
use crate::chart::drawing::Shape;
use crate::chart::picture::Width;
use crate::chart::rows::{Frame, Mark, Row, draw, key_of};
use crate::chart::{Picture, of_groups};
use crate::report::Report;
use crate::summary::{Figure, GroupReading, GroupSummary, PairRow, Summary};
use crate::text;

pub(super) fn dumbbell(report: &Report, width: Width) -> Vec<Picture> {
    of_groups(report, |group| of_group(&report.summary, group, width))
}

/// By the position of their state in the key.
type States = BTreeMap<usize, ArmId>;

fn of_group(summary: &Summary, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Pairs(pairs) = &group.reading else { return None };
    let state = |arm: ArmId| summary.arm(arm).map(|arm| arm.planned.cache);
    let differs = |row: &&PairRow| state(row.pair.arm) != state(row.pair.to);
    let (mut names, mut rows): (Vec<&str>, Vec<(String, States)>) = (Vec::new(), Vec::new());
    for row in pairs.rows.iter().filter(differs) {
        for (name, arm) in [(row.pair.than.as_str(), row.pair.to), (row.pair.what.as_str(), row.pair.arm)] {
            let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            let at = summary.circumstances(&row.pair);
            match rows.iter_mut().find(|(known, _)| *known == at) {
                Some((_, states)) => {
                    states.insert(place, arm);
                }
                None => rows.push((at, States::from([(place, arm)]))),
            }
        }
    }
    let time = |arm: ArmId| summary.arm(arm).and_then(|arm| Some(arm.timing.as_ref()?.time_ns.value));
    let shown: Vec<(String, Vec<(usize, f64)>)> = rows
        .iter()
        .map(|(at, states)| {
            (at.clone(), states.iter().filter_map(|(place, arm)| Some((*place, time(*arm)?))).collect())
        })
        .filter(|(_, times): &(String, Vec<(usize, f64)>)| times.len() > 1)
        .collect();
    if shown.is_empty() {
        return None;
    }
    let drawn: Vec<Row> = shown.iter().map(|(at, times)| row(at, times)).collect();
    let values: Vec<f64> = shown.iter().flat_map(|(_, times)| times.iter().map(|(_, time)| *time)).collect();
    let frame = Frame {
        width,
        axis: &|places| Axis::log(Unit::Time, values.iter().copied(), places),
        title: "median time of an operation",
        band: None,
        line: None,
        key: key_of(&names),
    };
    let told: Vec<String> = shown
        .iter()
        .map(|(at, times)| {
            let each: Vec<String> = times
                .iter()
                .map(|(place, time)| format!("{} {}", names[*place], text::time(*time)))
                .collect();
            format!("{at}: {}", each.join(", "))
        })
        .collect();
    Some(
        Picture::new("dumbbell", Some(&group.name), &group.title, draw(&frame, &drawn))
            .described(format!("Median times in each state of the cache. {}.", told.join("; "))),
    )
}

fn row(at: &str, times: &[(usize, f64)]) -> Row {
    let (low, high) = crate::chart::axis::bounds(times.iter().map(|(_, time)| *time)).unwrap_or((1.0, 1.0));
    let dots = times.iter().map(|(place, time)| Mark::Dot {
        at: *time,
        shape: Shape::of(*place),
        class: format!("s{place}"),
    });
    let span = Mark::Span { from: low, to: high, class: "grid" };
    let value: Vec<String> = times.iter().map(|(_, time)| text::time(*time)).collect();
    Row {
        label: at.into(),
        value: value.join(" / "),
        tone: "",
        marks: [span].into_iter().chain(dots).collect(),
        heading: false,
    }
}

pub(super) fn durability(report: &Report, width: Width) -> Vec<Picture> {
    of_groups(report, |group| of_group_durability(&report.summary, group, width))
}

fn of_group_durability(summary: &Summary, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Pairs(pairs) = &group.reading else { return None };
    let differs = |row: &&PairRow| sync(summary, row.pair.arm) != sync(summary, row.pair.to);
    let rows: Vec<&PairRow> = pairs.rows.iter().filter(differs).collect();
    let names = text::distinct(rows.iter().flat_map(|row| [row.pair.than.as_str(), row.pair.what.as_str()]));
    let (mut drawn, mut values) = (Vec::new(), Vec::new());
    for row in &rows {
        let (one, of_row) = row_durability(summary, row, &names);
        drawn.push(one);
        values.extend(of_row);
    }
    if drawn.is_empty() {
        return None;
    }
    let frame = Frame {
        width,
        axis: &|places| Axis::log(Unit::Time, values.iter().copied(), places),
        title: "median time of a file",
        band: None,
        line: None,
        key: key_of(&names),
    };
    let told: Vec<String> = drawn.iter().map(|row| format!("{}: {}", row.label, row.value)).collect();
    Some(
        Picture::new("durability", Some(&group.name), &group.title, draw(&frame, &drawn)).described(format!(
            "Median times, {}. {}.",
            names.join(" / "),
            told.join("; ")
        )),
    )
}

fn row_durability(summary: &Summary, row: &PairRow, names: &[&str]) -> (Row, Vec<f64>) {
    let time = |arm: ArmId| summary.arm(arm).and_then(|arm| Some(arm.timing.as_ref()?.time_ns));
    let (mut marks, mut told, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (name, arm) in [(&row.pair.than, row.pair.to), (&row.pair.what, row.pair.arm)] {
        let place = names.iter().position(|known| known == name).unwrap_or(0);
        let Some(figure) = time(arm) else { continue };
        marks.extend(interval(&figure));
        marks.push(Mark::Dot { at: figure.value, shape: Shape::of(place), class: format!("s{place}") });
        values.push(figure.value);
        values.extend(figure.interval.iter().flat_map(|range| [range.low, range.high]));
        told.push(text::time(figure.value));
    }
    let label = summary.circumstances(&row.pair);
    (Row { label, value: told.join(" / "), tone: "", marks, heading: false }, values)
}

fn interval(figure: &Figure) -> Option<Mark> {
    figure.interval.map(|range| Mark::Interval { low: range.low, high: range.high, class: "even" })
}

fn sync(summary: &Summary, arm: ArmId) -> Option<SyncPolicy> {
    match &summary.arm(arm)?.planned.work {
        Work::Files(work) => Some(work.sync),
        _ => None,
    }
}
