//! Cold and warm: the times of each arm in every cache state, connected.

use std::collections::BTreeMap;

use super::axis::{Axis, Unit};
use super::drawing::Shape;
use super::picture::Width;
use super::rows::{Frame, Mark, Row, draw, key_of};
use super::{Chart, Picture, of_groups};
use crate::report::Report;
use crate::summary::{GroupReading, GroupSummary, PairRow, Summary};
use crate::text;
use megadir_record::CellId;

pub(super) struct Dumbbell;

impl Chart for Dumbbell {
    fn name(&self) -> &'static str {
        "dumbbell"
    }

    fn answers(&self) -> &'static str {
        "How much does a cold cache cost?"
    }

    fn draw(&self, report: &Report, width: Width) -> Vec<Picture> {
        of_groups(report, |group| of_group(&report.summary, group, width))
    }
}

/// Arms of one row, indexed by the position of their state in the key.
type States = BTreeMap<usize, CellId>;

fn of_group(summary: &Summary, group: &GroupSummary, width: Width) -> Option<Picture> {
    let GroupReading::Pairs(pairs) = &group.reading else { return None };
    let state = |arm: CellId| summary.arm(arm).map(|arm| arm.cell.cache);
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
    let time = |arm: CellId| summary.arm(arm).and_then(|arm| Some(arm.timing.as_ref()?.time_ns.value));
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
    let (low, high) = super::axis::bounds(times.iter().map(|(_, time)| *time)).unwrap_or((1.0, 1.0));
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
