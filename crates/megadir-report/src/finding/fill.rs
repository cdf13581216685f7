//! The rule about filling: the last bucket against the first, and whether the cost is as flat as the source says.

use super::source::claims;
use super::{Finding, FindingKind};
use crate::summary::{Bucket, GroupReading, GroupSummary, Outcome, Summary, Verdict, rounds_for_interval};
use crate::text;

/// Tells of every group that fills a directory.
pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    summary.groups.iter().filter_map(|group| of_group(summary, group)).collect()
}

fn of_group(summary: &Summary, group: &GroupSummary) -> Option<Finding> {
    let GroupReading::Fill(fill) = &group.reading else { return None };
    let (first, last) = (fill.buckets.first()?, fill.buckets.last()?);
    let file_system = &summary.machine.file_system.kind;
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
                "{begin} takes {figure} {in_first}: {}{steepest}{}.",
                words(verdict),
                claim(summary, verdict)
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

/// Tells of the most expensive bucket where it is not the last.
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

/// Tells whether the source's flat line stands.
fn claim(summary: &Summary, verdict: Verdict) -> String {
    let Some(claims) = claims(&summary.study).filter(|claims| claims.flat_filling) else {
        return String::new();
    };
    let stands = match verdict {
        Verdict::Equivalent | Verdict::Slower { negligible: true } | Verdict::Faster { negligible: true } => {
            "stands here"
        }
        Verdict::Slower { negligible: false } => "falls here",
        Verdict::Faster { negligible: false } => "stands here in that it does not grow",
        Verdict::Inconclusive { .. } => "cannot be told here",
    };
    format!("; the claim of {}, whose plot is flat, {stands}", claims.who)
}
