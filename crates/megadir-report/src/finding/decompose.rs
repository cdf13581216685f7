//! Finding on two programs: how much of the difference between them each factor explains.
//!
//! The claim that one factor is the cause holds if the interval of its share lies above one half, fails if it
//! lies below, and is undecided otherwise.

use super::{Finding, FindingKind};
use crate::summary::{
    Arm, Claim, Decomposition, Factor, Figure, GroupReading, ReadingFactor, Summary, rounds_for_interval,
};
use crate::text;

/// Factors with a smaller share are named without a figure.
const LITTLE: f64 = 0.05;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let told = summary.groups.iter().filter_map(|group| {
        let GroupReading::Decompose(decomposition) = &group.reading else { return None };
        let of_group = |arm: &&Arm| arm.cell.groups.contains(&group.name);
        let arm = summary.arms.iter().find(of_group);
        let file_system = arm.map_or(&*summary.machine.file_system.kind, |arm| summary.place(arm.cell.id));
        let text = tell(summary, decomposition, file_system);
        Some(Finding::of_group(FindingKind::Decomposition, &group.name, text))
    });
    told.collect()
}

fn tell(summary: &Summary, decomposition: &Decomposition, file_system: &str) -> String {
    let Decomposition { slow_name, fast_name, difference_ns, .. } = decomposition;
    let figures = text::time_with_interval(difference_ns);
    match difference_ns.interval {
        Some(interval) if interval.contains(0.0) => format!(
            "On {file_system}, {slow_name} and {fast_name} are not distinguishable: {figures} an entry between them, so there is no difference to explain."
        ),
        Some(interval) if interval.high < 0.0 => {
            let whole = Figure { value: -difference_ns.value, interval: None };
            format!(
                "On {file_system}, {slow_name} is the faster of the two: {fast_name} takes {} an entry more (difference {figures}). The difference that was to be explained is not there.",
                text::time(whole.value)
            )
        }
        Some(_) => format!(
            "On {file_system}, of the {figures} an entry between {slow_name} and {fast_name}, {}.{}",
            shares(&decomposition.factors),
            decomposition.reading.as_ref().map(|reading| judge_claim(summary, reading)).unwrap_or_default()
        ),
        None => format!(
            "On {file_system}, of about {figures} an entry between {slow_name} and {fast_name}, {}; with {} (no interval under {} rounds) nothing can be said for sure.",
            shares(&decomposition.factors),
            text::counted(decomposition.rounds as u64, "round"),
            rounds_for_interval(summary.rules.confidence)
        ),
    }
}

/// Lists the factors that are not common to both programs, largest share first.
fn shares(factors: &[Factor]) -> String {
    let known = |factor: &Factor| factor.share.filter(|_| !factor.common);
    let mut shares: Vec<(&str, Figure)> =
        factors.iter().filter_map(|factor| Some((factor.name.as_str(), known(factor)?))).collect();
    shares.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let verb = |place: usize| if place == 0 { "goes into" } else { "into" };
    let part = |(place, (name, share)): (usize, &(&str, Figure))| {
        format!("{} {} {name}", text::share(share), verb(place))
    };
    // The table lists them all.
    let (mut large, mut little): (Vec<_>, Vec<_>) =
        shares.into_iter().partition(|(_, share)| share.value.abs() >= LITTLE);
    if large.is_empty() {
        std::mem::swap(&mut large, &mut little);
    }
    let mut told: Vec<String> = large.iter().enumerate().map(part).collect();
    let names: Vec<String> = little.iter().map(|(name, _)| (*name).to_owned()).collect();
    match &little[..] {
        [] => {}
        [one] => told.push(part((large.len(), one))),
        _ => told.push(format!(
            "less than {} each into {}",
            text::chosen(LITTLE),
            text::list(&names).replace(" and ", ", ")
        )),
    }
    text::list(&told)
}

fn judge_claim(summary: &Summary, reading: &ReadingFactor) -> String {
    let Some(share) = &reading.share else { return String::new() };
    let source = summary.claims.as_ref().filter(|claims| claims.buffer_is_the_cause);
    let says = |word: &str| source.map(|source| format!(", {word} {}", source.who)).unwrap_or_default();
    let judged = match reading.claim {
        Claim::Falls => format!("the buffer is not the cause{}", says("contrary to")),
        Claim::Stands => format!("the buffer or its call is the cause{}", says("as claimed by")),
        Claim::CannotBeTold => "this run does not show if the buffer is the cause".into(),
    };
    format!(" Reading alone ({}) makes {}: {judged}.", text::list(&reading.factors), text::share(share))
}
