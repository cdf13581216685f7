//! Epochs: a run's rounds, divided over data sets that are re-created with other names. Pure.
//!
//! Rounds show how much times scatter on one data set; they cannot show that another data set, with other
//! hashes and other places on the disk, would have given another ratio. Epochs are the outer level of the
//! statistics for that. `next` knows nothing of them: each epoch is a plan with one epoch, and its samples
//! are a slice of all.

use megadir_record::{Plan, Rules, Sample};
pub use megadir_stats::EPOCHS_MIN;
use megadir_stats::permutation::SplitMix64;

use crate::schedule::{Step, next};

/// Plan of one epoch (from 0): a seed of its own and its share of the rounds. A plan with one epoch is unchanged.
pub(crate) fn plan_of(plan: &Plan, epoch: u32) -> Plan {
    if plan.rules.epochs <= 1 {
        return plan.clone();
    }
    let seed = match epoch {
        0 => plan.seed,
        _ => SplitMix64::new(plan.seed ^ SplitMix64::new(u64::from(epoch)).next_u64()).next_u64(),
    };
    let (rounds, epochs) = (plan.rules.rounds, plan.rules.epochs);
    let share = rounds / epochs + u32::from(epoch < rounds % epochs);
    Plan { seed, rules: Rules { rounds: share, epochs: 1, ..plan.rules.clone() }, ..plan.clone() }
}

/// Epoch that a resumed run continues: the epoch of the last sample, or the next one if that is complete.
pub fn current(plan: &Plan, samples: &[Sample]) -> u32 {
    let Some(last) = samples.last().map(|sample| sample.epoch) else { return 0 };
    let done = matches!(next(&plan_of(plan, last), of(samples, last)), Step::Done(_));
    if done && last + 1 < plan.rules.epochs { last + 1 } else { last }
}

/// Samples of an epoch. Epochs ascend in a record, so they are neighbours.
pub fn of(samples: &[Sample], epoch: u32) -> &[Sample] {
    let start = samples.partition_point(|sample| sample.epoch < epoch);
    let end = samples.partition_point(|sample| sample.epoch <= epoch);
    &samples[start..end]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::{BackendFact, Request, Target, plan as make_plan};
    use crate::schedule::{Block, Step};
    use megadir_record::{Counted, Preset};

    fn plan(epochs: u32, rounds: u32) -> Plan {
        let facts = [BackendFact::bare("getdents")];
        let request = Request {
            rounds: Some(rounds),
            epochs: Some(epochs),
            target: Target::Made { entries: vec![10] },
            buffers_bytes: vec![4096],
            facts: &facts,
            ..Request::bare(Preset::Quick, 11)
        };
        make_plan(&crate::study::built_in("listing").unwrap(), &request).unwrap().plan
    }

    fn sample(block: &Block, epoch: u32) -> Sample {
        Sample {
            epoch,
            round: block.round,
            attempt: block.attempt,
            place: block.place,
            arm: block.arm,
            phase: block.phase,
            start_ns: 0,
            operations: block.operations,
            elapsed_ns: 2_000_000 * block.operations,
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

    #[test]
    fn rounds_are_split_and_seeds_differ() {
        let plan = plan(5, 13);
        let epochs: Vec<Plan> = (0..5).map(|epoch| plan_of(&plan, epoch)).collect();
        assert_eq!(epochs.iter().map(|plan| plan.rules.rounds).collect::<Vec<_>>(), [3, 3, 3, 2, 2]);
        assert_eq!(epochs.iter().map(|plan| plan.seed).collect::<BTreeSet<_>>().len(), 5);
        assert_eq!((epochs[0].seed, epochs[0].rules.epochs), (11, 1));
        assert_eq!(epochs[4], plan_of(&plan, 4));
        assert!(epochs.iter().all(|epoch| epoch.arms == plan.arms));
    }

    #[test]
    fn interrupted_run_resumes_in_its_epoch() {
        let plan = plan(5, 10);
        let mut samples: Vec<Sample> = Vec::new();
        for epoch in 0..5 {
            let plan_of_epoch = plan_of(&plan, epoch);
            while let Step::Block(block) = next(&plan_of_epoch, of(&samples, epoch)) {
                assert_eq!(current(&plan, &samples), epoch);
                samples.push(sample(&block, epoch));
            }
        }
        assert_eq!(current(&plan, &samples), 4);
        // Each epoch has three warm-up rounds and two measured rounds.
        assert_eq!(samples.len(), 5 * 5 * plan.arms.len());
    }
}
