//! Runs replayed against the pure function, without clock or file system.

use std::collections::BTreeSet;

use super::*;
use crate::plan::{BackendFact, Request, Target, plan as make_plan};
use megadir_record::{Counted, Preset, Role, VoidReason};

fn plan(buffers: &[u64], rounds: u32) -> Plan {
    let facts = [BackendFact::bare("getdents")];
    let request = Request {
        rounds: Some(rounds),
        target: Target::Made { entries: vec![10] },
        buffers_bytes: buffers.to_vec(),
        facts: &facts,
        ..Request::bare(Preset::Quick, 11)
    };
    make_plan(&crate::study::built_in("listing").unwrap(), &request).unwrap().plan
}

fn sample(block: &Block, elapsed_ns: u64) -> Sample {
    Sample {
        epoch: 0,
        round: block.round,
        attempt: block.attempt,
        place: block.place,
        arm: block.arm,
        phase: block.phase,
        start_ns: 0,
        operations: block.operations,
        elapsed_ns: elapsed_ns * block.operations,
        user_ns: 0,
        system_ns: 0,
        read_bytes: None,
        peak_bytes: None,
        disk: None,
        ranks: None,
        counted: Counted { entries: 10, hash: 1, calls: None, written_bytes: 0 },
        latency: None,
        voided: None,
        refused: None,
    }
}

/// Runs a plan with given times; `void` decides at a round's last block whether the attempt is void.
fn replay(
    plan: &Plan,
    time_ns: impl Fn(&Block) -> u64,
    void: impl Fn(&Block) -> bool,
) -> (Vec<Sample>, Outcome) {
    let mut samples: Vec<Sample> = Vec::new();
    loop {
        match next(plan, &samples) {
            Step::Done(outcome) => return (samples, outcome),
            Step::Block(block) => {
                let order = order_after(plan, &samples, (block.phase, block.round, block.attempt));
                let last = block.place as usize + 1 == order.len();
                samples.push(sample(&block, time_ns(&block)));
                if last && block.phase == Phase::Measure && void(&block) {
                    let arms = plan.arms.len();
                    let from = samples.len() - arms;
                    samples[from..]
                        .iter_mut()
                        .for_each(|sample| sample.voided = Some(VoidReason::StolenTime));
                }
            }
        }
        assert!(samples.len() < 100_000, "the run does not end");
    }
}

const STEADY_NS: u64 = 2_000_000;

#[test]
fn every_arm_runs_once_a_round() {
    let plan = plan(&[4096, 8192], 6);
    let (samples, outcome) = replay(&plan, |_| STEADY_NS, |_| false);
    assert_eq!(outcome, Outcome { steady: true, redone: 0, lost: 0 });
    let arms = plan.arms.len();
    assert_eq!(samples.len(), (3 + 6) * arms);
    for round in samples.chunks(arms) {
        let mut planned_arms: Vec<u32> = round.iter().map(|sample| sample.arm.0).collect();
        planned_arms.sort_unstable();
        assert_eq!(planned_arms, (0..arms as u32).collect::<Vec<_>>());
        assert!(round.iter().enumerate().all(|(place, sample)| sample.place == place as u32));
    }
}

#[test]
fn arms_without_warm_up_get_none() {
    let mut plan = plan(&[4096, 8192], 6);
    plan.rules.warm_up_rounds_min = 0;
    let (samples, outcome) = replay(&plan, |_| STEADY_NS, |_| false);
    assert_eq!(outcome, Outcome { steady: true, redone: 0, lost: 0 });
    assert!(samples.iter().all(|sample| sample.phase == Phase::Measure));
    assert_eq!(samples.len(), 6 * plan.arms.len());
}

#[test]
fn few_arms_of_older_plans_are_balanced_over_places_and_neighbours() {
    let mut plan = plan(&[4096, 8192], 8);
    assert_eq!((plan.rules.order, plan.arms.len()), (Order::SeededPermutation, 4));
    // Older plans use this order; they are resumed with it.
    plan.rules.order = Order::BalancedLatinSquare;
    let mut at_place = [[0; 4]; 4];
    for round in 0..8 {
        for (place, planned) in order(&plan, Phase::Measure, round, 0).iter().enumerate() {
            at_place[place][planned.0 as usize] += 1;
        }
    }
    assert_eq!(at_place, [[2; 4]; 4]);
}

#[test]
fn orders_follow_from_the_seed_and_differ() {
    let plan = plan(&[4096, 8192, 16_384, 32_768, 65_536, 262_144], 10);
    assert_eq!(plan.rules.order, Order::SeededPermutation);
    assert_eq!(order(&plan, Phase::Measure, 3, 0), order(&plan, Phase::Measure, 3, 0));
    let others = [(Phase::WarmUp, 3, 0), (Phase::Measure, 4, 0), (Phase::Measure, 3, 1)];
    for (phase, round, attempt) in others {
        assert_ne!(order(&plan, Phase::Measure, 3, 0), order(&plan, phase, round, attempt));
    }
    let other = Plan { seed: 12, ..plan.clone() };
    assert_ne!(order(&plan, Phase::Measure, 3, 0), order(&other, Phase::Measure, 3, 0));
}

#[test]
fn warm_up_lasts_while_a_trend_remains_up_to_its_limit() {
    let plan = plan(&[4096], 2);
    let warm_up_rounds = |samples: &[Sample]| {
        samples
            .iter()
            .filter(|sample| sample.phase == Phase::WarmUp)
            .map(|sample| sample.round)
            .max()
            .unwrap()
            + 1
    };
    // Falls by 20 % a round for ten rounds, then stays constant: the warm-up ends once the trend is a small part of the series.
    let falling =
        |block: &Block| (STEADY_NS as f64 * (1.0 + 4.0 * 0.8_f64.powi(block.round.min(10) as i32))) as u64;
    let (samples, outcome) = replay(&plan, falling, |_| false);
    assert!(warm_up_rounds(&samples) > 10 && outcome.steady, "{}", warm_up_rounds(&samples));
    // Rises without end: the warm-up stops at the limit of measured time.
    let rising = |block: &Block| STEADY_NS * u64::from(block.round + 1) * 10;
    let (samples, outcome) = replay(&plan, rising, |_| false);
    assert!(!outcome.steady);
    let spent_ns: u64 = samples.iter().filter(|s| s.phase == Phase::WarmUp).map(|s| s.elapsed_ns).sum();
    assert!(spent_ns >= plan.rules.warm_up_ns_max && spent_ns < 2 * plan.rules.warm_up_ns_max);
}

#[test]
fn short_operations_are_repeated_to_a_millisecond() {
    let plan = plan(&[4096], 4);
    let (samples, _) = replay(&plan, |_| 30_000, |_| false);
    let measured = samples.iter().filter(|sample| sample.phase == Phase::Measure);
    assert!(
        measured.clone().all(|sample| sample.operations == 64),
        "64 times 30 us is the first power over 1 ms"
    );
    assert!(measured.clone().all(|sample| sample.elapsed_ns >= BLOCK_NS_MIN));
}

#[test]
fn an_arm_and_its_control_have_blocks_of_equal_length() {
    let plan = plan(&[4096, 8192], 4);
    let control =
        plan.arms.iter().find(|planned| planned.role == Role::Control).expect("an arm against itself");
    // The load slows every warm-up block of one of the two arms. On its own it would stop doubling at a quarter
    // of the other's length.
    let disturbed = |block: &Block| match block.phase == Phase::WarmUp && block.arm == control.id {
        true => 120_000,
        false => 30_000,
    };
    let (samples, _) = replay(&plan, disturbed, |_| false);
    let measured = samples.iter().filter(|sample| sample.phase == Phase::Measure);
    let lengths: BTreeSet<u64> = measured.map(|sample| sample.operations).collect();
    assert_eq!(lengths, BTreeSet::from([64]));
}

#[test]
fn void_rounds_are_redone_up_to_the_limit() {
    let plan = plan(&[4096], 10);
    let arms = plan.arms.len();
    // Rounds 2 and 5 are void at the first attempt: 2 of 10 may be repeated.
    let (samples, outcome) =
        replay(&plan, |_| STEADY_NS, |block| block.attempt == 0 && matches!(block.round, 2 | 5));
    assert_eq!(outcome, Outcome { steady: true, redone: 2, lost: 0 });
    assert_eq!(samples.iter().filter(|sample| sample.phase == Phase::Measure).count(), 12 * arms);
    let good = samples.iter().filter(|sample| sample.phase == Phase::Measure && sample.voided.is_none());
    assert_eq!(good.count(), 10 * arms);
    // All rounds are void: two are repeated, all are lost, and the run still ends.
    let (_, outcome) = replay(&plan, |_| STEADY_NS, |_| true);
    assert_eq!(outcome, Outcome { steady: true, redone: 2, lost: 10 });
}

#[test]
fn schedule_resumes_identically_after_any_interruption() {
    let plan = plan(&[4096, 8192], 5);
    let (samples, _) = replay(&plan, |_| STEADY_NS, |block| block.attempt == 0 && block.round == 1);
    for cut in 0..samples.len() {
        // A round is judged after its last block; until then no sample is marked.
        let mut before = samples[..cut].to_vec();
        let whole = samples.get(cut).is_none_or(|after| after.place == 0);
        if !whole {
            let place = samples[cut].place as usize;
            before[cut - place..].iter_mut().for_each(|sample| sample.voided = None);
        }
        let Step::Block(block) = next(&plan, &before) else { panic!("ended early at {cut}") };
        let expected = &samples[cut];
        assert_eq!(
            (block.phase, block.round, block.attempt, block.place, block.arm),
            (expected.phase, expected.round, expected.attempt, expected.place, expected.arm)
        );
    }
}

fn chained(order: Order) -> Plan {
    let mut plan = plan(&[4096, 8192, 16_384, 32_768], 40);
    assert_eq!(plan.arms.len(), 6);
    plan.rules.order = order;
    for (place, planned) in plan.arms.iter_mut().enumerate() {
        (planned.chain, planned.step) = (place as u32 / 2, place as u32 % 2);
    }
    plan
}

#[test]
fn steps_follow_each_other_and_all_else_is_shuffled() {
    for order_rule in [Order::Phases, Order::Chains] {
        let plan = chained(order_rule);
        let mut seen = std::collections::HashSet::new();
        for round in 0..40 {
            let ids = order(&plan, Phase::Measure, round, 0);
            let planned_arms: Vec<&Arm> = ids.iter().map(|id| &plan.arms[id.0 as usize]).collect();
            match order_rule {
                Order::Phases => assert!(planned_arms.is_sorted_by_key(|planned| planned.step), "{ids:?}"),
                _ => assert!(
                    planned_arms
                        .chunks(2)
                        .all(|two| { (two[0].chain, two[0].step, two[1].step) == (two[1].chain, 0, 1) })
                ),
            }
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(place, id)| id.0 as usize == place), "{ids:?}");
            seen.insert(ids);
        }
        // 6 orders of chains; 36 orders of two steps of three.
        let orders = if order_rule == Order::Chains { 6 } else { 36 };
        assert!(seen.len() > orders / 2 && seen.len() <= orders, "{}", seen.len());
    }
}

fn until(half_width: f64) -> Plan {
    let mut plan = plan(&[4096], 200);
    plan.rules.stop = Stop::Ratio { half_width, rounds_min: 30 };
    plan
}

/// Returns times that vary by this fraction, differently in each arm and round.
fn varying(by: f64) -> impl Fn(&Block) -> u64 {
    move |block| {
        let mut random = generator(7, [u64::from(block.round), u64::from(block.arm.0), 0]);
        (STEADY_NS as f64 * (1.0 + by * (random.unit() - 0.5))) as u64
    }
}

#[test]
fn a_run_stops_at_the_first_look_that_is_narrow_enough() {
    let rounds = |half_width: f64| {
        let plan = until(half_width);
        let (samples, _) = replay(&plan, varying(0.1), |_| false);
        let measured = samples.iter().filter(|sample| sample.phase == Phase::Measure);
        measured.map(|sample| sample.round + 1).max().unwrap()
    };
    assert_eq!(rounds(0.05), 30);
    assert_eq!(rounds(0.0001), 200);
    let between = rounds(0.012);
    assert!([45, 68, 102, 153].contains(&between), "{between}");
    // A narrower width takes longer, and a run ends only at a check.
    assert!(rounds(0.009) > between);
}

#[test]
fn a_voided_round_is_measured_again_before_a_look() {
    let mut plan = until(0.05);
    plan.rules.stop = Stop::Difference { half_width_ns: 1e5, rounds_min: 30 };
    let (samples, outcome) = replay(&plan, varying(0.1), |block| block.round == 29 && block.attempt == 0);
    assert_eq!(outcome.redone, 1);
    assert_eq!(samples.iter().map(|sample| sample.round).max(), Some(29));
}

#[test]
fn stopping_rule_watches_contrasts_with_baselines_and_pairs() {
    let plan = plan(&[4096, 8192], 6);
    let baseline = plan.arms.iter().find(|planned| planned.role == Role::Baseline).unwrap().id;
    let contrasts = plan.contrasts();
    assert!(contrasts.iter().all(|(arm, to)| *to == baseline && *arm != baseline));
    assert_eq!(contrasts.len(), plan.arms.len() - 1);
    assert!(compares(&plan));
}

fn with_cold(mut plan: Plan, cold: impl Fn(usize) -> bool) -> Plan {
    for (place, planned) in plan.arms.iter_mut().enumerate().filter(|(place, _)| cold(*place)) {
        (planned.cache, planned.operations) = (megadir_record::CacheState::VfsCold, Some(1 + place as u64));
    }
    plan
}

#[test]
fn cold_arms_are_not_warmed_up_and_stand_together() {
    for arms in [&[4096_u64, 8192][..], &[4096, 8192, 16384, 32768, 65536, 131_073, 1 << 20, 1 << 21]] {
        let plan = with_cold(plan(arms, 40), |place| place % 2 == 1);
        let is_cold = |planned: ArmId| plan.arms[planned.0 as usize].cache.is_cold();
        let (samples, outcome) = replay(&plan, |_| STEADY_NS, |_| false);
        assert!(outcome.steady);
        let warm = plan.arms.iter().filter(|planned| !planned.cache.is_cold()).count();
        let warm_up: Vec<&Sample> = samples.iter().filter(|sample| sample.phase == Phase::WarmUp).collect();
        assert!(warm_up.len().is_multiple_of(warm) && warm_up.iter().all(|sample| !is_cold(sample.arm)));
        let measured: Vec<Sample> =
            samples.iter().filter(|sample| sample.phase == Phase::Measure).cloned().collect();
        let mut cold_first = 0;
        let rounds: Vec<&[Sample]> = measured.chunks(plan.arms.len()).collect();
        assert_eq!(rounds.len(), 40);
        for round in rounds {
            let mut ids: Vec<ArmId> = round.iter().map(|sample| sample.arm).collect();
            let changes = ids.windows(2).filter(|pair| is_cold(pair[0]) != is_cold(pair[1])).count();
            assert_eq!(changes, 1, "cold and warm arms are mixed");
            cold_first += usize::from(is_cold(ids[0]));
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), plan.arms.len());
        }
        // 40 throws of a fair coin fall outside 8 to 32 once in 10 000 tries.
        assert!((8..=32).contains(&cold_first), "{cold_first}");
        let fixed = samples.iter().filter(|sample| is_cold(sample.arm));
        assert!(fixed.into_iter().all(|sample| sample.operations == 1 + u64::from(sample.arm.0)));
    }
}

#[test]
fn a_plan_of_cold_arms_only_has_no_warm_up() {
    let plan = with_cold(plan(&[4096, 8192], 11), |_| true);
    let (samples, outcome) = replay(&plan, |_| STEADY_NS, |_| false);
    assert!(samples.iter().all(|sample| sample.phase == Phase::Measure) && outcome.steady);
    assert_eq!(samples.len(), 11 * plan.arms.len());
}

fn layouts() -> Plan {
    let request = Request {
        rounds: Some(4),
        target: Target::Made { entries: vec![100] },
        ..Request::bare(Preset::Quick, 11)
    };
    make_plan(&crate::study::built_in("layout").unwrap(), &request).unwrap().plan
}

#[test]
fn refused_arm_and_its_dependents_are_left_out_afterwards() {
    let plan = layouts();
    let creates: Vec<&Arm> =
        plan.arms.iter().filter(|planned| planned.name.starts_with("create, flat")).collect();
    let flat = creates[0];
    let dependents: Vec<ArmId> = plan.stopped_by(flat.id).collect();
    assert_eq!(dependents.len(), 2, "both orders of reading");
    let mut samples: Vec<Sample> = Vec::new();
    while let Step::Block(block) = next(&plan, &samples) {
        let refused = (block.arm == flat.id && block.round == 1)
            .then(|| Box::new(megadir_record::Refused { entries: 50, cause: "it is full".into() }));
        samples.push(Sample { refused, ..sample(&block, STEADY_NS) });
        assert!(samples.len() < 10_000, "the run does not end");
    }
    let of = |planned: ArmId| samples.iter().filter(|sample| sample.arm == planned).count();
    assert_eq!(of(flat.id), 2, "once whole, once refused");
    assert!(dependents.iter().all(|planned| of(*planned) == 1), "once");
    let others =
        plan.arms.iter().filter(|planned| planned.id != flat.id && !dependents.contains(&planned.id));
    assert!(others.into_iter().all(|planned| of(planned.id) == 4));
    // An index counts the earlier blocks of the same round, even if arms were skipped.
    for round in samples.chunk_by(|a, b| a.round == b.round) {
        assert!(round.iter().enumerate().all(|(place, sample)| sample.place == place as u32));
    }
}

#[test]
fn a_run_whose_arms_are_all_stopped_is_done() {
    let plan = layouts();
    let mut samples: Vec<Sample> = Vec::new();
    while let Step::Block(block) = next(&plan, &samples) {
        let refused = Some(Box::new(megadir_record::Refused { entries: 50, cause: "it is full".into() }));
        samples.push(Sample { refused, ..sample(&block, STEADY_NS) });
        assert!(samples.len() < 10_000, "the run does not end");
    }
    assert!(samples.iter().all(|sample| sample.round == 0));
    assert!(samples.len() < plan.arms.len());
}
