//! Whether a run that stops at a width has measured enough: pure, of the plan and of the samples so far.

use std::collections::{BTreeMap, BTreeSet};

use megadir_record::{CellId, Plan, Role, Rules, Stop};
use megadir_stats::{HalfWidth, Looks, narrow_enough};

use super::Round;

/// Returns the rounds after which a run with these rules looks whether it has measured enough; `None` where its rounds are
/// fixed.
pub fn looks(rules: &Rules) -> Option<Looks> {
    Looks::new(rules.stop.rounds_min()?, rules.rounds)
}

/// Returns whether a plan compares arms, apart from the baseline with itself.
pub(crate) fn compares(plan: &Plan) -> bool {
    let itself = |arm: &CellId| plan.cells.get(arm.0 as usize).is_some_and(|c| c.role == Role::AgainstItself);
    plan.contrasts().iter().any(|(arm, _)| !itself(arm))
}

/// Returns whether a run that has measured `done` rounds looks now, and finds every contrast narrow enough.
pub(super) fn enough(plan: &Plan, measured: &[Round<'_>], done: u32) -> bool {
    let target = match plan.rules.stop {
        Stop::Rounds => return false,
        Stop::Ratio { half_width, .. } => HalfWidth::Fraction(half_width),
        Stop::Difference { half_width_ns, .. } => HalfWidth::Absolute(half_width_ns),
    };
    let Some(looks) = looks(&plan.rules).filter(|looks| looks.is_at(done)) else { return false };
    let confidence = looks.confidence(plan.rules.confidence);
    let rounds: Vec<BTreeMap<CellId, f64>> =
        measured.iter().filter(|round| !round.void()).map(Round::times_ns).collect();
    // Of an arm that was stopped nothing more will be known.
    let refused = measured.iter().flat_map(|round| round.samples).filter(|sample| sample.refused.is_some());
    let stopped: BTreeSet<CellId> =
        refused.flat_map(|sample| plan.stopped_by(sample.cell).chain([sample.cell])).collect();
    let contrasts =
        plan.contrasts().into_iter().filter(|(arm, to)| !stopped.contains(arm) && !stopped.contains(to));
    let contrasts: Vec<_> = contrasts.collect();
    !contrasts.is_empty()
        && contrasts.into_iter().all(|(arm, to)| {
            let pairs = rounds.iter().filter_map(|round| Some((round.get(&arm)?, round.get(&to)?)));
            let (new, old): (Vec<f64>, Vec<f64>) = pairs.unzip();
            narrow_enough(&new, &old, target, confidence)
        })
}
