//! Summary of a record, as data without sentences.
//!
//! ```text
//! record -> check_plan, decode_samples -> Index -> Rounds: the samples that count, arm by round
//! Rounds -> equal_work: which arms may be compared -> Evidence -> a rule for each group:
//!     Compare, Pairs   compare.rs       Decompose  decompose.rs    BreakEven  break_even.rs
//!     Fill, Grow, Refusal               fillings.rs
//!          file systems, all rows: overview.rs     baseline against its double: resolution.rs
//! -> Summary (whole.rs): for tables, findings and the JSON form
//! ```
//!
//! A record may come from anywhere. It is checked before anything is computed, so that no rule divides by
//! zero or indexes beyond an end.

mod arm;
mod break_even;
mod compare;
mod decompose;
mod equal_work;
mod fillings;
mod operations;
mod overview;
mod published;
mod resolution;
mod rounds;
mod self_check;
mod whole;

use megadir_record::{ArmId, Plan, Record, Rules, Sample, Work};
use megadir_stats::{Judging, Looks};

use rounds::{histogram, times_of};

pub use crate::figure::{Figure, Threshold, rounds_for_interval};
pub use arm::{ArmSummary, DiskWork, HostRate, Quantiles, Timing};
pub use break_even::{BreakEven, BreakEvenPoint, BreakEvenSeries, BreakEvenSizes};
pub use compare::{CallsContrast, Comparison, Contrast, Outcome, PairRow, Pairs};
pub(crate) use compare::{OutcomeClass, judged};
pub use decompose::{Claim, Decomposition, Factor, ReadingFactor};
pub use equal_work::{DataCheck, Mismatch, WorkCheck};
pub use fillings::{Bucket, Fill, Growth, Point, Refusal, Series, Shape, Step};
pub use megadir_stats::{Interval, Verdict};
pub(crate) use operations::together;
pub use operations::{OperationQuantiles, Operations, Rate};
pub use overview::{Overall, Overview, OverviewCell, OverviewColumn, OverviewRow};
pub(crate) use published::{entries_nowhere, unlike, unlike_contents, unlike_entries};
pub use resolution::{Difference, Resolution};
#[cfg(test)]
pub(crate) use rounds::DECODED;
pub(crate) use rounds::{Index, Rounds, Times};
pub use self_check::SelfChecked;
pub(crate) use self_check::{TIMER_COST_REFUSED, cost_of_timing};
pub(crate) use whole::summarize;
pub use whole::{Ending, GroupReading, GroupSummary, Progress, Stopped, Summary};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("nothing was measured: {why}")]
    NothingMeasured {
        /// Reason: what stopped the arms, or how far the run came.
        why: String,
    },
    #[error("the record's plan contradicts itself: {0}")]
    Plan(String),
    #[error("the record's sample of `{arm}` in round {round} cannot be true: {reason}")]
    Sample { arm: String, round: u32, reason: &'static str },
}

/// Indices are valid, and the rules can be followed.
/// Later modules index arms by their number and look up data sets without a check.
fn check_plan(plan: &Plan) -> Result<(), SummaryError> {
    let broken = |reason: String| Err(SummaryError::Plan(reason));
    for (place, planned) in plan.arms.iter().enumerate() {
        if planned.id.0 as usize != place {
            return broken(format!("arm {place} is numbered {}", planned.id.0));
        }
        if plan.data_set(planned.data).is_none() {
            let (name, data) = (&planned.name, planned.data.0);
            return broken(format!("`{name}` works on data set {data}, which does not exist"));
        }
    }
    for group in &plan.groups {
        if let Some(arm) = group.rule.arms().into_iter().find(|arm| arm.0 as usize >= plan.arms.len()) {
            return broken(format!("group `{}` has arm {}, which does not exist", group.name, arm.0));
        }
    }
    let rules = &plan.rules;
    if !(rules.confidence > 0.0 && rules.confidence < 1.0) {
        return broken(format!("its confidence is {}, not between 0 and 1", rules.confidence));
    }
    if !(rules.equivalence_band > 0.0 && rules.equivalence_band.is_finite()) {
        return broken(format!("its equivalence band is {}, not above 0", rules.equivalence_band));
    }
    check_stop(rules).map_or(Ok(()), broken)
}

/// Rounds at which a run may stop are in its rules; an adjustment for an impossible number of looks has no
/// value.
fn check_stop(rules: &Rules) -> Option<String> {
    let (width, first) = (rules.stop.half_width()?, rules.stop.rounds_min()?);
    if Looks::new(first, rules.rounds).is_none() {
        return Some(format!("it looks first after {first} of {} rounds", rules.rounds));
    }
    let usable = width > 0.0 && width.is_finite();
    (!usable).then(|| format!("it stops at a half-width of {width}, not above 0"))
}

/// Every division and logarithm is possible; decodes the times of single operations.
fn decode_samples(record: &Record) -> Result<Vec<Option<Times>>, SummaryError> {
    let planned = |sample: &Sample| record.header.plan.arm(sample.arm);
    // A lookup is one timed operation. Other work, e.g. creating directories in advance, may count
    // operations that were not timed one by one.
    let one_by_one =
        |sample: &Sample| planned(sample).is_some_and(|arm| matches!(arm.work, Work::Lookup { .. }));
    let decode = |sample: &Sample| match (sample.operations, sample.elapsed_ns) {
        (0, _) => Err("it has no operations"),
        // A division by either is the first thing that happens to a sample.
        (_, 0) => Err("it took no time"),
        _ => {
            let Some(latency) = sample.latency.as_deref() else { return Ok(None) };
            let histogram = histogram(latency).ok_or("the times of its operations contradict themselves")?;
            if histogram.count() != sample.operations && one_by_one(sample) {
                return Err("it has the times of another number of operations");
            }
            Ok(times_of(&histogram, latency.ns_per_tick))
        }
    };
    // A record with one impossible sample is refused as a whole, because nothing else in it deserves more
    // trust.
    let refuse = |sample: &Sample, reason| {
        let arm = planned(sample).map_or_else(|| "?".into(), |planned| planned.name.clone());
        SummaryError::Sample { arm, round: sample.round, reason }
    };
    record.samples.iter().map(|sample| decode(sample).map_err(|reason| refuse(sample, reason))).collect()
}

/// Input of the rules: plan, samples by round, and which arms may be compared; no results, so no rule uses another's.
pub(crate) struct Evidence<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) rounds: &'a Rounds<'a>,
    pub(crate) checks: &'a [WorkCheck],
}

impl Evidence<'_> {
    pub(crate) fn is_equal(&self, arm: ArmId) -> bool {
        self.checks.get(arm.0 as usize).is_some_and(WorkCheck::is_equal)
    }

    /// Band and looks of the plan apply to all groups of a run.
    pub(crate) fn judging(&self) -> Judging {
        Judging { band: self.plan.rules.equivalence_band, looks: looks(&self.plan.rules) }
    }

    pub(crate) fn confidence(&self) -> f64 {
        self.plan.rules.confidence
    }
}

/// The error level is divided by the number of looks at which a run might have stopped.
/// A run without a stopping rule looks once, at its end.
pub fn looks(rules: &Rules) -> u32 {
    let looks = rules.stop.rounds_min().and_then(|min| Looks::new(min, rules.rounds));
    looks.map_or(1, |looks| looks.count())
}
