//! Times of the same arm in two states, connected: cold and warm, written and synced.

use std::collections::BTreeMap;

use megadir_record::{ArmId, SyncPolicy, Work};

use crate::chart::Picture;
use crate::chart::axis::{Axis, Unit};
use crate::chart::drawing::Shape;
use crate::chart::picture::Width;
use crate::chart::rows::{Frame, Mark, Row, draw, key_of};
use crate::report::Report;
use crate::summary::{GroupReading, GroupSummary, PairRow, Summary};
use crate::text;

/// By the position of their state in the key.
type States = BTreeMap<usize, ArmId>;

pub(super) fn dumbbell(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let summary = &report.summary;
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
    let axis = |places| Axis::log(Unit::Time, values.iter().copied(), places);
    let frame = Frame { key: key_of(&names), ..Frame::new(width, "median time of an operation", &axis) };
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
    Row::new(at, value.join(" / "), [span].into_iter().chain(dots).collect())
}

pub(super) fn durability(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let summary = &report.summary;
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
    let axis = |places| Axis::log(Unit::Time, values.iter().copied(), places);
    let frame = Frame { key: key_of(&names), ..Frame::new(width, "median time of a file", &axis) };
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
        marks.extend(figure.interval.map(|range| Mark::interval(range, "even")));
        marks.push(Mark::Dot { at: figure.value, shape: Shape::of(place), class: format!("s{place}") });
        values.extend(figure.ends());
        told.push(text::time(figure.value));
    }
    let label = summary.circumstances(&row.pair);
    (Row::new(label, told.join(" / "), marks), values)
}

fn sync(summary: &Summary, arm: ArmId) -> Option<SyncPolicy> {
    match &summary.arm(arm)?.planned.work {
        Work::Files(work) => Some(work.sync),
        _ => None,
    }
}
