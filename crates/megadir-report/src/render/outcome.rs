//! Outcomes of comparisons in words: ratio, verdict, and the meaning of their intervals.

use super::paint::Tone;
use crate::summary::{Outcome, Summary, Verdict, looks};
use crate::text;

/// Explains the intervals of a family of outcomes.
pub(super) fn intervals<'a>(
    summary: &Summary,
    family: &str,
    outcomes: impl Iterator<Item = &'a Outcome>,
) -> String {
    let epochs = outcomes.filter_map(|outcome| match outcome {
        Outcome::Judged { epochs, .. } => *epochs,
        _ => None,
    });
    let bootstrap = epochs.max().map(|epochs| format!(" by hierarchical bootstrap over {epochs} epochs"));
    let looks = match looks(&summary.rules) {
        1 => String::new(),
        looks => format!(" and for the {looks} looks at which the run might have stopped (Bonferroni)"),
    };
    let bootstrap = bootstrap.unwrap_or_default();
    format!(" [ ]: 95 % interval{bootstrap}, adjusted for {family} (Holm){looks}.")
}

pub(crate) fn outcome(outcome: &Outcome) -> (String, String, Tone) {
    match outcome {
        Outcome::Baseline => (String::new(), "baseline".into(), Tone::Faint),
        Outcome::Judged { ratio, adjusted, verdict, .. } => {
            let (words, tone) = verdict_words(*verdict, ratio.value);
            (text::ratio(ratio.value, *adjusted), words, tone)
        }
        Outcome::TooFewRounds { ratio } => (text::ratio(*ratio, None), "not judged".into(), Tone::Faint),
        Outcome::Unequal => (String::new(), "UNEQUAL WORK".into(), Tone::Alarm),
        Outcome::NotMeasured => (String::new(), "not measured".into(), Tone::Faint),
    }
}

pub(crate) fn outcome_words(outcome: &Outcome) -> (String, String) {
    let (ratio, verdict, _) = self::outcome(outcome);
    (ratio, verdict)
}

fn verdict_words(verdict: Verdict, ratio: f64) -> (String, Tone) {
    match verdict {
        Verdict::Faster { negligible: false } => (text::speed(ratio), Tone::Good),
        Verdict::Slower { negligible: false } => (text::speed(ratio), Tone::Bad),
        Verdict::Faster { negligible: true } => ("faster, negligible".into(), Tone::Plain),
        Verdict::Slower { negligible: true } => ("slower, negligible".into(), Tone::Plain),
        Verdict::Equivalent => ("equivalent".into(), Tone::Plain),
        Verdict::Inconclusive { rounds_to_decide: Some(rounds) } => {
            (format!("inconclusive (~{})", text::count(rounds)), Tone::Faint)
        }
        Verdict::Inconclusive { rounds_to_decide: None } => ("inconclusive".into(), Tone::Faint),
    }
}
