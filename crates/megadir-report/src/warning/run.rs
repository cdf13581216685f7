//! Warnings about a whole run: coarse resolution, a width not reached, other load.

use megadir_record::{CellId, Machine, Plan, Rules, Stop};
use megadir_stats::{HalfWidth, Looks, narrow_enough};

use super::Warning;
use super::reference::HALF_WIDTH_MAX_PERCENT;
use crate::summary::{Ending, Rounds, Summary};

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
