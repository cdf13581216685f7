//! Warnings derived from samples, notes and the end of a record. Only baselines are searched for trends: every
//!
//! ```text
//! samples, notes, end -> advise: a list in a fixed order -> loud ones first (stable) -> words.rs: text, advice
//!                                                                             grouped.rs: merged for display
//! ```
//!
//! METHODOLOGY.md has the limits below. A warning never changes a verdict.
//! comparison depends on them, and more tests would find something by chance.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use megadir_record::{ArmId, Machine, Plan, Record, Role, Rules, Stop, contradictions};
use megadir_stats::{HalfWidth, Looks, narrow_enough};

use super::{Advisory, Options, Warning};
use crate::summary::{
    ArmSummary, Difference, Ending, Figure, GroupReading, GroupSummary, Interval, Mismatch, Rate, Rounds,
    Summary, TIMER_COST_REFUSED, WorkCheck, cost_of_timing, rounds_for_interval,
};

/// Fraction of the rounds that count.
const VOIDED_MAX: f64 = 0.2;
/// Fraction of an arm's time; see also [`TIMER_COST_REFUSED`].
const TIMER_COST_WARNED: f64 = 0.02;
/// Gap between a block's wall time and its histogram and gaps, as a fraction.
const UNACCOUNTED_MAX: f64 = 0.005;
/// Fraction of the planned starts.
const RATE_KEPT_MIN: f64 = 0.98;
/// Must also be above chance (2 / sqrt(n)).
const AUTOCORRELATION_MAX: f64 = 0.3;
/// Largest p of Pettitt's test that counts as a change.
const CHANGE_POINT_P: f64 = 0.01;
/// Rounds from which on the coefficient is computed.
const BIMODALITY_ROUNDS_MIN: usize = 20;
/// A uniform distribution has 5/9; skewed times with a single mode reach 0.7.
const BIMODALITY_MAX: f64 = 0.75;
/// At each end: one outlier would pass for a second mode.
const BIMODALITY_TRIM: f64 = 0.05;

pub(crate) fn advise(record: &Record, summary: &Summary, rounds: &Rounds<'_>) -> Vec<Advisory> {
    // In the order of severity within loud and quiet ones: first doubts about the record, then about the
    // work, then about the machine, then about precision. The final sort is stable.
    let mut warnings = contradictory(record);
    warnings.extend(unequal_work(summary));
    warnings.extend(data_changed(summary));
    warnings.extend(control_differences(summary));
    warnings.extend(disturbed(record));
    warnings.extend(how_far(summary, rounds));
    warnings.extend(find(&record.header.plan, summary));
    warnings.extend(timer_cost(summary));
    warnings.extend(self_check(summary));
    warnings.extend(resolution_wide(summary));
    warnings.extend(width_not_reached(&record.header.plan, summary, rounds));
    warnings.extend(pressure_rose(summary));
    warnings.extend(rate_not_kept(summary));
    let baselines = summary.arms.iter().filter(|arm| arm.planned.role == Role::Baseline);
    warnings.extend(baselines.flat_map(|arm| series(arm, &rounds.times(arm.planned.id), summary)));
    // The run notes unequal work as it happens, and the summary finds it again with more detail.
    let is_repeated =
        |kind: &str| kind == "unequal-work" && summary.arms.iter().any(|arm| !arm.work.is_equal());
    let noted = record.notes.iter().filter(|note| !is_repeated(&note.kind));
    warnings.extend(noted.map(|note| Warning::Noted { note: note.kind.clone(), text: note.text.clone() }));
    // Advice names options of the command that made the record: `advise` has none for rounds.
    let options = Options::of(&summary.command);
    let advisory = |warning: Warning| warning.advisory_with(options);
    let mut advisories: Vec<Advisory> = warnings.into_iter().map(advisory).collect();
    advisories.sort_by_key(|advisory| Reverse(advisory.loud));
    advisories
}

fn contradictory(record: &Record) -> Vec<Warning> {
    // A cut line is normal after a kill; damage is followed by more lines.
    let damage = record
        .cut
        .filter(|cut| cut.bytes == 0)
        .map(|cut| format!("Line {} of the record is damaged: only the lines before it are used.", cut.line));
    damage.into_iter().chain(contradictions(record)).map(|text| Warning::Contradictory { text }).collect()
}

fn unequal_work(summary: &Summary) -> Vec<Warning> {
    // A finding describes the mismatch; the warning is for the list and for programs that read JSON.
    let unequal = |arm: &ArmSummary| {
        let WorkCheck::Unequal(Mismatch { rounds, .. }) = arm.work else { return None };
        Some(Warning::UnequalWork { arm: arm.planned.name.clone(), rounds })
    };
    summary.arms.iter().filter_map(unequal).collect()
}

fn data_changed(summary: &Summary) -> Vec<Warning> {
    let unsteady = summary.data.iter().filter(|check| !check.steady);
    unsteady
        .map(|check| Warning::DataChanged {
            entries: check.data.entries,
            entries_min: check.entries_min,
            entries_max: check.entries_max,
        })
        .collect()
}

fn control_differences(summary: &Summary) -> Vec<Warning> {
    // Negligible ones are warnings too, but quiet.
    let different = summary.resolution.iter().filter(|r| r.difference != Difference::None);
    different
        .map(|resolution| Warning::ControlDiffers {
            arm: summary.arm_name(resolution.baseline).into(),
            ratio: resolution.ratio,
            negligible: resolution.difference == Difference::Negligible,
        })
        .collect()
}

/// Published runs on quiet machines lost 1 to 3 % of the loop, runs during compilations and tests 9 to 57 %.
const TAKEN_MAX_PERCENT: f64 = 5.0;

/// The loop alone may have met a single task, and the waiting may have ended before the run: other work that lasts shows in both.
fn disturbed(record: &Record) -> Option<Warning> {
    let begun = [&record.header.machine.pressure].into_iter();
    let all = begun.chain(record.resumed.iter().map(|resumed| &resumed.pressure));
    // The worst of several starts: each `--resume` measures the disturbance again.
    let disturbed = all.filter_map(|pressure| {
        let (taken_percent, waited_percent) = (pressure.taken_percent?, pressure.cpu_some_10s_percent);
        let is_disturbed =
            taken_percent > TAKEN_MAX_PERCENT && waited_percent.is_none_or(|percent| percent > PRESSURE_MIN);
        is_disturbed.then_some(Warning::Disturbed { taken_percent, waited_percent })
    });
    let taken = |warning: &Warning| match warning {
        Warning::Disturbed { taken_percent, .. } => *taken_percent,
        _ => 0.0,
    };
    disturbed.max_by(|a, b| taken(a).total_cmp(&taken(b)))
}

fn how_far(summary: &Summary, counted: &Rounds<'_>) -> Vec<Warning> {
    let progress = &summary.progress;
    let (rounds, planned, voided) = (progress.rounds_used, progress.rounds_planned, progress.rounds_voided);
    let mut warnings = Vec::new();
    let needed = rounds_for_interval(summary.rules.confidence);
    // A refusal is a count, and needs no interval of times.
    let timed = |group: &GroupSummary| !matches!(group.reading, GroupReading::Refusal(_));
    if summary.groups.iter().any(timed) {
        warnings.extend(too_few_rounds(summary, counted, needed));
    }
    match &progress.ending {
        Ending::Complete => {}
        Ending::Early { reason } => {
            warnings.push(Warning::Incomplete { rounds, planned, reason: reason.clone() });
        }
        Ending::Killed { cut_line } => {
            // A killed run has no reason in its record. A line that was cut is normal for it, and is noted
            // for completeness.
            warnings.push(Warning::Incomplete { rounds, planned, reason: None });
            warnings.extend(cut_line.map(|line| Warning::CutOff { line }));
        }
    }
    if voided as f64 > VOIDED_MAX * rounds as f64 {
        warnings.push(Warning::Noisy { voided, rounds });
    }
    warnings
}

/// Arms that were stopped lack rounds for a reason of their own. If all other arms lack them, the run is
/// short; if only some do, these are named, because the others can be used.
fn too_few_rounds(summary: &Summary, rounds: &Rounds<'_>, needed: usize) -> Option<Warning> {
    let arms = summary.arms.iter().filter(|arm| !rounds.is_stopped(arm.planned.id));
    let (few, enough): (Vec<&ArmSummary>, Vec<&ArmSummary>) = arms.partition(|arm| arm.rounds < needed);
    match few.iter().map(|arm| arm.rounds).max() {
        Some(rounds) if !enough.is_empty() => {
            let arms = few.iter().map(|arm| arm.planned.name.clone()).collect();
            Some(Warning::TooFewRounds { rounds, needed, arms })
        }
        _ => {
            let rounds = summary.progress.rounds_used;
            (rounds < needed).then_some(Warning::TooFewRounds { rounds, needed, arms: Vec::new() })
        }
    }
}

fn timer_cost(summary: &Summary) -> Option<Warning> {
    let cost = |arm| cost_of_timing(arm, summary.self_check.as_ref(), summary.null_loop_ns);
    let costs = summary.arms.iter().filter_map(|arm| Some((cost(arm)?, arm)));
    // The arm that pays most; smaller costs follow from it.
    let (cost, arm) = costs.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (cost > TIMER_COST_WARNED).then(|| Warning::TimerCost {
        arm: arm.planned.name.clone(),
        percent: 100.0 * cost,
        quantiles_refused: cost > TIMER_COST_REFUSED,
    })
}

fn self_check(summary: &Summary) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if summary.self_check.as_ref().is_some_and(|check| !check.delays_found) {
        warnings.push(Warning::DelaysNotFound);
    }
    // A block after dropping the cache holds few operations; starting it is a larger share.
    let long = summary.arms.iter().filter(|arm| !arm.planned.cache.is_cold());
    let arms = long.filter_map(|arm| Some((Some(arm.planned.name.clone()), arm.single()?.accounted?)));
    let of_check = summary.self_check.as_ref().map(|check| (None, check.accounted));
    // The largest deviation on either side: more than the wall time is as wrong as less.
    let worst =
        of_check.into_iter().chain(arms).max_by(|a, b| (a.1 - 1.0).abs().total_cmp(&(b.1 - 1.0).abs()));
    if let Some((arm, accounted)) = worst.filter(|(_, accounted)| (accounted - 1.0).abs() > UNACCOUNTED_MAX) {
        warnings.push(Warning::Unaccounted { arm, percent: 100.0 * accounted });
    }
    warnings
}

fn rate_not_kept(summary: &Summary) -> Option<Warning> {
    let behind = summary.arms.iter().filter_map(|arm| Some((arm, arm.single()?.rate?)));
    // Furthest behind its rate, as a fraction.
    let kept = |rate: &Rate| rate.achieved_per_s / rate.target_per_s.max(1) as f64;
    let (arm, rate) = behind.min_by(|a, b| kept(&a.1).total_cmp(&kept(&b.1)))?;
    (kept(&rate) < RATE_KEPT_MIN).then(|| Warning::RateNotKept {
        arm: arm.planned.name.clone(),
        target_per_s: rate.target_per_s,
        achieved_per_s: rate.achieved_per_s,
    })
}

fn series(arm: &ArmSummary, times: &[f64], summary: &Summary) -> Vec<Warning> {
    let arm = || arm.planned.name.clone();
    // The halves are compared only without a change point: one level shift would cause both warnings.
    let mut warnings = Vec::new();
    match megadir_stats::change_point(times).filter(|change| change.p < CHANGE_POINT_P) {
        Some(change) => {
            warnings.push(Warning::ChangePoint { arm: arm(), round: change.index + 1, p: change.p });
        }
        None => {
            let ratio = halves(times, summary.rules.equivalence_band);
            warnings.extend(ratio.map(|ratio| Warning::HalvesDiffer { arm: arm(), ratio }));
        }
    }
    // Twice the standard error of the coefficient of independent rounds.
    let by_chance = 2.0 / (times.len() as f64).sqrt();
    let coefficient = megadir_stats::lag1_autocorrelation(times);
    if let Some(coefficient) = coefficient.filter(|r| *r > AUTOCORRELATION_MAX.max(by_chance)) {
        warnings.push(Warning::Autocorrelated { arm: arm(), coefficient });
    }
    if let Some(coefficient) = bimodality(times).filter(|b| *b > BIMODALITY_MAX) {
        warnings.push(Warning::Bimodal { arm: arm(), coefficient });
    }
    warnings
}

/// The interval must lie outside of the band as a whole, so that an irrelevant drift causes no warning.
fn halves(times: &[f64], band: f64) -> Option<Figure> {
    let ratio = Figure::from(megadir_stats::halves_differ(times)?);
    let outside = |interval: Interval| interval.low > 1.0 + band || interval.high * (1.0 + band) < 1.0;
    ratio.interval.is_some_and(outside).then_some(ratio)
}

/// Both tails are trimmed by the same number of rounds, at least one.
fn bimodality(times: &[f64]) -> Option<f64> {
    let trimmed = (times.len() as f64 * BIMODALITY_TRIM).ceil() as usize;
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.get(trimmed..times.len().checked_sub(trimmed)?)?;
    let enough = times.len() >= BIMODALITY_ROUNDS_MIN;
    megadir_stats::bimodality_coefficient(middle).filter(|_| enough)
}

/// Share of ten seconds in which some task waited, per cent.
pub(super) const PRESSURE_MIN: f64 = 10.0;
/// Percentage points: pressure that was there before the run was noted then.
const PRESSURE_RISE_MIN: f64 = 5.0;

pub(super) fn resolution_wide(summary: &Summary) -> Vec<Warning> {
    let band = summary.rules.equivalence_band;
    let wide = summary.resolution.iter().filter_map(|resolution| {
        let is_noted = |percent: &f64| *percent > 100.0 * band && *percent <= HALF_WIDTH_MAX_PERCENT;
        // Beyond the upper limit the stronger warning `ReferenceWide` takes over.
        let half_width_percent = resolution.half_width_percent.filter(is_noted)?;
        let arm = summary.arm_name(resolution.baseline).to_owned();
        Some(Warning::ResolutionWide { arm, half_width_percent, band })
    });
    wide.collect()
}

pub(super) fn width_not_reached(plan: &Plan, summary: &Summary, rounds: &Rounds<'_>) -> Option<Warning> {
    let (target, looks) = target(&summary.rules)?;
    // The run stopped by its own rule at adjusted confidence, and the same rule is applied here.
    let confidence = looks.confidence(summary.rules.confidence);
    let wide = |(arm, to): &(ArmId, ArmId)| {
        let times = rounds.paired(&[*arm, *to]);
        !narrow_enough(&times[0], &times[1], target, confidence)
    };
    let comparisons = plan.contrasts().iter().filter(|contrast| wide(contrast)).count();
    // A run that ended early did not use up its rounds, and has a warning about that.
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

/// The arms' own I/O counts too.
pub(super) fn pressure_rose(summary: &Summary) -> Vec<Warning> {
    let Some(after) = &summary.pressure_after else { return Vec::new() };
    let Machine { pressure: before, .. } = &summary.machine;
    // Pressure of input and output is expected of arms that write or read uncached, so it accuses only runs
    // whose arms do neither.
    let quiet = summary.arms.iter().all(|arm| arm.planned.work.leaves_all() && !arm.planned.cache.is_cold());
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

/// With a wider half-interval an arm is no reference.
pub(super) const HALF_WIDTH_MAX_PERCENT: f64 = 20.0;
/// Then the whole run is noisy, not the one arm.
const OTHERS_MAX_PERCENT: f64 = 10.0;

/// Width of the interval of a reference that is too wide to be one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wide {
    pub(crate) half_width_percent: f64,
    /// Median half-width of the compared arms; `None` for the arm against itself.
    pub(crate) others_percent: Option<f64>,
}

/// Against itself, or by its own time if the compared arms are precise: ratios by round cancel only common noise.
pub(crate) fn wide(summary: &Summary, arm: ArmId, others: &[Figure]) -> Option<Wide> {
    let of_control = summary.resolution.iter().filter(|resolution| resolution.baseline == arm);
    let of_control = of_control.filter_map(|resolution| resolution.half_width_percent).fold(0.0, f64::max);
    // Control first: it measures the scatter of equal work directly.
    if of_control > HALF_WIDTH_MAX_PERCENT {
        return Some(Wide { half_width_percent: of_control, others_percent: None });
    }
    // Without a wide control, a wide time of its own counts only if the arms compared with it are precise.
    // Otherwise the whole run is noisy.
    let own = half_width_percent(summary.timing(arm)?.time_ns)?;
    let others: Vec<f64> = others.iter().filter_map(|time| half_width_percent(*time)).collect();
    let others = megadir_stats::median(&others)?;
    let wide = own > HALF_WIDTH_MAX_PERCENT && others < OTHERS_MAX_PERCENT;
    wide.then_some(Wide { half_width_percent: own, others_percent: Some(others) })
}

fn half_width_percent(time: Figure) -> Option<f64> {
    let interval = time.interval.filter(|_| time.value > 0.0)?;
    Some(100.0 * interval.half_width() / time.value)
}

pub(super) fn find(plan: &Plan, summary: &Summary) -> Vec<Warning> {
    // Every arm that is the second of a comparison, and all baselines.
    let contrasts = plan.contrasts();
    let baselines = summary.resolution.iter().map(|resolution| resolution.baseline);
    let references: BTreeSet<ArmId> = contrasts.iter().map(|(_, to)| *to).chain(baselines).collect();
    let time = |arm: &ArmSummary| arm.timing.as_ref().map(|timing| timing.time_ns);
    let find = |reference: ArmId| {
        let against = contrasts.iter().filter(|(_, to)| *to == reference);
        let others: Vec<Figure> = against.filter_map(|(arm, _)| summary.arm(*arm).and_then(time)).collect();
        let Wide { half_width_percent, others_percent } = wide(summary, reference, &others)?;
        let arm = summary.arm_name(reference).to_owned();
        Some(Warning::ReferenceWide { arm, half_width_percent, others_percent })
    };
    references.into_iter().filter_map(find).collect()
}
