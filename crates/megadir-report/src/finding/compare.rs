//! Finding on a group of arms: the fastest and the slowest against the baseline.
//!
//! Picking them afterwards is fair: intervals are adjusted for the whole group.

use megadir_record::Role;

use super::{Finding, FindingKind};
use crate::summary::{
    Comparison, Contrast, GroupReading, GroupSummary, Outcome, Range, Summary, Verdict, rounds_for_interval,
};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let told = summary.groups.iter().filter_map(|group| {
        let GroupReading::Compare(comparison) = &group.reading else { return None };
        let text = tell(summary, group, comparison)?;
        Some(Finding::of_group(FindingKind::Comparison, &group.name, text))
    });
    told.collect()
}

struct Judged {
    name: String,
    ratio: f64,
    adjusted: Option<Range>,
    verdict: Option<Verdict>,
}

fn tell(summary: &Summary, group: &GroupSummary, comparison: &Comparison) -> Option<String> {
    let baseline = summary.arm_name_in(comparison, comparison.baseline);
    let begin = format!("On {}, {}:", summary.place(comparison.baseline), group.name);
    let mut arms: Vec<Judged> =
        comparison.rows.iter().filter_map(|row| judged(summary, comparison, row)).collect();
    arms.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let sentence = match &arms[..] {
        [] => return None,
        [only] => format!("{begin} against {baseline}, {}.", outcome(only)),
        [fastest, .., slowest] if faster(fastest) => {
            format!(
                "{begin} against {baseline}, the fastest is {}; the slowest is {}.",
                outcome(fastest),
                outcome(slowest)
            )
        }
        [first, .., slowest] => format!(
            "{begin} none of {} is shown to be faster than {baseline}; the nearest to it is {}; the slowest is {}.",
            text::counted(arms.len() as u64, "arm"),
            outcome(first),
            outcome(slowest)
        ),
    };
    let few = arms.iter().any(|arm| arm.verdict.is_none());
    let needed = rounds_for_interval(summary.rules.confidence);
    Some(if few {
        format!("{sentence} No interval under {needed} rounds: nothing is judged.")
    } else {
        sentence
    })
}

/// Returns a judged arm; the baseline against itself does not count.
fn judged(summary: &Summary, comparison: &Comparison, row: &Contrast) -> Option<Judged> {
    summary.arm(row.arm).filter(|arm| arm.cell.role != Role::AgainstItself)?;
    let name = summary.arm_name_in(comparison, row.arm);
    match row.outcome {
        Outcome::Judged { ratio, adjusted, verdict, .. } => {
            Some(Judged { name, ratio: ratio.value, adjusted, verdict: Some(verdict) })
        }
        Outcome::TooFewRounds { ratio } => Some(Judged { name, ratio, adjusted: None, verdict: None }),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => None,
    }
}

fn faster(arm: &Judged) -> bool {
    matches!(arm.verdict, Some(Verdict::Faster { .. })) || (arm.verdict.is_none() && arm.ratio < 1.0)
}

/// Returns the result of one arm, e.g. `split, 2 threads: 1.85x faster (0.54x [0.53, 0.55])`.
fn outcome(arm: &Judged) -> String {
    let says = match arm.verdict {
        Some(Verdict::Faster { negligible } | Verdict::Slower { negligible }) => {
            format!("{}{}", text::speed(arm.ratio), if negligible { ", which is negligible" } else { "" })
        }
        Some(Verdict::Equivalent) => "equivalent".into(),
        Some(Verdict::Inconclusive { rounds_to_decide: Some(rounds) }) => {
            format!("inconclusive, about {} would decide", text::counted(rounds, "round"))
        }
        Some(Verdict::Inconclusive { rounds_to_decide: None }) => "inconclusive".into(),
        None => "not judged".into(),
    };
    format!("{}: {says} ({})", arm.name, text::ratio(arm.ratio, arm.adjusted))
}
