//! Input of the rules: the plan, the samples by round, and the arms that may be compared; no results, so that
//! no rule can lean on another's.

use megadir_record::{ArmId, Plan, Rules};
use megadir_stats::{Judging, Looks};

use super::{Rounds, WorkCheck};

pub(crate) struct Evidence<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) rounds: &'a Rounds<'a>,
    pub(crate) checks: &'a [WorkCheck],
}

impl Evidence<'_> {
    /// The arm did the same work as the others on its data.
    pub(crate) fn is_equal(&self, arm: ArmId) -> bool {
        self.checks.get(arm.0 as usize).is_some_and(WorkCheck::is_equal)
    }

    pub(crate) fn judging(&self) -> Judging {
        Judging { band: self.plan.rules.equivalence_band, looks: looks(&self.plan.rules) }
    }

    pub(crate) fn confidence(&self) -> f64 {
        self.plan.rules.confidence
    }
}

/// The error level is divided by the number of looks at which a run might have stopped.
#[must_use]
pub fn looks(rules: &Rules) -> u32 {
    let looks = rules.stop.rounds_min().and_then(|min| Looks::new(min, rules.rounds));
    looks.map_or(1, |looks| looks.count())
}
