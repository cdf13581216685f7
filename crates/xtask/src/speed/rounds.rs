//! Rounds: each arm runs one time, in a new random order, so that drift affects all arms equally.

use super::arms::Arm;
use super::child::{Bench, Sample};
use super::interrupt::Interrupt;
use super::lab::Lab;
use super::tools::Tools;
use megadir_stats::permutation::{SplitMix64, shuffle};
use std::collections::BTreeMap;

/// Parameters of a measurement.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) tools: &'a Tools,
    /// Words in the names of the contenders; empty for all.
    pub(crate) only: &'a [String],
    /// Size of the data; for an inventory, the number of files of its tree.
    pub(crate) entries: u64,
    /// Runs of each contender.
    pub(crate) rounds: usize,
    /// Seed of the orders.
    pub(crate) seed: u64,
    /// Peaks up to this are not the program's own.
    pub(crate) floor_bytes: u64,
}

/// Samples of one file system: for each arm one a round, in the order of the rounds.
#[derive(Default)]
pub(crate) struct Results(BTreeMap<&'static str, Vec<Sample>>);

impl Results {
    /// Samples of an arm; empty if it did not run.
    pub(crate) fn samples(&self, arm: &str) -> &[Sample] {
        self.0.get(arm).map_or(&[], Vec::as_slice)
    }

    /// Wall times of an arm, seconds.
    pub(crate) fn walls_s(&self, arm: &str) -> Vec<f64> {
        self.samples(arm).iter().map(|sample| sample.wall_s).collect()
    }

    /// Adds the sample of the next round.
    pub(crate) fn add(&mut self, arm: &'static str, sample: Sample) {
        self.0.entry(arm).or_default().push(sample);
    }
}

/// Runs warm rounds.
pub(crate) fn warm(
    bench: &Bench<'_>,
    arms: &[&'static Arm],
    rounds: usize,
    random: &mut SplitMix64,
    interrupt: &Interrupt,
    results: &mut Results,
) -> Result<(), String> {
    for order in orders(arms, rounds, random) {
        for arm in order {
            results.add(arm.name, bench.measure(arm)?);
            interrupt.check()?;
        }
    }
    Ok(())
}

/// Runs rounds in which the file system is remounted before each arm; programs are in memory again, the
/// directory is not.
pub(crate) fn cold(
    bench: &Bench<'_>,
    lab: &mut Lab,
    arms: &[&'static Arm],
    rounds: usize,
    random: &mut SplitMix64,
    interrupt: &Interrupt,
    results: &mut Results,
) -> Result<(), String> {
    for order in orders(arms, rounds, random) {
        for arm in order {
            lab.cool()?;
            bench.touch(arm.program)?;
            results.add(arm.name, bench.measure(arm)?);
            interrupt.check()?;
        }
    }
    Ok(())
}

/// Returns the order of the arms in each round.
pub(super) fn orders<T: Copy>(arms: &[T], rounds: usize, random: &mut SplitMix64) -> Vec<Vec<T>> {
    let mut order = arms.to_vec();
    let mut next = || {
        shuffle(&mut order, random);
        order.clone()
    };
    (0..rounds).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_each_arm_once_in_an_order_of_its_own() {
        let arms: Vec<u32> = (0..20).collect();
        let drawn = orders(&arms, 3, &mut SplitMix64::new(1));
        assert_eq!(drawn.len(), 3);
        for order in &drawn {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, arms);
        }
        assert_ne!(drawn[0], drawn[1]);
        assert_eq!(drawn, orders(&arms, 3, &mut SplitMix64::new(1)));
        assert_ne!(drawn, orders(&arms, 3, &mut SplitMix64::new(2)));
    }
}
