//! Two programs decomposed: stacked bars, and each factor's share in the difference.

use super::rows::{Frame, Mark, Row, description_of, draw};
use super::{Axis, Picture, SERIES, Shape, Unit, Width};
use crate::report::Report;
use crate::summary::{Decomposition, Factor, Figure, GroupReading, GroupSummary};
use crate::text;

pub(super) fn shares(report: &Report, width: Width) -> Vec<Picture> {
    let of_group = |group: &GroupSummary| match &group.reading {
        GroupReading::Decompose(read) => {
            // Cost by factor first, since it answers the question; the whole programs put it into
            // proportion.
            vec![of_difference(group, read, width), stacked(group, read, width)]
        }
        _ => Vec::new(),
    };
    report.summary.groups.iter().flat_map(of_group).collect()
}

fn of_difference(group: &GroupSummary, read: &Decomposition, width: Width) -> Picture {
    let row = |factor: &Factor| {
        let cost = factor.cost_ns;
        let share = factor.share.map(|share| format!("{}, ", text::share(&share))).unwrap_or_default();
        // Factors whose cost may be zero are grey.
        let class = if cost.interval.is_some_and(|range| range.contains(0.0)) { "even" } else { "s0" };
        Row::bar(&factor.name, format!("{share}{}", text::time(cost.value)), cost, class)
    };
    let factors = read.factors.iter().filter(|factor| !factor.common);
    let rows: Vec<Row> = factors.clone().map(row).collect();
    let axis = Axis::from_zero(Unit::Time, factors.flat_map(|factor| factor.cost_ns.ends()));
    let frame = Frame { line: Some(0.0), ..Frame::new(width, "part of the difference, an entry", axis) };
    let title = format!("What {} takes more than {}, by factor", read.slow_name, read.fast_name);
    let described = format!(
        "Parts of the difference of {} an entry, with 95 % intervals. {}.",
        text::time_with_interval(&read.difference_ns),
        description_of(&rows)
    );
    Picture::new("shares", Some(&group.name), &title, draw(&frame, &rows), described)
}

/// A step can have a negative time, if noise exceeds its cost or it saves more than it takes. Such steps
/// extend to the left of zero, and the rest to the right, so that the bars of one side sum to the total. Both
/// bars have the same colours and order of factors.
fn stacked(group: &GroupSummary, read: &Decomposition, width: Width) -> Picture {
    let program = |name: &str, whole: Figure, part: fn(&Factor) -> Option<Figure>| {
        let (mut right, mut left, mut marks) = (0.0, 0.0, Vec::new());
        for (place, factor) in read.factors.iter().enumerate() {
            let ns = part(factor).map_or(0.0, |figure| figure.value);
            let end = if ns < 0.0 { &mut left } else { &mut right };
            marks.push(Mark::Bar { from: *end, to: *end + ns, class: format!("cell {}", shade(place)) });
            *end += ns;
        }
        (Row::new(name, text::time_with_interval(&whole), marks), [left, right])
    };
    let slow = program(&read.slow_name, read.slow_ns, |factor| factor.slow_ns);
    let fast = program(&read.fast_name, read.fast_ns, |factor| factor.fast_ns);
    let step = |figure: Option<Figure>, none: &str| {
        figure.map_or_else(|| none.to_owned(), |figure| text::time(figure.value))
    };
    let key = |(place, factor): (usize, &Factor)| {
        let [slow, fast] = [factor.slow_ns, factor.fast_ns].map(|ns| step(ns, "-"));
        (Shape::Square, shade(place), format!("{} {slow} / {fast}", factor.name))
    };
    let frame = Frame {
        line: Some(0.0),
        key: read.factors.iter().enumerate().map(key).collect(),
        ..Frame::new(width, "time an entry", Axis::from_zero(Unit::Time, [slow.1, fast.1].concat()))
    };
    let phrases = |factor: &Factor| {
        let [slow, fast] = [factor.slow_ns, factor.fast_ns].map(|ns| step(ns, "none"));
        format!("{}: {slow} and {fast}", factor.name)
    };
    let phrases: Vec<String> = read.factors.iter().map(phrases).collect();
    let title = format!("Both programs by factor, {} each", text::entries(read.entries));
    let described = format!(
        "Time an entry of {} and of {}, by factor. {}.",
        read.slow_name,
        read.fast_name,
        phrases.join("; ")
    );
    Picture::new("shares", Some(&group.name), &title, draw(&frame, &[slow.0, fast.0]), described)
}

/// More factors than colours repeat them in a lighter shade.
fn shade(place: usize) -> String {
    let lighter = if place < SERIES { "" } else { " again" };
    format!("s{}{lighter}", place % SERIES)
}
