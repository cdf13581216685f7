//! The next step of a run: a pure function of the plan and the samples so far, so that a run can be replayed from its record.
//!
//! ```text
//! warm-up rounds 0, 1, 2 ... until steady or at the limit -> rounds 0 .. n, a voided round again
//! fewer than n rounds if the plan stops at a width and every interval is narrow enough (`enough`)
//! each round: every arm once, in a seeded order of its own; cold arms together, and none in the warm-up
//! ```
//!
//! If a directory refuses more names, its arm and the arms that depend on it are stopped, and no other
//! (`Sample::refused`, `Plan::stopped_by`). With several epochs each is carried out as a plan of its own (`epochs.rs`),
//! on data made again with other names.
//!
//! ```text
//!             +--------- not steady, below the limit ---------+
//!             v                                               |
//!  start -> warm-up round: warm arms -> last block done? -> steady, or 10 s
//!    |                                                        |
//!    +-- no warm-up in the rules ------> round n: all arms <--+-----------------+
//!                                           |                                   |
//!                                           last block done -> void? -> the same round, attempt + 1
//!                                           |                                   |
//!                                           +-> enough, or n = rounds -> done   +-- next round, attempt 0
//! ```
//!
//! Every property that matters to the statistics is decided here and nowhere else: random order (so that an
//! arm against itself differs by chance only), equal block lengths for equal work, and stopping rules that
//! were fixed in advance. The price is a pass over all samples at each step, between blocks; the gain is
//! that a resumed run has no state of the schedule to restore.

pub mod epochs;

use std::collections::{BTreeMap, BTreeSet};

use megadir_record::{Arm, ArmId, Order, Phase, Plan, Role, Rules, Sample, Stop};
use megadir_stats::permutation::{SplitMix64, balanced_latin_square, shuffle};
use megadir_stats::{HalfWidth, Looks, narrow_enough, theil_sen};

/// Shorter blocks repeat their operation, nanoseconds.
const BLOCK_NS_MIN: u64 = 1_000_000;
/// An empty operation must not grow a block without end.
const OPERATIONS_MAX: u64 = 1 << 16;
/// Drift of a steady warm-up from first to last round, as a fraction.
const DRIFT_MAX: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Block(Block),
    Done(Outcome),
}

/// One block of one arm. `attempt` is 0 unless the round was voided and repeated. Phase, round, attempt and
/// arm identify the block in a record, and with the seed they determine its random choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub phase: Phase,
    pub round: u32,
    pub attempt: u32,
    /// Within the round, from 0.
    pub place: u32,
    pub arm: ArmId,
    pub operations: u64,
}

/// Facts about the rounds as a whole, which become notes of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub steady: bool,
    pub redone: u32,
    /// Rounds that stayed void: the limit of repeats was reached.
    pub lost: u32,
}

/// Nothing is remembered between calls: the position follows from the last sample and the order of its round.
/// A round whose order has become empty, because all its arms have ended, ends the phase. A voided round is
/// repeated in an order of its own, and its samples stay in the record.
pub fn next(plan: &Plan, samples: &[Sample]) -> Step {
    let warm_up = rounds_of(samples, Phase::WarmUp);
    let none = plan.rules.warm_up_rounds_min == 0 || plan.arms.iter().all(|planned| planned.cache.is_cold());
    let to_warm = |round| order_after(plan, samples, (Phase::WarmUp, round, 0)).len();
    match warm_up.last() {
        None if none => {}
        None => return block(plan, samples, Phase::WarmUp, 0, 0, 0),
        Some(last) if last.samples.len() < to_warm(last.round) => {
            return block(plan, samples, Phase::WarmUp, last.round, 0, last.samples.len());
        }
        Some(last) if !warm_up_ends(plan, &warm_up) && to_warm(last.round + 1) > 0 => {
            return block(plan, samples, Phase::WarmUp, last.round + 1, 0, 0);
        }
        Some(_) => {}
    }
    let measured = rounds_of(samples, Phase::Measure);
    let redone = redone(&measured);
    let more = more(plan, redone);
    let done = || {
        Step::Done(Outcome {
            steady: none || is_steady(&warm_up),
            redone,
            lost: (measured.iter().filter(|round| round.void()).count() as u32).saturating_sub(redone),
        })
    };
    let left = |round, attempt| order_after(plan, samples, (Phase::Measure, round, attempt)).len();
    let begun = |round, attempt| match left(round, attempt) {
        0 => done(),
        _ => block(plan, samples, Phase::Measure, round, attempt, 0),
    };
    match measured.last() {
        None => begun(0, 0),
        Some(last) if last.samples.len() < left(last.round, last.attempt) => {
            block(plan, samples, Phase::Measure, last.round, last.attempt, last.samples.len())
        }
        Some(last) if last.void() && more => begun(last.round, last.attempt + 1),
        Some(last) if last.round + 1 < plan.rules.rounds && !enough(plan, &measured, last.round + 1) => {
            begun(last.round + 1, 0)
        }
        Some(_) => done(),
    }
}

/// After a refused block, an arm and its dependents have no further blocks.
pub(crate) fn order_after(plan: &Plan, samples: &[Sample], turn: (Phase, u32, u32)) -> Vec<ArmId> {
    let (phase, round, attempt) = turn;
    let mut order = order(plan, phase, round, attempt);
    for refused in samples.iter().filter(|sample| sample.refused.is_some()) {
        let here = (refused.phase, refused.round, refused.attempt) == turn;
        let from = if here { refused.place as usize + 1 } else { 0 };
        let stopped: Vec<ArmId> = plan.stopped_by(refused.arm).chain([refused.arm]).collect();
        let later = order.split_off(from.min(order.len()));
        order.extend(later.into_iter().filter(|planned| !stopped.contains(planned)));
    }
    order
}

/// `true` if one more void round may be repeated. The limit keeps a disturbed machine from measuring for
/// ever, and from selecting its quiet moments.
pub(crate) fn may_redo(plan: &Plan, samples: &[Sample]) -> bool {
    more(plan, redone(&rounds_of(samples, Phase::Measure)))
}

fn redone(measured: &[Round<'_>]) -> u32 {
    measured.iter().filter(|round| round.attempt > 0).count() as u32
}

fn more(plan: &Plan, redone: u32) -> bool {
    f64::from(redone + 1) <= plan.rules.redone_fraction_max * f64::from(plan.rules.rounds)
}

/// Samples of one attempt at a round, neighbours in the record.
struct Round<'a> {
    round: u32,
    attempt: u32,
    samples: &'a [Sample],
}

impl Round<'_> {
    fn void(&self) -> bool {
        self.samples.iter().any(|sample| sample.voided.is_some())
    }

    /// Mean logarithm of the time of one operation: a geometric mean, so no arm dominates.
    fn log_ns(&self) -> f64 {
        let log = |sample: &Sample| (sample.elapsed_ns.max(1) as f64 / sample.operations.max(1) as f64).ln();
        self.samples.iter().map(log).sum::<f64>() / self.samples.len() as f64
    }

    fn times_ns(&self) -> BTreeMap<ArmId, f64> {
        let time = |sample: &Sample| sample.elapsed_ns as f64 / sample.operations.max(1) as f64;
        let whole = self.samples.iter().filter(|sample| sample.refused.is_none());
        whole.map(|sample| (sample.arm, time(sample))).collect()
    }

    fn elapsed_ns(&self) -> u64 {
        self.samples.iter().map(|sample| sample.elapsed_ns).fold(0, u64::saturating_add)
    }
}

fn rounds_of(samples: &[Sample], phase: Phase) -> Vec<Round<'_>> {
    samples
        .chunk_by(|a, b| (a.phase, a.round, a.attempt) == (b.phase, b.round, b.attempt))
        .filter(|chunk| chunk[0].phase == phase)
        .map(|chunk| Round { round: chunk[0].round, attempt: chunk[0].attempt, samples: chunk })
        .collect()
}

/// The limit counts measured time only, so that it does not depend on what happens between blocks.
fn warm_up_ends(plan: &Plan, rounds: &[Round<'_>]) -> bool {
    let spent_ns = rounds.iter().map(Round::elapsed_ns).fold(0, u64::saturating_add);
    let enough = rounds.len() >= plan.rules.warm_up_rounds_min as usize;
    enough && (is_steady(rounds) || spent_ns >= plan.rules.warm_up_ns_max)
}

/// `true` if the interval of the Theil-Sen slope contains 0 and the drift is small. The first round fills
/// caches and is ignored if there are others; short series use their widest interval.
fn is_steady(rounds: &[Round<'_>]) -> bool {
    let series: Vec<f64> = rounds.iter().skip(1).map(Round::log_ns).collect();
    if series.len() < 2 {
        return false;
    }
    if series.len() == 2 {
        return (series[1] - series[0]).abs() < DRIFT_MAX;
    }
    let places: Vec<f64> = (0..series.len()).map(|place| place as f64).collect();
    let trend = [0.95, 0.8, 0.5].into_iter().find_map(|confidence| theil_sen(&places, &series, confidence));
    trend.is_some_and(|slope| {
        let drift = slope.value * (series.len() - 1) as f64;
        slope.interval.contains(0.0) && drift.abs() < DRIFT_MAX
    })
}

/// The next block at a place of a round. Callers have checked that the order is longer than the place.
fn block(plan: &Plan, samples: &[Sample], phase: Phase, round: u32, attempt: u32, place: usize) -> Step {
    let order = order_after(plan, samples, (phase, round, attempt));
    let (arm, place) = (order[place], place as u32);
    let operations = operations(plan, samples, phase, arm);
    Step::Block(Block { phase, round, attempt, place, arm, operations })
}

/// Repetitions in a block: fixed by the work, or doubled during the warm-up. Arms with the same work have the
/// same number, because a longer block meets more disturbances and dilutes each one.
fn operations(plan: &Plan, samples: &[Sample], phase: Phase, planned: ArmId) -> u64 {
    let Some(of) = plan.arms.get(planned.0 as usize) else { return 1 };
    if let Some(operations) = of.operations.or_else(|| of.work.operations()) {
        return operations;
    }
    let last = samples.iter().rfind(|sample| sample.arm == planned);
    if let Some(last) = last.filter(|last| phase == Phase::Measure && last.phase == Phase::Measure) {
        return last.operations;
    }
    let same = |other: &&Arm| (&other.work, other.data, other.cache) == (&of.work, of.data, of.cache);
    let each = plan.arms.iter().filter(same).map(|other| doubled(samples, other.id));
    each.max().unwrap_or(1)
}

/// Doubles the operations of an arm until a block would last long enough, from its last block in the
/// warm-up.
fn doubled(samples: &[Sample], planned: ArmId) -> u64 {
    let of_cell = |sample: &&Sample| sample.phase == Phase::WarmUp && sample.arm == planned;
    let Some(last) = samples.iter().rfind(of_cell) else { return 1 };
    let mut operations = last.operations.max(1);
    let one_ns = (last.elapsed_ns / operations).max(1);
    while operations < OPERATIONS_MAX && operations.saturating_mul(one_ns) < BLOCK_NS_MIN {
        operations *= 2;
    }
    operations
}

/// Cold arms run together, randomly before or after the warm ones, so that dropped caches are warmed once a round. Dependent arms
/// keep their order.
pub fn order(plan: &Plan, phase: Phase, round: u32, attempt: u32) -> Vec<ArmId> {
    let taking_part = |planned: &&Arm| phase == Phase::Measure || !planned.cache.is_cold();
    let all: Vec<&Arm> = plan.arms.iter().filter(taking_part).collect();
    let stream = match phase {
        Phase::WarmUp => 1,
        Phase::Measure => 2,
    };
    // Each decision draws from a stream of its own: an arm more or less in one does not shift the others.
    let at = |stream| generator(plan.seed, [stream, u64::from(round), u64::from(attempt)]);
    match plan.rules.order {
        Order::SeededPermutation | Order::BalancedLatinSquare => {
            let (cold, warm): (Vec<&Arm>, Vec<&Arm>) =
                all.into_iter().partition(|planned| planned.cache.is_cold());
            let mut parts =
                [shuffled(plan, &warm, stream, round, attempt), shuffled(plan, &cold, 3, round, attempt)];
            if at(4).below(2) == Some(1) {
                parts.swap(0, 1);
            }
            parts.concat()
        }
        Order::Phases => {
            let mut random = at(stream);
            let mut steps = by(&all, |planned| planned.step);
            steps.values_mut().for_each(|arms| shuffle(arms, &mut random));
            steps.into_values().flatten().map(|planned| planned.id).collect()
        }
        Order::Chains => {
            let mut chains: Vec<Vec<&Arm>> = by(&all, |planned| planned.chain).into_values().collect();
            let mut random = at(stream);
            shuffle(&mut chains, &mut random);
            chains.iter_mut().for_each(|chain| chain.sort_by_key(|planned| planned.step));
            chains.into_iter().flatten().map(|planned| planned.id).collect()
        }
    }
}

fn shuffled(plan: &Plan, planned_arms: &[&Arm], stream: u64, round: u32, attempt: u32) -> Vec<ArmId> {
    let mut ids: Vec<ArmId> = planned_arms.iter().map(|planned| planned.id).collect();
    if plan.rules.order == Order::BalancedLatinSquare && !ids.is_empty() {
        // Plans of older versions. Each pass through the square shuffles the rows.
        let mut rows = balanced_latin_square(ids.len());
        let pass = round as usize / rows.len();
        shuffle(&mut rows, &mut generator(plan.seed, [stream, pass as u64, 0]));
        return rows[round as usize % rows.len()].iter().map(|arm| ids[*arm]).collect();
    }
    shuffle(&mut ids, &mut generator(plan.seed, [stream, u64::from(round), u64::from(attempt)]));
    ids
}

/// Arms by number, ascending. Within a group they keep the order of the plan.
fn by<'a>(planned_arms: &[&'a Arm], number: impl Fn(&Arm) -> u32) -> BTreeMap<u32, Vec<&'a Arm>> {
    let mut groups: BTreeMap<u32, Vec<&Arm>> = BTreeMap::new();
    for planned in planned_arms {
        groups.entry(number(planned)).or_default().push(planned);
    }
    groups
}

/// Generator for one use. Neighbouring rounds would have correlated states if the numbers were only added
/// to the seed, so each is mixed in by the generator's own function.
fn generator(seed: u64, uses: [u64; 3]) -> SplitMix64 {
    let mix = |state: u64, value: u64| {
        SplitMix64::new(state ^ value.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next_u64()
    };
    SplitMix64::new(uses.into_iter().fold(seed, mix))
}

/// Planned checks of the widths, with their corrected confidence; `None` if the number of rounds is fixed.
pub fn looks(rules: &Rules) -> Option<Looks> {
    Looks::new(rules.stop.rounds_min()?, rules.rounds)
}

/// The A/A comparison of the baseline does not count.
pub(crate) fn compares(plan: &Plan) -> bool {
    let is_control = |arm: &ArmId| plan.arms.get(arm.0 as usize).is_some_and(|c| c.role == Role::Control);
    plan.contrasts().iter().any(|(arm, _)| !is_control(arm))
}

/// A check is due after `done` measured rounds, and every contrast is narrow enough.
fn enough(plan: &Plan, measured: &[Round<'_>], done: u32) -> bool {
    let target = match plan.rules.stop {
        Stop::Rounds => return false,
        Stop::Ratio { half_width, .. } => HalfWidth::Fraction(half_width),
        Stop::Difference { half_width_ns, .. } => HalfWidth::Absolute(half_width_ns),
    };
    let Some(looks) = looks(&plan.rules).filter(|looks| looks.is_at(done)) else { return false };
    let confidence = looks.confidence(plan.rules.confidence);
    let rounds: Vec<BTreeMap<ArmId, f64>> =
        measured.iter().filter(|round| !round.void()).map(Round::times_ns).collect();
    let refused = measured.iter().flat_map(|round| round.samples).filter(|sample| sample.refused.is_some());
    let stopped: BTreeSet<ArmId> =
        refused.flat_map(|sample| plan.stopped_by(sample.arm).chain([sample.arm])).collect();
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

#[cfg(test)]
mod tests;
