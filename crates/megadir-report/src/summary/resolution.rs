//! The baseline against itself: the smallest difference that the run can detect.

use megadir_record::{Arm, ArmId, GroupRule, Plan, Role};
use serde::{Deserialize, Serialize};

use super::compare::{Outcome, contrast};
use super::{Evidence, Figure, Verdict};

/// The same work twice in each round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// Repetition of the baseline.
    pub arm: ArmId,
    /// Baseline.
    pub baseline: ArmId,
    /// Rounds that have both arms.
    pub rounds: usize,
    /// Time of `arm` over time of `baseline`.
    pub ratio: Figure,
    /// Half the width of the interval, per cent: smaller differences cannot be detected.
    pub half_width_percent: Option<f64>,
    /// Verdict on the two, which do the same.
    pub difference: Difference,
}

/// Verdict on two arms that do the same work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// No difference, as expected.
    None,
    /// Less than the equivalence band: happens to one run in twenty.
    Negligible,
    /// The run cannot be trusted.
    Real,
}

/// One family: judged alone, one baseline in twenty would be called different.
/// A run of several file systems has a control for each, and all of them are asked the same question.
pub(crate) fn resolutions(evidence: &Evidence<'_>) -> Vec<Resolution> {
    let controls = evidence.plan.arms.iter().filter(|planned| planned.role == Role::Control);
    let pair = |planned: &Arm| Some((planned.id, baseline_of(evidence.plan, planned)?));
    let pairs: Vec<(ArmId, ArmId)> = controls.filter_map(pair).collect();
    let resolution = |(&(arm, baseline), (rounds, outcome)): (&(ArmId, ArmId), (usize, Outcome))| {
        let ratio = outcome.ratio()?;
        // Negligible and real differences are kept apart: the first happens by chance in one of twenty
        // runs, the second means that the machine was not fit for measuring.
        let difference = outcome.verdict().map_or(Difference::None, difference);
        let half_width_percent = ratio.interval.map(|interval| 100.0 * interval.half_width());
        Some(Resolution { arm, baseline, rounds, ratio, half_width_percent, difference })
    };
    pairs.iter().zip(contrast(evidence, &pairs)).filter_map(resolution).collect()
}

fn difference(verdict: Verdict) -> Difference {
    match verdict {
        Verdict::Faster { negligible: true } | Verdict::Slower { negligible: true } => Difference::Negligible,
        Verdict::Faster { .. } | Verdict::Slower { .. } => Difference::Real,
        Verdict::Equivalent | Verdict::Inconclusive { .. } => Difference::None,
    }
}

/// Arm that a control repeats: the same work, cache state and data, or like data of another chain of files.
///
/// Baselines of the control's own groups are searched before those by role, because a plan of several file
/// systems has a baseline on each. Arms that change their files cannot repeat a pass on the same ones, so
/// their control has equal files of its own.
fn baseline_of(plan: &Plan, planned: &Arm) -> Option<ArmId> {
    let data = |planned: &Arm| plan.data_set(planned.data).map(|data| (data.entries, data.on, &data.source));
    let same_work = |other: &Arm| {
        let alike =
            other.data == planned.data || (planned.chain != other.chain && data(other) == data(planned));
        alike && (&other.work, other.cache) == (&planned.work, planned.cache)
    };
    let shared = plan.groups.iter().filter(|group| planned.groups.contains(&group.name));
    let baselines = shared.filter_map(|group| match group.rule {
        GroupRule::Compare { baseline } => plan.arm(baseline),
        _ => None,
    });
    let by_role = plan.arms.iter().filter(|other| other.role == Role::Baseline);
    baselines.chain(by_role).find(|other| other.id != planned.id && same_work(other)).map(|other| other.id)
}
