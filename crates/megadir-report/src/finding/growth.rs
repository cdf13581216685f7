//! Finding on growth: the exponent of time against entries, and whether it is linear.

use megadir_record::claims::ClaimedGrowth;

use super::source::growth_words;
use super::{Finding, FindingKind};
use crate::summary::{Figure, GroupReading, Point, Series, Shape, Summary, rounds_for_interval};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let told = summary.groups.iter().flat_map(|group| {
        let GroupReading::Grow(growth) = &group.reading else { return Vec::new() };
        let tell_one = |series| {
            let text = tell(summary, series)?;
            Some(Finding::of_group(FindingKind::Growth, &group.name, text))
        };
        growth.series.iter().filter_map(tell_one).collect()
    });
    told.collect()
}

fn tell(summary: &Summary, series: &Series) -> Option<String> {
    let exponent = series.exponent.as_ref()?;
    let (first, last) = (series.points.first()?.entries, series.points.last()?.entries);
    Some(format!(
        "On {}, from {} to {}, the time of {} grows with entries to the power {}: {}{}.",
        series
            .points
            .first()
            .map_or(summary.machine.file_system.kind.as_str(), |point| summary.place(point.arm)),
        text::count(first),
        text::entries(last),
        series.name,
        text::exponent(exponent),
        words(summary, series),
        last_step(series, exponent)
    ))
}

fn words(summary: &Summary, series: &Series) -> String {
    // Sources claim growth for warm caches only.
    let cold = |point: &Point| summary.arm(point.arm).is_some_and(|arm| arm.cell.cache.is_cold());
    let source = summary.claims.as_ref().filter(|_| !series.points.iter().any(cold));
    let beside = |is: ClaimedGrowth| match source.map(|claims| (&claims.who, claims.growth)) {
        Some((who, Some(claimed))) if claimed == is => format!(", as {who} says"),
        Some((who, Some(claimed))) => format!(", which {who} calls {}", growth_words(claimed)),
        _ => String::new(),
    };
    match series.shape {
        Shape::Linear => format!("linear{}", beside(ClaimedGrowth::Linear)),
        Shape::PerhapsLinear => "perhaps linear: the interval is too wide to decide".into(),
        Shape::LessThanLinear => format!("less than linear{}", beside(ClaimedGrowth::BelowLinear)),
        Shape::MoreThanLinear => format!("more than linear{}", beside(ClaimedGrowth::AboveLinear)),
        Shape::CannotBeTold => format!(
            "without an interval under {} rounds its shape is undecided",
            rounds_for_interval(summary.rules.confidence)
        ),
    }
}

/// Reports the exponent between the largest sizes if the curve bends.
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
