//! Finding on filling a directory: the last bucket against the first, and whether the cost is as flat as the
//! source claims.

use super::source::published;
use super::{Finding, FindingKind};
use crate::summary::{Bucket, GroupReading, GroupSummary, Outcome, Summary, Verdict, rounds_for_interval};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    summary.groups.iter().filter_map(|group| of_group(summary, group)).collect()
}

fn of_group(summary: &Summary, group: &GroupSummary) -> Option<Finding> {
    let GroupReading::Fill(fill) = &group.reading else { return None };
    let (first, last) = (fill.buckets.first()?, fill.buckets.last()?);
    let file_system = summary.place(first.arm);
    let begin = format!(
        "On {file_system}, creating a file among {} to {} others",
        text::count(last.from),
        text::count(last.to)
    );
    let text = match last.outcome {
        Outcome::Judged { ratio, adjusted, verdict, .. } => {
            let figure = text::ratio(ratio.value, adjusted);
            let in_first = format!("of that among the first {}", text::count(first.to));
            let steepest = steepest(&fill.buckets, last);
            format!(
                "{begin} takes {figure} {in_first}: {}{steepest}{}.{}",
                words(verdict),
                claim(summary, &fill.buckets),
                published(summary, group, last.arm)
            )
        }
        Outcome::TooFewRounds { ratio } => format!(
            "{begin} took {} of the time among the first {}; under {} rounds nothing is judged.",
            text::ratio(ratio, None),
            text::count(first.to),
            rounds_for_interval(summary.rules.confidence)
        ),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => return None,
    };
    Some(Finding::of_group(FindingKind::Fill, &group.name, text))
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower { negligible: false } => "it grows",
        Verdict::Slower { negligible: true } => "it grows, by a negligible amount",
        Verdict::Faster { negligible: false } => "it falls",
        Verdict::Faster { negligible: true } => "it falls, by a negligible amount",
        Verdict::Equivalent => "it stays the same",
        Verdict::Inconclusive { .. } => "whether it grows is not shown",
    }
}

/// Reports the most expensive bucket if it is not the last.
fn steepest(buckets: &[Bucket], last: &Bucket) -> String {
    let judged = |bucket: &Bucket| match bucket.outcome {
        Outcome::Judged { ratio, adjusted, verdict: Verdict::Slower { negligible: false }, .. } => {
            Some((bucket.from, bucket.to, ratio.value, adjusted))
        }
        _ => None,
    };
    let most = buckets.iter().filter_map(judged).max_by(|a, b| a.2.total_cmp(&b.2));
    match most {
        Some((from, to, value, adjusted)) if from != last.from => format!(
            "; most it takes among {} to {} ({})",
            text::count(from),
            text::count(to),
            text::ratio(value, adjusted)
        ),
        _ => String::new(),
    }
}

/// Judges the source's claim of flat cost: it fails if any part rises, and holds if none does.
fn claim(summary: &Summary, buckets: &[Bucket]) -> String {
    let Some(claims) = summary.claims.as_ref().filter(|claims| claims.flat_filling) else {
        return String::new();
    };
    let others = buckets.iter().filter(|bucket| bucket.outcome != Outcome::Baseline);
    let verdict = |bucket: &Bucket| match bucket.outcome {
        Outcome::Judged { verdict, .. } => verdict,
        _ => Verdict::Inconclusive { rounds_to_decide: None },
    };
    let verdicts: Vec<Verdict> = others.map(verdict).collect();
    let count = |is: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| is(verdict)).count();
    let all = verdicts.len();
    let rises = count(|verdict| matches!(verdict, Verdict::Slower { negligible: false }));
    let falls = count(|verdict| matches!(verdict, Verdict::Faster { negligible: false }));
    let open = count(|verdict| matches!(verdict, Verdict::Inconclusive { .. }));
    let stands = match (rises, open, falls) {
        (1.., ..) => format!("falls here, for {rises} of {all} parts after the first cost more"),
        (0, 1.., _) => {
            format!("is undecided here: {open} of {all} parts after the first are undecided")
        }
        (0, 0, 1..) => "stands here in that it does not grow".to_owned(),
        (0, 0, 0) => "stands here".to_owned(),
    };
    format!("; the claim of {}, whose plot is flat, {stands}", claims.who)
}
