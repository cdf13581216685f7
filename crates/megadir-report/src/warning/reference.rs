//! Warnings of arms that are too noisy to serve as a reference.

use std::collections::BTreeSet;

use megadir_record::{CellId, Plan};

use super::Warning;
use crate::summary::{Arm, Figure, Summary};

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
