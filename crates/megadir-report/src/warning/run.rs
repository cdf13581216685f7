//! Warnings about a whole run: coarse resolution, a width not reached, other load, a noisy reference.

use std::collections::BTreeSet;

use megadir_record::{CellId, Machine, Plan, Rules, Stop};
use megadir_stats::{HalfWidth, Looks, narrow_enough};

use crate::summary::{Arm, Ending, Figure, Rounds, Summary};
use crate::warning::Warning;

/// Pressure below this over the last ten seconds is ignored, per cent.
const PRESSURE_MIN: f64 = 10.0;
/// Smaller increases of pressure are ignored, per cent.
const PRESSURE_RISE_MIN: f64 = 5.0;

/// Warns of baselines whose difference from themselves is known less precisely than the equivalence band.
pub(super) fn resolution_wide(summary: &Summary) -> Vec<Warning> {
    let band = summary.rules.equivalence_band;
    let wide = summary.resolution.iter().filter_map(|resolution| {
        // A louder warning covers those outside of it.
        let told = |percent: &f64| *percent > 100.0 * band && *percent <= HALF_WIDTH_MAX_PERCENT;
        let half_width_percent = resolution.half_width_percent.filter(told)?;
        let arm = summary.arm_name(resolution.baseline).to_owned();
        Some(Warning::ResolutionWide { arm, half_width_percent, band })
    });
    wide.collect()
}

/// Warns of a run that used all rounds without reaching its width.
pub(super) fn width_not_reached(plan: &Plan, summary: &Summary, rounds: &Rounds<'_>) -> Option<Warning> {
    let (target, looks) = target(&summary.rules)?;
    let confidence = looks.confidence(summary.rules.confidence);
    let wide = |(arm, to): &(CellId, CellId)| {
        let times = rounds.paired(&[*arm, *to]);
        !narrow_enough(&times[0], &times[1], target, confidence)
    };
    let comparisons = plan.contrasts().iter().filter(|contrast| wide(contrast)).count();
    let ended = summary.progress.ending == Ending::Complete && comparisons > 0;
    ended.then_some(Warning::WidthNotReached { comparisons, rounds: summary.progress.rounds_used })
}

fn target(rules: &Rules) -> Option<(HalfWidth, Looks)> {
    let looks = Looks::new(rules.stop.rounds_min()?, rules.rounds)?;
    match rules.stop {
        Stop::Rounds => None,
        Stop::Ratio { half_width, .. } => Some((HalfWidth::Fraction(half_width), looks)),
        Stop::Difference { half_width_ns, .. } => Some((HalfWidth::Absolute(half_width_ns), looks)),
    }
}

/// Warns of pressure that was there after the run and not before.
///
/// I/O of the arms themselves makes tasks wait too.
pub(super) fn pressure_rose(summary: &Summary) -> Vec<Warning> {
    let Some(after) = &summary.pressure_after else { return Vec::new() };
    let Machine { pressure: before, .. } = &summary.machine;
    let quiet = summary.arms.iter().all(|arm| arm.cell.work.leaves_all() && !arm.cell.cache.is_cold());
    let io = (before.io_some_10s_percent, after.io_some_10s_percent);
    let processor = (before.cpu_some_10s_percent, after.cpu_some_10s_percent);
    let of = [("the processor", Some(processor)), ("input or output", quiet.then_some(io))];
    let rose = of.into_iter().filter_map(|(resource, percents)| {
        let (before_percent, after_percent) = percents.and_then(|(before, after)| Some((before?, after?)))?;
        let rose = after_percent > PRESSURE_MIN && after_percent - before_percent > PRESSURE_RISE_MIN;
        rose.then(|| Warning::PressureRose { resource: resource.into(), before_percent, after_percent })
    });
    rose.collect()
}

/// An arm with a wider half-interval than this, per cent, is no reference.
pub(super) const HALF_WIDTH_MAX_PERCENT: f64 = 20.0;
/// If the other arms exceed this too, the whole run is noisy, not the one arm.
const OTHERS_MAX_PERCENT: f64 = 10.0;

/// Noise of an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wide {
    /// Half of its interval, per cent.
    pub(crate) half_width_percent: f64,
    /// The median of the same over the arms compared with it; `None` for the arm against itself.
    pub(crate) others_percent: Option<f64>,
}

/// Checks if an arm is too noisy to be a reference: against itself, or by its own time if the arms compared
/// with it are precise. Ratios by rounds cancel only noise that affects both.
pub(crate) fn wide(summary: &Summary, arm: CellId, others: &[Figure]) -> Option<Wide> {
    let itself = summary.resolution.iter().filter(|one| one.baseline == arm);
    let itself = itself.filter_map(|one| one.half_width_percent).fold(0.0, f64::max);
    if itself > HALF_WIDTH_MAX_PERCENT {
        return Some(Wide { half_width_percent: itself, others_percent: None });
    }
    let own = half_width_percent(summary.arm(arm)?.timing.as_ref()?.time_ns)?;
    let others: Vec<f64> = others.iter().filter_map(|time| half_width_percent(*time)).collect();
    let others = megadir_stats::median(&others)?;
    let wide = own > HALF_WIDTH_MAX_PERCENT && others < OTHERS_MAX_PERCENT;
    wide.then_some(Wide { half_width_percent: own, others_percent: Some(others) })
}

fn half_width_percent(time: Figure) -> Option<f64> {
    let interval = time.interval.filter(|_| time.value > 0.0)?;
    Some(100.0 * interval.half_width() / time.value)
}

/// Warns of every noisy arm that others are compared with, or that is compared with itself.
pub(super) fn find(plan: &Plan, summary: &Summary) -> Vec<Warning> {
    let contrasts = plan.contrasts();
    let itself = summary.resolution.iter().map(|one| one.baseline);
    let references: BTreeSet<CellId> = contrasts.iter().map(|(_, to)| *to).chain(itself).collect();
    let time = |arm: &Arm| arm.timing.as_ref().map(|timing| timing.time_ns);
    let find = |reference: CellId| {
        let against = contrasts.iter().filter(|(_, to)| *to == reference);
        let others: Vec<Figure> = against.filter_map(|(arm, _)| summary.arm(*arm).and_then(time)).collect();
        let Wide { half_width_percent, others_percent } = wide(summary, reference, &others)?;
        let arm = summary.arm_name(reference).to_owned();
        Some(Warning::ReferenceWide { arm, half_width_percent, others_percent })
    };
    references.into_iter().filter_map(find).collect()
}
