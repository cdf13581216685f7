//! Load that comes and goes in phases: an arm against itself, by the order of the arms and the length of their
//! blocks.
//!
//! If the order of each round is drawn independently, exchanging an arm and its double leaves the probability
//! of the run unchanged, whatever the load and the correlation of neighbouring rounds. The signs of the
//! differences are independent coins, the only assumption of the signed-rank test. Reference: Lehmann and
//! Romano, *Testing Statistical Hypotheses*, 3rd edition, section 15.2 (randomization).

use std::fmt::Write as _;

use megadir_stats::permutation::{SplitMix64, balanced_latin_square, shuffle};

use super::{differs, normal, share_of_runs, verdict};

const ROUNDS: usize = 30;
/// Mean lengths of the phases, in rounds.
const PHASES: [f64; 4] = [0.3, 1.0, 2.0, 10.0];
/// Factor of the load on all times.
const SLOWER: f64 = 2.0;

/// Order of the arms within rounds.
#[derive(Clone, Copy, Debug)]
enum Order {
    Independent,
    Balanced,
}

/// Load that is on or off for exponentially distributed times.
struct Load {
    on: bool,
    left: f64,
    mean: f64,
}

impl Load {
    fn new(random: &mut SplitMix64, mean: f64) -> Self {
        let on = random.unit() < 0.5;
        Self { on, left: exponential(random, mean), mean }
    }

    fn switch(&mut self, random: &mut SplitMix64) {
        self.on = !self.on;
        self.left = exponential(random, self.mean);
    }

    fn pass(&mut self, random: &mut SplitMix64, mut time: f64) {
        while time >= self.left {
            time -= self.left;
            self.switch(random);
        }
        self.left -= time;
    }

    /// Returns the duration of work that takes `work` without the load.
    fn take(&mut self, random: &mut SplitMix64, mut work: f64) -> f64 {
        let mut elapsed = 0.0;
        loop {
            let factor = if self.on { SLOWER } else { 1.0 };
            if work * factor < self.left {
                self.left -= work * factor;
                return elapsed + work * factor;
            }
            elapsed += self.left;
            work -= self.left / factor;
            self.switch(random);
        }
    }
}

fn exponential(random: &mut SplitMix64, mean: f64) -> f64 {
    -(1.0 - random.unit()).ln() * mean
}

/// Returns the log ratios of two arms with the same work among `arms`, in `ROUNDS` rounds.
fn same_arm_twice(random: &mut SplitMix64, arms: usize, phase: f64, order: Order) -> Vec<f64> {
    let mut load = Load::new(random, phase);
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        if rows.is_empty() {
            rows = match order {
                Order::Independent => vec![(0..arms).collect()],
                Order::Balanced => balanced_latin_square(arms),
            };
            shuffle(&mut rows, random);
        }
        let mut row = rows.pop().unwrap();
        if let Order::Independent = order {
            shuffle(&mut row, random);
        }
        let mut logs = vec![0.0; arms];
        for arm in row {
            let work = (0.01 * normal(random)).exp() / arms as f64;
            logs[arm] = load.take(random, work).ln();
        }
        ratios.push(logs[1] - logs[0]);
    }
    ratios
}

fn called_different(arms: usize, phase: f64, order: Order) -> f64 {
    share_of_runs(|random| differs(verdict(&same_arm_twice(random, arms, phase, order))))
}

/// A page that states results of these simulations.
const PAGE: &str = include_str!("../../../../METHODOLOGY.md");

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Checks that the page has this text, wherever its lines break.
fn is_stated(text: &str) {
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(text), "METHODOLOGY.md does not say: {text}");
}

#[test]
fn the_same_arm_is_seldom_called_different_in_phases_of_load() {
    let mut table = String::from("| arms | order | 0.3 | 1 | 2 | 10 |\n|---|---|---|---|---|---|\n");
    for arms in [2, 3, 6] {
        for (order, name) in
            [(Order::Independent, "each round by itself"), (Order::Balanced, "balanced squares")]
        {
            let shares = PHASES.map(|phase| called_different(arms, phase, order));
            if let Order::Independent = order {
                assert!(shares.iter().all(|share| *share <= 0.065), "{shares:?} with {arms} arms");
            } else if arms == 2 {
                // Counter-check: balanced orders make the signs of neighbouring rounds depend on each other.
                assert!(shares[2] > 0.07, "{shares:?}");
            }
            writeln!(table, "| {arms} | {name} | {} |", shares.map(percent).join(" | ")).unwrap();
        }
    }
    assert!(PAGE.contains(&table), "METHODOLOGY.md has another table than\n{table}");
}

/// Returns the log ratios of two arms with the same work whose blocks last `lengths` ms, while stalls of 3 ms
/// come in phases of 300 ms.
fn same_arm_with_blocks(random: &mut SplitMix64, lengths: [f64; 2]) -> Vec<f64> {
    const STALL_EVERY: f64 = 5.0;
    const STALL: f64 = 3.0;
    let mut load = Load::new(random, 300.0);
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let mut logs = [0.0; 2];
        let first = usize::from(random.unit() < 0.5);
        for arm in [first, 1 - first] {
            let work = lengths[arm] * (0.02 * normal(random)).exp();
            let mut elapsed = work;
            let mut at = exponential(random, STALL_EVERY);
            while load.on && at < work {
                elapsed += exponential(random, STALL);
                at += exponential(random, STALL_EVERY);
            }
            logs[arm] = (elapsed / lengths[arm]).ln();
            load.pass(random, elapsed);
        }
        // The other arms.
        load.pass(random, 10.0);
        ratios.push(logs[1] - logs[0]);
    }
    ratios
}

#[test]
fn blocks_of_one_length_keep_the_promise_and_others_would_not() {
    let called = |lengths| share_of_runs(|random| differs(verdict(&same_arm_with_blocks(random, lengths))));
    let [alike, twice, four] = [called([1.0, 1.0]), called([1.0, 2.0]), called([1.0, 4.0])];
    assert!(alike <= 0.065, "{alike}");
    assert!(twice > 0.07 && four > 0.15, "{twice} and {four}");
    let [alike, twice, four] = [alike, twice, four].map(percent);
    is_stated(&format!(
        "in {alike} of runs with blocks of one length, in {twice} if one block is twice as long, and in {four} if it is four times as long"
    ));
}

#[test]
fn independent_orders_cost_no_power() {
    let found = |order| {
        share_of_runs(|random| {
            // No load: the phases are longer than any run.
            let mut ratios = same_arm_twice(random, 2, 1e9, order);
            ratios.iter_mut().for_each(|ratio| *ratio += 0.006);
            differs(verdict(&ratios))
        })
    };
    let [independent, balanced] = [found(Order::Independent), found(Order::Balanced)];
    assert!((independent - balanced).abs() < 0.06, "{independent} and {balanced}");
    let [independent, balanced] = [independent, balanced].map(percent);
    is_stated(&format!(
        "detected in {independent} of runs with the former and in {balanced} with the latter"
    ));
}
