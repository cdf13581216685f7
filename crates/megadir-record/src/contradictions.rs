//! Contradictions between a record's plan, its samples and its end, as sentences for reports.
//!
//! This also works without checksums. Lines that no reader could use are rejected while reading, see `check`.

use std::collections::BTreeSet;

use crate::jsonl::Record;
use crate::plan::Plan;
use crate::sample::{Phase, Sample};

pub fn contradictions(record: &Record) -> Vec<String> {
    let mut found = Contradictions::default();
    rounds(record, &mut found);
    times(record, &mut found);
    let mut sentences: Vec<String> = ending(record).into_iter().collect();
    sentences.extend(found.0.into_iter().map(|(_, first, more)| match more {
        0 => format!("{first}."),
        _ => format!("{first} (and {more} more)."),
    }));
    sentences
}

#[derive(PartialEq)]
enum Kind {
    Repeated,
    Missing,
    Place,
    Order,
    Gap,
    Start,
    Latency,
}

/// The first of each kind, and the number of further ones.
#[derive(Default)]
struct Contradictions(Vec<(Kind, String, u64)>);

impl Contradictions {
    fn add(&mut self, kind: Kind, words: impl FnOnce() -> String) {
        match self.0.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, _, more)) => *more += 1,
            None => self.0.push((kind, words(), 0)),
        }
    }
}

fn attempts(samples: &[Sample]) -> impl Iterator<Item = &[Sample]> {
    samples.chunk_by(|a, b| key(a) == key(b))
}

fn key(sample: &Sample) -> (u32, bool, u32, u32) {
    (sample.epoch, sample.phase == Phase::Measure, sample.round, sample.attempt)
}

fn named(plan: &Plan, sample: &Sample) -> String {
    let warm_up = if sample.phase == Phase::WarmUp { "warm-up " } else { "" };
    let epoch = if plan.rules.epochs > 1 { format!(" of epoch {}", sample.epoch + 1) } else { String::new() };
    format!("{warm_up}round {}{epoch}", u64::from(sample.round) + 1)
}

/// Arms that are duplicated in or missing from a round, and rounds that are missing or out of order.
fn rounds(record: &Record, found: &mut Contradictions) {
    // Attempts are runs of samples with the same epoch, phase, round and number of attempt, in the order of
    // the file. Within an epoch and a phase, an attempt is followed by the next round, or by the next attempt
    // at the same round. An arm that a refused block has stopped may be missing from then on. Each kind of
    // contradiction is one sentence with the number of further ones, so that a record that was mixed up does
    // not fill the report.
    let plan = &record.header.plan;
    let complete = record.end.as_ref().is_some_and(|end| end.complete);
    let (mut seen, mut stopped) = (vec![false; plan.arms.len()], vec![false; plan.arms.len()]);
    let mut before: Option<&Sample> = None;
    let mut attempts = attempts(&record.samples).peekable();
    while let Some(samples) = attempts.next() {
        let first = &samples[0];
        if before.is_none_or(|before| before.epoch != first.epoch) {
            stopped.fill(false);
        }
        sequence(plan, before, first, found);
        before = Some(first);
        seen.fill(false);
        let (mut place, mut skipped) = (0, false);
        for sample in samples {
            let planned = sample.arm.0 as usize;
            let arm = || &plan.arms[planned].name;
            if std::mem::replace(&mut seen[planned], true) {
                found.add(Kind::Repeated, || {
                    format!("`{}` is in {} more than once", arm(), named(plan, sample))
                });
            } else if sample.place < place {
                found.add(Kind::Place, || format!("The samples of {} are out of order", named(plan, sample)));
            }
            skipped |= sample.place > place;
            place = sample.place.saturating_add(1).max(place);
            if sample.refused.is_some() && !std::mem::replace(&mut stopped[planned], true) {
                plan.stopped_by(sample.arm).for_each(|planned| stopped[planned.0 as usize] = true);
            }
        }
        // The last round of an aborted run may lack arms; warm-up rounds are shorter anyway.
        if first.phase == Phase::Measure && (complete || attempts.peek().is_some()) {
            for planned in plan
                .arms
                .iter()
                .filter(|planned| !seen[planned.id.0 as usize] && !stopped[planned.id.0 as usize])
            {
                skipped = false;
                found.add(Kind::Missing, || {
                    format!("`{}` is missing from {}", planned.name, named(plan, first))
                });
            }
        }
        if skipped {
            found.add(Kind::Missing, || format!("A sample is missing from {}", named(plan, first)));
        }
    }
}

fn sequence(plan: &Plan, before: Option<&Sample>, first: &Sample, found: &mut Contradictions) {
    let same_series = |before: &&Sample| (before.epoch, before.phase) == (first.epoch, first.phase);
    let (round, attempt) = (u64::from(first.round), u64::from(first.attempt));
    match before {
        Some(before) if key(before) >= key(first) => found.add(Kind::Order, || {
            format!("The samples of {} follow the samples of {}", named(plan, first), named(plan, before))
        }),
        _ => {
            let follows = match before.filter(same_series) {
                None => (round, attempt) == (0, 0),
                Some(before) => {
                    let (last, tried) = (u64::from(before.round), u64::from(before.attempt));
                    (round, attempt) == (last + 1, 0) || (round, attempt) == (last, tried + 1)
                }
            };
            if !follows {
                found.add(Kind::Gap, || format!("Samples are missing before {}", named(plan, first)));
            }
        }
    }
}

/// Samples that start before the previous one, and samples without times of single operations.
fn times(record: &Record, found: &mut Contradictions) {
    let plan = &record.header.plan;
    for pair in record.samples.windows(2) {
        if pair[1].start_ns < pair[0].start_ns {
            found.add(Kind::Start, || {
                format!("A sample of {} starts before the preceding sample", named(plan, &pair[1]))
            });
        }
    }
    let mut timed: Vec<bool> = plan.arms.iter().map(|planned| planned.rate_per_s.is_some()).collect();
    let judged = |sample: &&Sample| sample.phase == Phase::Measure && sample.refused.is_none();
    let with_times = record.samples.iter().filter(judged).filter(|sample| sample.latency.is_some());
    with_times.for_each(|sample| timed[sample.arm.0 as usize] = true);
    for sample in record.samples.iter().filter(judged).filter(|sample| sample.latency.is_none()) {
        let planned = sample.arm.0 as usize;
        if timed[planned] || record.self_check.is_some() && plan.arms[planned].work.gaps_are_counted() {
            found.add(Kind::Latency, || {
                let arm = &plan.arms[planned].name;
                format!("`{arm}` lacks the times of its single operations in {}", named(plan, sample))
            });
        }
    }
}

fn ending(record: &Record) -> Option<String> {
    record.end.as_ref().filter(|end| end.complete)?;
    let rules = &record.header.plan.rules;
    if record.samples.iter().any(|sample| sample.refused.is_some()) {
        return None;
    }
    let firsts = attempts(&record.samples).map(|samples| &samples[0]);
    let measured = firsts.filter(|first| first.phase == Phase::Measure);
    let present: BTreeSet<(u32, u32)> = measured.map(|first| (first.epoch, first.round)).collect();
    let (present, planned) = (present.len() as u64, u64::from(rules.rounds));
    let least = rules.stop.rounds_min().map_or(planned, |least| u64::from(least).min(planned));
    (!(least..=planned).contains(&present)).then(|| {
        format!(
            "The end line says that the run is complete, but the record has {present} of {planned} rounds."
        )
    })
}
