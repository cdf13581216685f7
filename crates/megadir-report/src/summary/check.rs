//! Conditions for summarising a record. A record may come from anywhere, so everything in it is checked.

use megadir_record::{Cell, CellId, GroupRule, Plan, Record, Rules, Sample, Stop, Work};
use megadir_stats::Looks;

use super::decode::{Times, histogram, times_of};

/// Reason why a record cannot be summarised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// No round was measured before the run ended.
    #[error(
        "nothing was measured: the record has {warm_up} of warm-up and none that counts; continue the run (bench run --resume) or start it again"
    )]
    NothingMeasured {
        /// Samples of warm-up rounds, with their noun.
        warm_up: String,
    },
    /// The record's plan contradicts itself.
    #[error("the record's plan contradicts itself: {0}")]
    Plan(String),
    /// A sample cannot be true.
    #[error("the record's sample of `{arm}` in round {round} cannot be true: {reason}")]
    Sample {
        /// The arm.
        arm: String,
        /// The round.
        round: u32,
        /// The contradiction.
        reason: &'static str,
    },
}

/// Checks that every index of the plan points at something and its rules can be followed.
pub(super) fn check_plan(plan: &Plan) -> Result<(), SummaryError> {
    let broken = |what: String| Err(SummaryError::Plan(what));
    for (place, cell) in plan.cells.iter().enumerate() {
        if cell.id.0 as usize != place {
            return broken(format!("arm {place} is numbered {}", cell.id.0));
        }
        if !plan.data.iter().any(|data| data.id == cell.data) {
            return broken(format!(
                "`{}` works on data set {}, which does not exist",
                cell.name, cell.data.0
            ));
        }
    }
    for group in &plan.groups {
        if let Some(arm) = arms_of(&group.rule).into_iter().find(|arm| arm.0 as usize >= plan.cells.len()) {
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

/// Returns the error in a stopping rule, if any.
fn check_stop(rules: &Rules) -> Option<String> {
    let width = match rules.stop {
        Stop::Rounds => return None,
        Stop::Ratio { half_width, .. } => half_width,
        Stop::Difference { half_width_ns, .. } => half_width_ns,
    };
    let first = rules.stop.rounds_min().unwrap_or(0);
    if Looks::new(first, rules.rounds).is_none() {
        return Some(format!("it looks first after {first} of {} rounds", rules.rounds));
    }
    let usable = width > 0.0 && width.is_finite();
    (!usable).then(|| format!("it stops at a half-width of {width}, not above 0"))
}

fn arms_of(rule: &GroupRule) -> Vec<CellId> {
    match rule {
        GroupRule::Compare { baseline } => vec![*baseline],
        GroupRule::Refusal { arm } => vec![*arm],
        GroupRule::Fill { arms } => arms.clone(),
        GroupRule::Decompose { slow, fast, .. } => slow.iter().chain(fast).map(|(_, arm)| *arm).collect(),
        GroupRule::Pairs { pairs } => pairs.iter().flat_map(|pair| [pair.arm, pair.to]).collect(),
        GroupRule::Grow { series } => series.iter().flat_map(|(_, arms)| arms.iter().copied()).collect(),
        GroupRule::BreakEven { series } => {
            series.iter().flat_map(|one| [one.list].into_iter().chain(one.asks.iter().copied())).collect()
        }
    }
}

/// Checks what every division and logarithm relies on, and decodes the times of single operations of every sample.
pub(super) fn decode_samples(record: &Record) -> Result<Vec<Option<Times>>, SummaryError> {
    let name = |sample: &Sample| {
        let cell: Option<&Cell> = record.header.plan.cells.get(sample.cell.0 as usize);
        cell.map_or_else(|| "?".into(), |cell| cell.name.clone())
    };
    let one_by_one = |sample: &Sample| {
        let cell = record.header.plan.cells.get(sample.cell.0 as usize);
        cell.is_some_and(|cell| matches!(cell.work, Work::Lookup { .. }))
    };
    let decode = |sample: &Sample| match (sample.operations, sample.elapsed_ns) {
        (0, _) => Err("it has no operations"),
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
    let refuse =
        |sample: &Sample, reason| SummaryError::Sample { arm: name(sample), round: sample.round, reason };
    record.samples.iter().map(|sample| decode(sample).map_err(|reason| refuse(sample, reason))).collect()
}
