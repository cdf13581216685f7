//! Whether a run that stops at a width has measured enough: pure, of the plan and of the samples so far.

use std::collections::{BTreeMap, BTreeSet};

use megadir_record::{CellId, GroupRule, Plan, Role, Rules, Stop};
use megadir_stats::{HalfWidth, Looks, narrow_enough};

use super::Round;

/// Returns the rounds after which a run with these rules looks whether it has measured enough; `None` where its rounds are
/// fixed.
pub fn looks(rules: &Rules) -> Option<Looks> {
    Looks::new(rules.stop.rounds_min()?, rules.rounds)
}

/// Returns the contrasts that a run which stops at a width measures until they are narrow enough: every arm of a group with
/// a baseline against it, every pair, and every arm that asks against the one that lists.
pub fn contrasts(plan: &Plan) -> BTreeSet<(CellId, CellId)> {
    let of_group = |group: &megadir_record::Group| -> Vec<(CellId, CellId)> {
        match &group.rule {
            GroupRule::Compare { baseline } => {
                let member =
                    |cell: &&megadir_record::Cell| cell.id != *baseline && cell.groups.contains(&group.name);
                plan.cells.iter().filter(member).map(|cell| (cell.id, *baseline)).collect()
            }
            GroupRule::Pairs { pairs } => pairs.iter().map(|pair| (pair.arm, pair.to)).collect(),
            GroupRule::BreakEven { series } => {
                series.iter().flat_map(|one| one.asks.iter().map(|ask| (*ask, one.list))).collect()
            }
            GroupRule::Fill { arms } => match arms.split_first() {
                Some((first, others)) => others.iter().map(|arm| (*arm, *first)).collect(),
                None => Vec::new(),
            },
            GroupRule::Decompose { .. } | GroupRule::Grow { .. } | GroupRule::Refusal { .. } => Vec::new(),
        }
    };
    plan.groups.iter().flat_map(of_group).collect()
}

/// Returns whether a plan compares arms, apart from the baseline with itself.
pub(crate) fn compares(plan: &Plan) -> bool {
    let itself = |arm: &CellId| plan.cells.get(arm.0 as usize).is_some_and(|c| c.role == Role::AgainstItself);
    contrasts(plan).iter().any(|(arm, _)| !itself(arm))
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
    contrasts(plan).into_iter().all(|(arm, to)| {
        let pairs = rounds.iter().filter_map(|round| Some((round.get(&arm)?, round.get(&to)?)));
        let (new, old): (Vec<f64>, Vec<f64>) = pairs.unzip();
        narrow_enough(&new, &old, target, confidence)
    })
}
