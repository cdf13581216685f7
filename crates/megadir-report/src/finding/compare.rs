//! Findings on groups that compare arms.
//!
//! Every sentence names the file system, the reference and the interval, so that it can be quoted without
//! its table. Differences that are shown but lie inside the equivalence band are reported together with the
//! word negligible.

use crate::summary::{
    CallsContrast, Claim, Comparison, Contrast, Decomposition, Factor, Figure, GroupReading, GroupSummary,
    Outcome, ReadingFactor, Summary, Verdict, rounds_for_interval,
};
use crate::text;

struct Judged<'a> {
    name: String,
    ratio: f64,
    outcome: &'a Outcome,
}

pub(super) fn describe(summary: &Summary, group: &GroupSummary) -> Option<String> {
    let GroupReading::Compare(comparison) = &group.reading else { return None };
    let baseline = summary.arm_name_in(comparison, comparison.baseline);
    // Controls are left out: the baseline against its double describes the run, not an arm.
    let begin = format!("On {}, {}:", summary.place(comparison.baseline), group.name);
    let mut arms: Vec<Judged<'_>> =
        comparison.rows.iter().filter_map(|row| judged(summary, comparison, row)).collect();
    arms.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let sentence = match &arms[..] {
        [] => return None,
        // With several arms only the ends of the range are named. "The fastest" is claimed only of an arm
        // that was shown to beat the baseline; otherwise the nearest one is named without a verdict.
        [only] => format!("{begin} against {baseline}, {}.", outcome(only)),
        [fastest, .., slowest] if faster(fastest) => format!(
            "{begin} against {baseline}, the fastest is {}; the slowest is {}.",
            outcome(fastest),
            outcome(slowest)
        ),
        [first, .., slowest] => format!(
            "{begin} none of {} is shown to be faster than {baseline}; the nearest to it is {}; the slowest is {}.",
            text::counted(arms.len() as u64, "arm"),
            outcome(first),
            outcome(slowest)
        ),
    };
    // With too few rounds, ratios are shown and nothing is claimed.
    let needed = rounds_for_interval(summary.rules.confidence);
    Some(match arms.iter().all(|arm| arm.outcome.verdict().is_some()) {
        true => sentence,
        false => format!("{sentence} No interval under {needed} rounds: nothing is judged."),
    })
}

fn judged<'a>(summary: &Summary, comparison: &Comparison, row: &'a Contrast) -> Option<Judged<'a>> {
    let ratio = row.outcome.ratio_value().filter(|_| !summary.is_control(row.arm))?;
    Some(Judged { name: summary.arm_name_in(comparison, row.arm), ratio, outcome: &row.outcome })
}

/// Without a verdict the order of the ratios decides the wording alone; the sentence then ends with its
/// warning.
fn faster(arm: &Judged<'_>) -> bool {
    match arm.outcome.verdict() {
        Some(verdict) => matches!(verdict, Verdict::Faster { .. }),
        None => arm.ratio < 1.0,
    }
}

/// `split, 2 threads: 1.85x faster (0.54x [0.53, 0.55])`.
fn outcome(arm: &Judged<'_>) -> String {
    let verdict = match arm.outcome.verdict() {
        Some(Verdict::Faster { negligible } | Verdict::Slower { negligible }) => {
            let so = if negligible { ", which is negligible" } else { "" };
            format!("{}{so}", text::speed(arm.ratio))
        }
        Some(Verdict::Equivalent) => "equivalent".into(),
        Some(Verdict::Inconclusive { rounds_to_decide: Some(rounds) }) => {
            format!("inconclusive, about {} would decide", text::counted(rounds, "round"))
        }
        Some(Verdict::Inconclusive { rounds_to_decide: None }) => "inconclusive".into(),
        None => "not judged".into(),
    };
    format!("{}: {verdict} ({})", arm.name, arm.outcome.ratio_text())
}

pub(super) fn describe_calls(summary: &Summary, group: &GroupSummary) -> Option<String> {
    let GroupReading::Compare(comparison) = &group.reading else { return None };
    // `calls` is set only if arms differ in nothing but the size of their calls, so the ratio is the effect
    // of that size.
    let CallsContrast { most, most_calls, fewest, fewest_calls, ratio } = comparison.calls.as_ref()?;
    let band = 1.0 + summary.rules.equivalence_band;
    // Equivalence first: an interval can exclude 1 and still lie inside the band.
    let effect = match ratio.interval {
        Some(interval) if interval.low * band > 1.0 && interval.high < band => {
            "that makes a negligible difference in time, if any"
        }
        Some(interval) if interval.high < 1.0 => "the fewer calls take less time",
        Some(interval) if interval.low > 1.0 => "the fewer calls take more time, not less",
        Some(_) => "that makes no difference in time that this run can show",
        None => "so few rounds do not show if that makes a difference in time",
    };
    Some(format!(
        "On {}, {} lists the directory in {}, {} in {}: {effect} ({}).",
        summary.place(*fewest),
        summary.arm_name(*fewest),
        text::counted(*fewest_calls, "call"),
        summary.arm_name(*most),
        text::count(*most_calls),
        text::ratio(ratio.value, ratio.interval)
    ))
}

/// Factors whose whole interval is smaller have no figure.
const LITTLE: f64 = 0.05;

pub(super) fn describe_decomposition(summary: &Summary, group: &GroupSummary) -> Option<String> {
    let GroupReading::Decompose(decomposition) = &group.reading else { return None };
    let arm = summary.arms.iter().find(|arm| arm.planned.groups.contains(&group.name));
    let file_system = arm.map_or(&*summary.machine.file_system.kind, |arm| summary.place(arm.planned.id));
    let Decomposition { slow_name, fast_name, difference_ns, .. } = &**decomposition;
    // Four cases by the interval of the difference: it may be zero, it has the opposite sign, it is
    // explained by factors, or the rounds are too few for an interval. Shares of a difference that may be
    // zero are meaningless, so only the last two list factors.
    let figures = text::time_with_interval(difference_ns);
    Some(match difference_ns.interval {
        Some(interval) if interval.contains(0.0) => format!(
            "On {file_system}, `{slow_name}` and `{fast_name}` are not distinguishable: {figures} an entry between them, so there is no difference to explain."
        ),
        Some(interval) if interval.high < 0.0 => format!(
            "On {file_system}, `{slow_name}` is the faster of the two: `{fast_name}` takes {} an entry more (difference {figures}). The difference that was to be explained is not there.",
            text::time(-difference_ns.value)
        ),
        Some(_) => format!(
            "On {file_system}, of the {figures} an entry between `{slow_name}` and `{fast_name}`, {}.{}",
            shares(&decomposition.factors),
            decomposition.reading.as_ref().map(|reading| judge_claim(summary, reading)).unwrap_or_default()
        ),
        None => format!(
            "On {file_system}, of about {figures} an entry between `{slow_name}` and `{fast_name}`, {}; with {} (no interval under {} rounds) nothing can be said for sure.",
            shares(&decomposition.factors),
            text::counted(decomposition.rounds as u64, "round"),
            rounds_for_interval(summary.rules.confidence)
        ),
    })
}

/// Shares of the factors in the difference, the largest first. Factors whose whole interval is below
/// [`LITTLE`] are summed up in one clause, so that the sentence has the factors that matter; if none matters,
/// all are listed. Factors that both programs have in common cancel out and have no share.
fn shares(factors: &[Factor]) -> String {
    let known = |factor: &Factor| factor.share.filter(|_| !factor.common);
    let mut shares: Vec<(&str, Figure)> =
        factors.iter().filter_map(|factor| Some((factor.name.as_str(), known(factor)?))).collect();
    shares.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let verb = |place: usize| if place == 0 { "goes into" } else { "into" };
    let part = |(place, (name, share)): (usize, &(&str, Figure))| {
        format!("{} {} {name}", text::share(share), verb(place))
    };
    let is_little = |share: &Figure| match share.interval {
        // Without an interval the value decides, since the sentence then claims nothing anyway.
        Some(interval) => interval.low > -LITTLE && interval.high < LITTLE,
        None => share.value.abs() < LITTLE,
    };
    let (mut large, mut little): (Vec<_>, Vec<_>) =
        shares.into_iter().partition(|(_, share)| !is_little(share));
    // If every factor is small, their list is the result.
    if large.is_empty() {
        std::mem::swap(&mut large, &mut little);
    }
    let mut parts: Vec<String> = large.iter().enumerate().map(part).collect();
    let names: Vec<String> = little.iter().map(|(name, _)| (*name).to_owned()).collect();
    match &little[..] {
        [] => {}
        [only] => parts.push(part((large.len(), only))),
        _ => parts.push(format!(
            "less than {} each into {}",
            text::chosen(LITTLE),
            text::list(&names).replace(" and ", ", ")
        )),
    }
    text::list(&parts)
}

/// The claim is about the buffer. It holds if reading makes more than half of the difference, which is
/// judged in `summary/decompose.rs`; here it becomes words.
fn judge_claim(summary: &Summary, reading: &ReadingFactor) -> String {
    let Some(share) = &reading.share else { return String::new() };
    let source = summary.claims.as_ref().filter(|claims| claims.buffer_is_the_cause);
    let source_phrase =
        |word: &str| source.map(|source| format!(", {word} {}", source.who)).unwrap_or_default();
    let judged = match reading.claim {
        Claim::Falls => format!("the buffer is not the cause{}", source_phrase("contrary to")),
        Claim::Holds => format!("the buffer or its call is the cause{}", source_phrase("as claimed by")),
        Claim::Undecided => "this run does not show if the buffer is the cause".into(),
    };
    format!(" Reading alone ({}) makes {}: {judged}.", text::list(&reading.factors), text::share(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Interval;

    #[test]
    fn a_share_is_called_little_only_if_its_interval_is() {
        let factor = |name: &str, value, low, high| {
            let figure = Figure { value, interval: Some(Interval { low, high }) };
            Factor {
                name: name.into(),
                common: false,
                slow_ns: None,
                fast_ns: None,
                cost_ns: figure,
                share: Some(figure),
            }
        };
        let text = shares(&[
            factor("slow part", 0.9, 0.8, 1.0),
            factor("format", 0.03, -0.04, 0.11),
            factor("sort", 0.01, 0.0, 0.02),
            factor("call", 0.02, 0.01, 0.03),
        ]);
        assert!(text.contains("3 % [-4, 11] into format"), "{text}");
        assert!(text.ends_with("less than 5 % each into call, sort"), "{text}");
    }
}
