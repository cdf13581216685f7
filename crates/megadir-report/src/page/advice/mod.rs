//! Advice that follows from a run: one set of rules for each way of reading a group.
//!
//! Like findings it rests on intervals and verdicts. It prefers one arm to another only if they are
//! alternatives (`ways`); `file_systems` chooses between file systems.

mod ways;

use crate::finding::{Finding, FindingKind};
use crate::report::Report;
use crate::summary::{
    BreakEven, BreakEvenSeries, Decomposition, Fill, GroupReading, GroupSummary, Growth, Outcome, Refusal,
    Series, Shape, Summary, Threshold, Verdict,
};
use crate::text;
use crate::warning::Options;

/// Returns the advice, most important first; empty if the run decides nothing.
#[must_use]
pub fn advice(report: &Report) -> Vec<String> {
    let summary = &report.summary;
    let no_reference = |finding: &Finding| finding.loud && finding.kind == FindingKind::FileSystems;
    if report.warnings.iter().any(|advisory| advisory.loud) || report.findings.iter().any(no_reference) {
        return vec!["Do not act on these numbers before the warnings above are dealt with.".into()];
    }
    let mut advice = ways::of_file_systems(summary);
    advice.extend(rules(summary));
    advice.extend(ways::advice(summary));
    let decided = !advice.is_empty();
    if let Some(rounds) = undecided(summary) {
        advice.push(match Options::of(&summary.command) {
            Options::Bench => {
                format!("To decide what this run leaves open, measure again with `--rounds {rounds}`.")
            }
            Options::Advise => "To decide what this run leaves open, measure longer (`--time`).".into(),
        });
    }
    let of = match summary.file_systems.len() {
        0 | 1 => format!(" for {}", summary.machine.file_system.kind),
        _ => String::new(),
    };
    if decided {
        advice.push(format!("All this holds{of} on this machine; the command below repeats it on yours."));
    }
    advice
}

/// Returns advice from groups that are no choice between arms; what several file systems share appears once.
fn rules(summary: &Summary) -> Vec<String> {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for group in &summary.groups {
        let Some(text) = of_group(group) else { continue };
        let on = place(summary, group);
        match told.iter_mut().find(|(known, _)| *known == text) {
            Some((_, places)) => places.push(on),
            None => told.push((text, vec![on])),
        }
    }
    let several = summary.file_systems.len() > 1;
    let one = |(text, on): (String, Vec<String>)| match several {
        true => format!("On {}: {text}", text::list(&on)),
        false => text,
    };
    told.into_iter().map(one).collect()
}

fn place(summary: &Summary, group: &GroupSummary) -> String {
    let of_group = summary.arms.iter().find(|arm| arm.planned.groups.contains(&group.name));
    of_group.map_or("?", |arm| summary.place(arm.planned.id)).to_owned()
}

fn of_group(group: &GroupSummary) -> Option<String> {
    match &group.reading {
        GroupReading::Decompose(read) => decompose(read),
        GroupReading::Refusal(refusal) => Some(refused(refusal)),
        GroupReading::Fill(read) => fill(read),
        GroupReading::Grow(read) => grow(read),
        GroupReading::BreakEven(read) => break_even(read),
        GroupReading::Compare(_) | GroupReading::Pairs(_) | GroupReading::Unreadable { .. } => None,
    }
}

fn decompose(read: &Decomposition) -> Option<String> {
    if !read.difference_ns.interval.is_some_and(|interval| interval.low > 0.0) {
        return None;
    }
    let known = |factor: &&crate::summary::Factor| {
        factor.share.and_then(|share| share.interval).is_some_and(|interval| interval.low > 0.0)
    };
    let factors = read.factors.iter().filter(|factor| !factor.common).filter(known);
    let share = |factor: &crate::summary::Factor| factor.share.map_or(0.0, |share| share.value);
    let largest = factors.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    Some(format!(
        "To make {} faster, begin with what costs most: {} ({} of the difference).",
        read.slow_name,
        largest.name,
        text::share(&largest.share?)
    ))
}

fn refused(refusal: &Refusal) -> String {
    let least =
        refusal.predicted.as_ref().map_or(refusal.least, |predicted| predicted.low.min(refusal.least));
    format!(
        "Keep directories like these below {} entries, and ask `megadir limits DIR` how many still fit; `megadir limits --warn-at` watches.",
        text::count(least)
    )
}

fn fill(fill: &Fill) -> Option<String> {
    let slower = |outcome: &Outcome| {
        matches!(outcome, Outcome::Judged { verdict: Verdict::Slower { negligible: false }, .. })
    };
    let judged = |outcome: &Outcome| {
        matches!(
            outcome,
            Outcome::Judged {
                verdict: Verdict::Slower { .. } | Verdict::Faster { .. } | Verdict::Equivalent,
                ..
            }
        )
    };
    let last = fill.buckets.last()?;
    if let Some(bucket) = fill.buckets.iter().find(|bucket| slower(&bucket.outcome)) {
        return Some(format!(
            "Creating costs more from {} files in a directory on. Whether it would cost less in several directories is another question: \
             'megadir bench run layout' measures that, 'megadir advise' answers it for your number of files.",
            text::count(bucket.from)
        ));
    }
    let all = fill.buckets.iter().skip(1).all(|bucket| judged(&bucket.outcome));
    (all && fill.buckets.len() > 1).then(|| {
        format!("Up to {} files one directory costs no more to fill than a small one.", text::count(last.to))
    })
}

fn grow(growth: &Growth) -> Option<String> {
    // Listing a larger directory takes longer anyway; other operations should not.
    let lists = |series: &Series| series.points.iter().any(|point| point.entry_ns.is_some());
    if !growth.series.is_empty() && !growth.series.iter().any(lists) {
        return grow_alone(growth);
    }
    let value = |series: &Series| series.exponent.map_or(0.0, |exponent| exponent.value);
    let worst = growth.series.iter().filter(|series| series.shape == Shape::MoreThanLinear);
    if let Some(series) = worst.max_by(|a, b| value(a).total_cmp(&value(b))) {
        return Some(format!(
            "The time of {} grows faster than the number of entries; expect larger directories to take more than their share.",
            series.name
        ));
    }
    let known = |series: &Series| matches!(series.shape, Shape::Linear | Shape::LessThanLinear);
    let all = !growth.series.is_empty() && growth.series.iter().all(known);
    all.then(|| {
        "Nothing grows faster than the number of entries, so size alone is no reason to split a directory."
            .into()
    })
}

/// Reports the cost of size for operations that do not read the whole directory.
fn grow_alone(growth: &Growth) -> Option<String> {
    let of = |series: &Series| match series.ends {
        Some(Outcome::Judged { ratio, verdict, .. }) => Some((ratio.value, verdict)),
        _ => None,
    };
    let ends: Option<Vec<(&Series, (f64, Verdict))>> =
        growth.series.iter().map(|series| Some((series, of(series)?))).collect();
    let ends = ends?;
    let slower = |verdict: Verdict| verdict == Verdict::Slower { negligible: false };
    let slower = ends.iter().filter(|(_, (_, verdict))| slower(*verdict));
    if let Some((series, (ratio, _))) = slower.max_by(|a, b| a.1.0.total_cmp(&b.1.0)) {
        let largest = series.points.last().map_or(0, |point| point.entries);
        return Some(format!(
            "Up to {} entries size costs a factor of {ratio:.2} at most ({}): split a directory only where that matters more than what further directories cost, which `megadir bench run layout` measures.",
            text::count(largest),
            series.name
        ));
    }
    let open = |verdict: Verdict| matches!(verdict, Verdict::Inconclusive { .. });
    (!ends.iter().any(|(_, (_, verdict))| open(*verdict))).then(|| {
        "Nothing takes longer in the largest directory, so size alone is no reason to split it.".into()
    })
}

fn break_even(read: &BreakEven) -> Option<String> {
    let one = |series: &BreakEvenSeries| match series.from {
        Threshold::At { share } => Some(format!(
            "{} for {} of {}",
            series.name,
            text::threshold(share, series.interval),
            text::entries(series.entries)
        )),
        Threshold::Always | Threshold::Never => None,
    };
    let all = |is: Threshold| !read.series.is_empty() && read.series.iter().all(|series| series.from == is);
    if all(Threshold::Never) {
        return Some("Ask for files by their names where you know them, even for all of them: listing cost more in most rounds.".into());
    }
    if all(Threshold::Always) {
        return Some(
            "List the whole directory, even where you need little of it: asking cost more in most rounds."
                .into(),
        );
    }
    let told: Vec<String> = read.series.iter().filter_map(one).collect();
    (!told.is_empty()).then(|| {
        format!(
            "List the whole directory where you need more of it than this, else ask by name: {}.",
            told.join("; ")
        )
    })
}

/// Returns the number of rounds that would decide open comparisons, if it is practical.
fn undecided(summary: &Summary) -> Option<u64> {
    const PRACTICAL: u64 = 5_000;
    let rounds = |outcome: &Outcome| match outcome {
        Outcome::Judged { verdict: Verdict::Inconclusive { rounds_to_decide }, .. } => *rounds_to_decide,
        _ => None,
    };
    let outcomes = summary.groups.iter().flat_map(|group| match &group.reading {
        GroupReading::Compare(read) => read.rows.iter().map(|row| &row.outcome).collect::<Vec<_>>(),
        GroupReading::Pairs(read) => read.rows.iter().map(|row| &row.outcome).collect(),
        GroupReading::Fill(read) => read.buckets.iter().map(|bucket| &bucket.outcome).collect(),
        _ => Vec::new(),
    });
    outcomes.filter_map(rounds).filter(|rounds| *rounds <= PRACTICAL).max()
}
