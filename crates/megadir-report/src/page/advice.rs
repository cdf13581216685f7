//! What follows from a run for somebody with such directories: rules from numbers to what to do, one for each way of reading a group.
//!
//! Like findings they say no more than intervals and verdicts carry.

use megadir_record::Role;

use crate::summary::{
    BreakEven, BreakEvenSeries, Comparison, Contrast, Decomposition, Fill, GroupReading, GroupSummary,
    Growth, Outcome, Pairs, Refusal, Shape, Summary, Threshold, Verdict,
};
use crate::text;

/// Returns what to do, the most important first; nothing where a run decides nothing.
#[must_use]
pub fn advice(summary: &Summary) -> Vec<String> {
    if summary.warnings.iter().any(|advisory| advisory.loud) {
        return vec!["Do not act on these numbers before the warnings above are dealt with.".into()];
    }
    let mut advice: Vec<String> =
        summary.groups.iter().filter_map(|group| of_group(summary, group)).collect();
    let decided = !advice.is_empty();
    if let Some(rounds) = undecided(summary) {
        let rounds = text::count(rounds);
        advice.push(format!(
            "For what this run leaves open, measure again with `--rounds {rounds}`.",
            rounds = rounds.replace(' ', "")
        ));
    }
    let machine = format!(
        "All this holds for {} on this machine; the command below repeats it on yours.",
        summary.machine.file_system.kind
    );
    if decided {
        advice.push(machine);
    }
    advice
}

fn of_group(summary: &Summary, group: &GroupSummary) -> Option<String> {
    match &group.reading {
        GroupReading::Compare(comparison) => compare(summary, group, comparison),
        GroupReading::Decompose(read) => decompose(read),
        GroupReading::Pairs(read) => pairs(summary, group, read),
        GroupReading::Refusal(refusal) => Some(refused(refusal)),
        GroupReading::Fill(read) => fill(read),
        GroupReading::Grow(read) => grow(group, read),
        GroupReading::BreakEven(read) => break_even(read),
        GroupReading::Unreadable { .. } => None,
    }
}

fn compare(summary: &Summary, group: &GroupSummary, comparison: &Comparison) -> Option<String> {
    let arm = |row: &&Contrast| summary.arm(row.arm).is_some_and(|arm| arm.cell.role == Role::Arm);
    let rows: Vec<&Contrast> = comparison.rows.iter().filter(arm).collect();
    let ratio = |row: &Contrast| match row.outcome {
        Outcome::Judged { ratio, verdict: Verdict::Faster { negligible: false }, .. } => Some(ratio.value),
        _ => None,
    };
    let faster = rows.iter().filter_map(|row| Some((row.arm, ratio(row)?)));
    let best = faster.min_by(|a, b| a.1.total_cmp(&b.1));
    let baseline = summary.arm_name(comparison.baseline);
    if let Some((arm, ratio)) = best {
        return Some(format!(
            "{}: use {} rather than {baseline} ({}).",
            group.name,
            summary.arm_name(arm),
            text::speed(ratio)
        ));
    }
    let same = |row: &&&Contrast| {
        matches!(
            row.outcome,
            Outcome::Judged {
                verdict: Verdict::Equivalent | Verdict::Faster { .. } | Verdict::Slower { negligible: true },
                ..
            }
        )
    };
    let slower = |row: &&&Contrast| {
        matches!(row.outcome, Outcome::Judged { verdict: Verdict::Slower { negligible: false }, .. })
    };
    let (same, slower) = (rows.iter().filter(same).count(), rows.iter().filter(slower).count());
    match (rows.len(), same, slower) {
        (0, ..) => None,
        (all, same, _) if all == same => Some(format!(
            "{}: take whichever suits otherwise; none differs by more than {}.",
            group.name,
            text::chosen(summary.rules.equivalence_band)
        )),
        (all, _, slower) if all == slower => {
            Some(format!("{}: stay with {baseline}; everything else measured is slower.", group.name))
        }
        _ => None,
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

fn pairs(summary: &Summary, group: &GroupSummary, pairs: &Pairs) -> Option<String> {
    let ratio = |outcome: &Outcome| match outcome {
        Outcome::Judged {
            ratio,
            verdict: Verdict::Slower { negligible: false } | Verdict::Faster { negligible: false },
            ..
        } => Some(ratio.value),
        _ => None,
    };
    let judged = pairs.rows.iter().filter_map(|row| Some((row, ratio(&row.outcome)?)));
    let far = |ratio: f64| ratio.max(1.0 / ratio);
    let largest = judged.max_by(|a, b| far(a.1).total_cmp(&far(b.1)));
    let Some((row, ratio)) = largest else {
        let even =
            |outcome: &Outcome| matches!(outcome, Outcome::Judged { verdict: Verdict::Equivalent, .. });
        let all = !pairs.rows.is_empty() && pairs.rows.iter().all(|row| even(&row.outcome));
        return all.then(|| {
            format!(
                "{}: none differs by more than {}; choose by other reasons.",
                group.name,
                text::chosen(summary.rules.equivalence_band)
            )
        });
    };
    let (better, worse) =
        if ratio < 1.0 { (&row.pair.what, &row.pair.than) } else { (&row.pair.than, &row.pair.what) };
    Some(format!("{}, {}: {better} beat {worse}, by {:.2} times.", group.name, row.pair.at, far(ratio)))
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
            "Creating costs more from {} files in a directory on: spread files over directories before that if creating is what matters.",
            text::count(bucket.from)
        ));
    }
    let all = fill.buckets.iter().skip(1).all(|bucket| judged(&bucket.outcome));
    (all && fill.buckets.len() > 1).then(|| {
        format!("Up to {} files one directory costs no more to fill than a small one.", text::count(last.to))
    })
}

fn grow(group: &GroupSummary, growth: &Growth) -> Option<String> {
    let worst = growth.series.iter().filter(|series| series.shape == Shape::MoreThanLinear);
    let worst = worst.max_by(|a, b| {
        let value = |series: &crate::summary::Series| series.exponent.map_or(0.0, |exponent| exponent.value);
        value(a).total_cmp(&value(b))
    });
    if let Some(series) = worst {
        return Some(format!(
            "{}: {} grows faster than the number of entries; expect larger directories to take more than their share.",
            group.name, series.name
        ));
    }
    let known =
        |series: &crate::summary::Series| matches!(series.shape, Shape::Linear | Shape::LessThanLinear);
    let all = !growth.series.is_empty() && growth.series.iter().all(known);
    all.then(|| format!("{}: nothing grows faster than the number of entries, so size alone is no reason to split a directory.", group.name))
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

/// Returns how many rounds would decide what is open, where that is practical.
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
