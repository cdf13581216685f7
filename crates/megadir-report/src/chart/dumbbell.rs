//! Times of the same arm in two states, connected: cold and warm, written and synced.
//!
//! ```text
//! warm   cold                       shape and colour: the state
//!   o------<>       12 us / 480 us   line: the same arm in both states
//! ```
//!
//! The axis is logarithmic, because an uncached access may take a hundred times as long as a cached one.

use std::collections::BTreeMap;

use megadir_record::{ArmId, Work};

use crate::chart::rows::{Frame, Mark, Row, description_of, draw, key_of};
use crate::chart::{Axis, Picture, Shape, Unit, Width, bounds};
use crate::report::Report;
use crate::summary::{GroupReading, GroupSummary, PairRow};
use crate::text;

pub(super) fn dumbbell(report: &Report, group: &GroupSummary, width: Width) -> Option<Picture> {
    let summary = &report.summary;
    let state = |arm: ArmId| summary.arm(arm).map(|arm| arm.planned.cache);
    let (pairs, names) = differing(group, state)?;
    let rows = pairs.into_iter().map(|row| (summary.circumstances(&row.pair), sides(row, &names)));
    let (mut drawn, mut values, mut phrases) = (Vec::new(), Vec::new(), Vec::new());
    for (at, sides) in text::grouped(rows) {
        let states: BTreeMap<usize, ArmId> = sides.into_iter().flatten().collect();
        let time = |(place, arm)| Some((place, summary.timing(arm)?.time_ns.value));
        let times: Vec<(usize, f64)> = states.into_iter().filter_map(time).collect();
        // An arm that was measured in one state only has nothing to be connected with.
        if times.len() > 1 {
            drawn.push(row(&at, &times));
            values.extend(times.iter().map(|(_, time)| *time));
            let each = times.iter().map(|(place, time)| format!("{} {}", names[*place], text::time(*time)));
            phrases.push(format!("{at}: {}", each.collect::<Vec<_>>().join(", ")));
        }
    }
    if drawn.is_empty() {
        return None;
    }
    let axis = Axis::log(Unit::Time, values);
    let frame = Frame { key: key_of(&names), ..Frame::new(width, "median time of an operation", axis) };
    let described = format!("Median times in each state of the cache. {}.", phrases.join("; "));
    Some(Picture::new("dumbbell", Some(&group.name), &group.title, draw(&frame, &drawn), described))
}

/// The pairs whose arms differ in `state`, and the names of the states.
fn differing<State: PartialEq>(
    group: &GroupSummary,
    state: impl Fn(ArmId) -> State,
) -> Option<(Vec<&PairRow>, Vec<&str>)> {
    let GroupReading::Pairs(pairs) = &group.reading else { return None };
    let differs = |row: &&PairRow| state(row.pair.arm) != state(row.pair.to);
    let rows: Vec<&PairRow> = pairs.rows.iter().filter(differs).collect();
    let names =
        text::distinct(rows.iter().flat_map(|row| [row.pair.than.as_str(), row.pair.subject.as_str()]));
    Some((rows, names))
}

/// Shapes follow the states, not the rows, so that one state looks the same everywhere.
fn sides(row: &PairRow, names: &[&str]) -> [(usize, ArmId); 2] {
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    [(place(&row.pair.than), row.pair.to), (place(&row.pair.subject), row.pair.arm)]
}

fn row(at: &str, times: &[(usize, f64)]) -> Row {
    let (low, high) = bounds(times.iter().map(|(_, time)| *time)).unwrap_or((1.0, 1.0));
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
    let sync = |arm: ArmId| match &summary.arm(arm)?.planned.work {
        Work::Files(work) => Some(work.sync),
        _ => None,
    };
    let (pairs, names) = differing(group, sync)?;
    let (mut drawn, mut values) = (Vec::new(), Vec::new());
    for row in pairs {
        let (mut marks, mut phrases) = (Vec::new(), Vec::new());
        for (place, arm) in sides(row, &names) {
            let Some(figure) = summary.timing(arm).map(|timing| timing.time_ns) else { continue };
            marks.extend(figure.interval.map(|range| Mark::Range { range, class: "even" }));
            marks.push(Mark::Dot { at: figure.value, shape: Shape::of(place), class: format!("s{place}") });
            values.extend(figure.ends());
            phrases.push(text::time(figure.value));
        }
        drawn.push(Row::new(summary.circumstances(&row.pair), phrases.join(" / "), marks));
    }
    if drawn.is_empty() {
        return None;
    }
    let axis = Axis::log(Unit::Time, values);
    let frame = Frame { key: key_of(&names), ..Frame::new(width, "median time of a file", axis) };
    let described = format!("Median times, {}. {}.", names.join(" / "), description_of(&drawn));
    Some(Picture::new("durability", Some(&group.name), &group.title, draw(&frame, &drawn), described))
}
