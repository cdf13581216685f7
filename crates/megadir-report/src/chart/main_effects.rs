//! Main effects: each level of a factor averaged over all levels of the others, for complete crossings.
//!
//! ```text
//! arm = one level of each factor -> log time by round - mean over all arms -> mean over the level -> median
//! ```
//!
//! Averages are fair only if all combinations of levels exist, so incomplete levels are dropped first.

use super::rows::{Frame, Mark, Row, draw};
use super::{Axis, Picture, Shape, Unit, Width};
use crate::report::Report;
use crate::summary::{Figure, Interval, Summary};
use crate::text;
use megadir_record::{Arm, ArmId, Keys, Role, Work, axes};

type Levels = (ArmId, Vec<String>);

struct Design {
    factors: Vec<&'static str>,
    arms: Vec<Levels>,
}

/// Averages are taken round by round over logarithms, so that an effect is a ratio, and slow arms do not
/// outweigh fast ones. The intervals are of the median over rounds, and are not adjusted for the number
/// of levels: the picture gives an overview, and verdicts are in the groups.
pub(super) fn main_effects(report: &Report, width: Width) -> Option<Picture> {
    let Design { factors, arms } = design(&report.summary)?;
    let ids: Vec<ArmId> = arms.iter().map(|(arm, _)| *arm).collect();
    let logs = |times: Vec<f64>| -> Vec<f64> { times.into_iter().map(libm::log).collect() };
    let logs: Vec<Vec<f64>> = report.rounds().paired(&ids).into_iter().map(logs).collect();
    let (mut rows, mut values, mut phrases) = (Vec::new(), vec![1.0], Vec::new());
    for (place, factor) in factors.into_iter().enumerate() {
        rows.push(Row::heading(factor));
        for level in levels(&arms, place) {
            let has = |arm: &Levels| arm.1[place] == level;
            let effect = effect(&arms, &logs, has, report.summary.rules.confidence)?;
            let number = arms.iter().filter(|arm| has(arm)).count();
            let dot = Mark::Dot { at: effect.value, shape: Shape::of(place), class: format!("s{place}") };
            let interval = effect.interval.map(|range| Mark::Range { range, class: "even" });
            let marks = interval.into_iter().chain([dot]).collect();
            values.extend(effect.ends());
            let ratio = text::ratio(effect.value, effect.interval);
            phrases.push(format!("{factor} {level}: {ratio}"));
            let label = format!("{level} ({})", text::counted(number as u64, "arm"));
            rows.push(Row::new(label, ratio, marks));
        }
    }
    let axis = Axis::log(Unit::Ratio, values);
    let frame = Frame {
        line: Some(1.0),
        ..Frame::new(width, "time, as a multiple of the geometric mean of all arms here", axis)
    };
    let title = format!("What each factor does, on average over {}", text::counted(arms.len() as u64, "arm"));
    let described = format!(
        "Geometric mean of the times of all arms with a level over the mean of all arms, median of the rounds. {}.",
        phrases.join("; ")
    );
    Some(Picture::new("main-effects", None, &title, draw(&frame, &rows), described))
}

fn effect(
    arms: &[Levels],
    logs: &[Vec<f64>],
    has: impl Fn(&Levels) -> bool,
    confidence: f64,
) -> Option<Figure> {
    let of_round = |round: usize| {
        let mean = |wanted: &dyn Fn(&Levels) -> bool| {
            let chosen: Vec<f64> =
                arms.iter().zip(logs).filter(|(arm, _)| wanted(arm)).map(|(_, logs)| logs[round]).collect();
            chosen.iter().sum::<f64>() / chosen.len() as f64
        };
        mean(&has) - mean(&|_| true)
    };
    let effects: Vec<f64> = (0..logs.first()?.len()).map(of_round).collect();
    let figure = Figure::median_of(&effects, confidence)?;
    let exp = |range: Interval| Interval { low: libm::exp(range.low), high: libm::exp(range.high) };
    let interval = figure.interval.map(exp);
    Some(Figure { value: libm::exp(figure.value), interval })
}

/// Only kinds of work whose arms are a crossing of factors. Arms of any other kind end the chart.
fn factors(summary: &Summary, planned: &Arm) -> Option<Vec<(&'static str, String)>> {
    let entries = ("entries", text::count(summary.data_set(planned.data)?.entries));
    let cache = ("cache", planned.cache.name().to_owned());
    Some(match &planned.work {
        Work::Lookup { presence, keys, call } => {
            let keys = if *keys == Keys::Fixed { "one and the same" } else { axes::keys_words(*keys) };
            let call = ("call", call.name().to_owned());
            vec![("names", presence.name().into()), ("asked for", keys.into()), call, entries, cache]
        }
        Work::Attributes { method, threads, .. } => {
            let by = format!("{method}, {}", text::counted(u64::from(*threads), "thread"));
            vec![("method", by), entries, cache]
        }
        _ => return None,
    })
}

fn levels(arms: &[Levels], place: usize) -> Vec<String> {
    text::distinct(arms.iter().map(|(_, of)| of[place].clone()))
}

/// Drops incomplete levels, the rarest first; `None` for fewer than two factors.
///
/// An average over the levels of the other factors is only fair if every combination was measured. So the
/// rarest level is removed with its arms until the crossing is complete; a factor that no longer varies is
/// dropped. Arms that did other work than planned would shift every average, and are left out from the start.
fn design(summary: &Summary) -> Option<Design> {
    let planned_arms = summary
        .arms
        .iter()
        .filter(|arm| arm.planned.role != Role::Control && arm.rounds > 0 && arm.work.is_equal());
    let mut names: Vec<&'static str> = Vec::new();
    let mut arms: Vec<Levels> = Vec::new();
    for arm in planned_arms {
        let factors = factors(summary, &arm.planned)?;
        names = factors.iter().map(|(name, _)| *name).collect();
        arms.push((arm.planned.id, factors.into_iter().map(|(_, level)| level).collect()));
    }
    loop {
        let varies: Vec<bool> = (0..names.len()).map(|place| levels(&arms, place).len() > 1).collect();
        let keep = |place: &usize| varies[*place];
        names = (0..names.len()).filter(keep).map(|place| names[place]).collect();
        for (_, of) in &mut arms {
            *of = (0..of.len()).filter(keep).map(|place| of[place].clone()).collect();
        }
        if names.len() < 2 {
            return None;
        }
        // Complete: as many arms as combinations of levels.
        let all: usize = (0..names.len()).map(|place| levels(&arms, place).len()).product();
        if arms.len() == all {
            return Some(Design { factors: names, arms });
        }
        let count = |place: usize, level: &String| arms.iter().filter(|(_, of)| of[place] == *level).count();
        let rarest = (0..names.len())
            .flat_map(|place| levels(&arms, place).into_iter().map(move |level| (place, level)));
        // Ties are broken by the order of the factors, so that the picture does not depend on times.
        let (place, level) = rarest.min_by_key(|(place, level)| count(*place, level))?;
        arms.retain(|(_, of)| of[place] != level);
    }
}
