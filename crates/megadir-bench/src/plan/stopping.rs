//! Number of rounds and operations: fixed, or until intervals are narrow enough; rate of operations.
//!
//! A run that stops at a width looks at its own results, which a fixed number of rounds does not. So it
//! looks only at planned times, with intervals at a confidence corrected for all looks (`schedule`), and
//! has a fixed maximum.

use megadir_record::{Arm, Data, Plan, Rules, Stop, Work};
use megadir_stats::{EPOCHS_MIN, HalfWidth};

use crate::plan::{PlanError, ROUNDS_MAX, Request};
use crate::study::Study;

/// First look at the widths, and at least this many rounds unless the user wants fewer.
const ROUNDS_MIN: u32 = 30;
/// With one round, chance within an epoch and differences between epochs could not be separated.
const ROUNDS_OF_EPOCH: u32 = 2;
const EPOCHS_MAX: u32 = 1000;
/// Fewer rounds give no interval.
const ROUNDS_FEWEST: u32 = 6;
/// Multiple of the study's rounds.
const ROUNDS_FACTOR: u32 = 10;

/// Rounds, and the rule that ends them. With a target width the rounds are a maximum: a width that is out
/// of reach must not run forever.
pub(super) fn stopping(request: &Request<'_>, rounds_of_study: u32) -> (u32, Stop) {
    let Some(until) = request.until else { return (request.rounds.unwrap_or(rounds_of_study), Stop::Rounds) };
    let most = || rounds_of_study.saturating_mul(ROUNDS_FACTOR).clamp(ROUNDS_MIN, ROUNDS_MAX);
    let rounds = request.rounds.unwrap_or_else(most);
    let rounds_min = ROUNDS_MIN.min(rounds);
    let stop = match until {
        HalfWidth::Fraction(half_width) => Stop::Ratio { half_width, rounds_min },
        HalfWidth::Absolute(half_width_ns) => Stop::Difference { half_width_ns, rounds_min },
    };
    (rounds, stop)
}

/// Refuses epochs if no data can be re-created, or if there are too few rounds.
///
/// An epoch has data made again under other names, to separate the effect of a single data set. So the data
/// must belong to the run, the arms must not depend on each other's files, and both the number of epochs and
/// their rounds must suffice for an interval.
pub(super) fn check_epochs(plan: &Plan) -> Result<(), PlanError> {
    let Rules { epochs, rounds, stop, order, .. } = plan.rules;
    let refuse = |allowed: String| Err(PlanError::value("the number of epochs", epochs, allowed));
    let at_least = EPOCHS_MIN as u32;
    if epochs == 1 {
        return Ok(());
    }
    if !(at_least..=EPOCHS_MAX).contains(&epochs) {
        return refuse(format!("expected 1, or {at_least} to {EPOCHS_MAX}, because fewer give no interval"));
    }
    if rounds < ROUNDS_OF_EPOCH * epochs {
        let (least, most) = (ROUNDS_OF_EPOCH * epochs, rounds / ROUNDS_OF_EPOCH);
        return refuse(format!(
            "each epoch needs at least {ROUNDS_OF_EPOCH} rounds; give --rounds {least}, or at most {most} epochs"
        ));
    }
    if stop != Stop::Rounds {
        return refuse(
            "with --until the number of rounds is unknown in advance, so they cannot be split".into(),
        );
    }
    if order.depends() || !plan.data.iter().all(Data::is_made_before_run) {
        return refuse(
            "existing data, and data that the arms create in every round, cannot be recreated".into(),
        );
    }
    let renewable = |arm: &Arm| matches!(arm.work, Work::List { .. } | Work::Lookup { .. });
    match plan.arms.iter().find(|arm| !renewable(arm)) {
        Some(arm) => refuse(format!("the work of `{}` is tied to one data set; expected 1", arm.name)),
        None => Ok(()),
    }
}

pub(super) fn check_until(request: &Request<'_>) -> Result<(), PlanError> {
    let refuse = |value: String, allowed: &str| Err(PlanError::value("the target width", value, allowed));
    let usable = |value: f64, most: f64| value > 0.0 && value <= most;
    match (request.until, request.rounds) {
        (Some(HalfWidth::Fraction(value)), _) if !usable(value, 1.0) => {
            refuse(format!("{} %", 100.0 * value), "expected above 0 and up to 100 %")
        }
        (Some(HalfWidth::Absolute(value)), _) if !usable(value, 1e12) => {
            refuse(format!("{value} ns"), "expected above 0 and up to 1000 s")
        }
        (Some(_), Some(rounds)) if rounds < ROUNDS_FEWEST => {
            let allowed = "a target width needs at least 6, because fewer give no interval";
            Err(PlanError::value("the number of rounds", rounds, allowed))
        }
        _ => Ok(()),
    }
}

/// No file system is that fast, operations per second.
const RATE_MAX: u64 = 10_000_000;
/// A block lasts 1/10 s, so that it includes the queue behind a stall of a few milliseconds ...
const BLOCKS_PER_S: u64 = 10;
/// ... within these limits: the minimum gives a meaningful rate.
const OPERATIONS: std::ops::RangeInclusive<u64> = 10..=1 << 16;

/// All arms must do single operations.
///
/// An open loop: operations start at fixed times and latency counts from the intended start, so that a
/// stall delays all operations behind it instead of only one (coordinated omission).
pub(super) fn set_rate(study: &Study, rate_per_s: u64, arms: &mut [Arm]) -> Result<(), PlanError> {
    let refuse = |allowed: String| Err(PlanError::value("the rate", format!("{rate_per_s}/s"), allowed));
    if !(1..=RATE_MAX).contains(&rate_per_s) {
        return refuse(format!("expected 1 to {RATE_MAX} operations per second"));
    }
    if !arms.iter().all(|arm| matches!(arm.work, Work::Lookup { .. })) {
        return refuse(format!(
            "study `{}` has no single operations to schedule; use a study such as `lookup`",
            study.meta.name
        ));
    }
    for arm in arms {
        arm.rate_per_s = Some(rate_per_s);
        if arm.work.operations().is_some() {
            continue;
        }
        arm.operations = Some((rate_per_s / BLOCKS_PER_S).clamp(*OPERATIONS.start(), *OPERATIONS.end()));
    }
    Ok(())
}
