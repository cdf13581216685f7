//! Findings on the number of entries: growth, filling, and refusals.
//!
//! The exponent is the slope between the logarithms of entries and times: 1 is linear. Shapes are words for
//! its interval, never for its value, so a noisy run has the shape "perhaps linear" and not a wrong one.

use megadir_record::axes;
use megadir_record::claims::ClaimedGrowth;

use crate::finding::{beside, published};
use crate::summary::{
    Bucket, Figure, GroupReading, GroupSummary, Outcome, OutcomeClass, Point, Refusal, Series, Shape,
    Summary, Verdict, rounds_for_interval,
};
use crate::text;

pub(super) fn describe_growth(summary: &Summary, group: &GroupSummary) -> Vec<String> {
    let GroupReading::Grow(growth) = &group.reading else { return Vec::new() };
    growth.series.iter().filter_map(|series| describe(summary, series)).collect()
}

/// Without an exponent there were fewer than two sizes, and no sentence.
fn describe(summary: &Summary, series: &Series) -> Option<String> {
    let exponent = series.exponent.as_ref()?;
    let (first, last) = (series.points.first()?, series.points.last()?);
    Some(format!(
        "On {}, from {} to {}, the time of {} grows with entries to the power {}: {}{}.",
        summary.place(first.arm),
        text::count(first.entries),
        text::entries(last.entries),
        series.name,
        text::exponent(exponent),
        words(summary, series),
        last_step(series, exponent)
    ))
}

fn words(summary: &Summary, series: &Series) -> String {
    // Sources claim growth for warm caches only.
    let cold = |point: &Point| summary.arm(point.arm).is_some_and(|arm| arm.planned.cache.is_cold());
    let source = summary.claims.as_ref().filter(|_| !series.points.iter().any(cold));
    match series.shape {
        Shape::Linear => format!("linear{}", beside(source, ClaimedGrowth::Linear)),
        Shape::PerhapsLinear => "perhaps linear: only part of the interval is within 0.95 to 1.05".into(),
        Shape::LessThanLinear => format!("less than linear{}", beside(source, ClaimedGrowth::BelowLinear)),
        Shape::MoreThanLinear => format!("more than linear{}", beside(source, ClaimedGrowth::AboveLinear)),
        Shape::Undecided => format!(
            "without an interval under {} rounds its shape is undecided",
            rounds_for_interval(summary.rules.confidence)
        ),
    }
}

/// A power law hides a bend. If the exponent of the last step lies outside of the interval of the whole,
/// the law does not hold to the largest size, and both are printed.
fn last_step(series: &Series, whole: &Figure) -> String {
    let bends = |step: &Figure| match (step.interval, whole.interval) {
        (Some(step), Some(whole)) => step.low > whole.high || step.high < whole.low,
        _ => false,
    };
    match &series.steps[..] {
        [_, .., last] if bends(&last.exponent) => format!(
            "; from {} to {} alone, {}",
            text::count(last.from_entries),
            text::count(last.to_entries),
            text::exponent(&last.exponent)
        ),
        _ => String::new(),
    }
}

pub(super) fn describe_fill(summary: &Summary, group: &GroupSummary) -> Option<String> {
    let GroupReading::Fill(fill) = &group.reading else { return None };
    let (first, last) = (fill.buckets.first()?, fill.buckets.last()?);
    let file_system = summary.place(first.arm);
    let begin = format!(
        // The last bucket against the first is the answer; a bucket in between that costs most is added.
        "On {file_system}, creating a file among {} to {} others",
        text::count(last.from),
        text::count(last.to)
    );
    Some(match last.outcome {
        Outcome::Judged { verdict, .. } => {
            let figure = last.outcome.ratio_text();
            let in_first = format!("of that among the first {}", text::count(first.to));
            let steepest = steepest(&fill.buckets, last);
            format!(
                "{begin} takes {figure} {in_first}: {}{steepest}{}.{}",
                fill_words(verdict),
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
    })
}

fn fill_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower { negligible: false } => "it grows",
        Verdict::Slower { negligible: true } => "it grows, by a negligible amount",
        Verdict::Faster { negligible: false } => "it falls",
        Verdict::Faster { negligible: true } => "it falls, by a negligible amount",
        Verdict::Equivalent => "it stays the same",
        Verdict::Inconclusive { .. } => "whether it grows is not shown",
    }
}

/// Costliest bucket among the slower ones, unless it is the last, which the sentence has already.
fn steepest(buckets: &[Bucket], last: &Bucket) -> String {
    let slower = buckets.iter().filter(|bucket| bucket.outcome.class() == Some(OutcomeClass::Slower));
    let ratio = |bucket: &Bucket| bucket.outcome.ratio_value().unwrap_or(0.0);
    match slower.max_by(|a, b| ratio(a).total_cmp(&ratio(b))) {
        Some(most) if most.from != last.from => format!(
            "; most it takes among {} to {} ({})",
            text::count(most.from),
            text::count(most.to),
            most.outcome.ratio_text()
        ),
        _ => String::new(),
    }
}

fn claim(summary: &Summary, buckets: &[Bucket]) -> String {
    let Some(claims) = summary.claims.as_ref().filter(|claims| claims.flat_filling) else {
        return String::new();
    };
    // One bucket that costs more is enough against a flat line, and an undecided one forbids calling it
    // flat. A cost that falls does not contradict the claim that it does not grow.
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
    let verdict = match (rises, open, falls) {
        (1.., ..) => format!("falls here, for {rises} of {all} parts after the first cost more"),
        (0, 1.., _) => {
            format!("is undecided here: {open} of {all} parts after the first are undecided")
        }
        (0, 0, 1..) => "stands here in that it does not grow".to_owned(),
        (0, 0, 0) => "stands here".to_owned(),
    };
    format!("; the claim of {}, whose plot is flat, {verdict}", claims.who)
}

/// Published figures that differ from the mean by a larger factor belong to another kind of directory.
const COMPARABLE: f64 = 2.0;

pub(super) fn describe_refusal(summary: &Summary, group: &GroupSummary) -> Option<String> {
    let GroupReading::Refusal(refusal) = &group.reading else { return None };
    let published = published_refusal(summary, group, refusal).map(|published| format!(" {published}"));
    Some(format!(
        "The first file was refused after {} entries in the mean of {} ({} to {}){}.{}",
        text::count(refusal.mean.round() as u64),
        axes::directories(refusal.directories as u64),
        text::count(refusal.least),
        text::count(refusal.most),
        predicted(summary, refusal),
        published.unwrap_or_default()
    ))
}

/// Two separate statements: the prediction holds within the equivalence band of the mean, and the
/// guaranteed lower bound was kept by every directory. A prediction may hold while a directory was full
/// before the bound, and that must be visible.
fn predicted(summary: &Summary, refusal: &Refusal) -> String {
    let (Some(predicted), Some(error)) = (&refusal.predicted, refusal.error) else {
        return "; nothing was predicted".into();
    };
    let band = summary.rules.equivalence_band;
    let holds = if error.abs() <= band { "holds" } else { "does NOT hold" };
    let safe = match refusal.least >= predicted.low {
        true => "no directory was full before the lower bound",
        false => "a directory was full BEFORE the lower bound",
    };
    format!(
        "; {} were predicted, {} {}: the prediction {holds} (within {}), and {safe} of {}",
        text::count(predicted.entries),
        text::percent(100.0 * error.abs()),
        if error < 0.0 { "fewer" } else { "more" },
        text::chosen(band),
        text::count(predicted.low)
    )
}

fn published_refusal(summary: &Summary, group: &GroupSummary, refusal: &Refusal) -> Option<String> {
    let of_group = summary.published.iter().filter(|figure| {
        figure.group.as_ref() == Some(&group.name) && figure.unit == "entries" && figure.value > 0.0
    });
    let ratios: Vec<f64> = of_group.map(|figure| figure.value / refusal.mean).collect();
    if ratios.is_empty() {
        return None;
    }
    // A factor of two means that the source filled another kind of directory, e.g. with other blocks; then
    // neither word would be true.
    if ratios.iter().any(|ratio| !(1.0 / COMPARABLE..=COMPARABLE).contains(ratio)) {
        return Some(
            "The published figures are of directories of another size: --published is for them.".into(),
        );
    }
    let far = |ratio: &f64| text::percent(100.0 * (ratio - 1.0).abs());
    let within = ratios.iter().all(|ratio| (ratio - 1.0).abs() <= summary.rules.equivalence_band);
    let words = if within { "are reproduced" } else { "are NOT reproduced" };
    Some(format!("The published figures {words}: {} from the mean.", text::list(ratios.iter().map(far))))
}
