//! Error rates over many simulated runs with fixed seeds.

#![expect(clippy::unwrap_used, reason = "a failed assumption is a failed test, also in what the tests share")]

mod epochs;
mod measured;
mod phases;
mod runs;
mod screens;

use megadir_stats::permutation::SplitMix64;
use megadir_stats::{
    Judgement, Judging, Verdict, change_point, halves_differ, hodges_lehmann, judge_family_of_epochs,
    log_ratios, median_interval,
};

const RUNS: usize = 1000;
const BAND: f64 = 0.03;

/// Judges a family of contrasts, each of one epoch.
fn judge_family(family: &[Vec<f64>]) -> Vec<Option<Judgement>> {
    let epochs: Vec<Vec<Vec<f64>>> = family.iter().map(|rounds| vec![rounds.clone()]).collect();
    judge_family_of_epochs(&epochs, Judging { band: BAND, looks: 1 })
}

fn verdict(log_ratios: &[f64]) -> Verdict {
    judge_family(&[log_ratios.to_vec()])[0].unwrap().verdict
}

/// Standard normal number by the Box-Muller method.
fn normal(random: &mut SplitMix64) -> f64 {
    let (radius, angle) = (1.0 - random.unit(), random.unit());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Block time as in benchmarks: log-normal, and one in twenty interrupted for up to three times its duration.
fn block_time_ns(random: &mut SplitMix64) -> f64 {
    let time_ns = 1000.0 * (0.05 * normal(random)).exp();
    if random.unit() < 0.05 { time_ns * (1.0 + 3.0 * random.unit()) } else { time_ns }
}

/// Returns the log ratios of an arm against itself.
fn same_arm_twice(random: &mut SplitMix64, rounds: usize) -> Vec<f64> {
    let mut times_ns = || -> Vec<f64> { (0..rounds).map(|_| block_time_ns(random)).collect() };
    log_ratios(&times_ns(), &times_ns()).unwrap()
}

fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster { .. } | Verdict::Slower { .. })
}

/// Returns the share of runs, each with its own seed, with `happens` true.
fn share_of_runs(mut happens: impl FnMut(&mut SplitMix64) -> bool) -> f64 {
    let runs = (0..RUNS as u64).filter(|&seed| happens(&mut SplitMix64::new(seed)));
    runs.count() as f64 / RUNS as f64
}

#[test]
fn the_same_arm_is_seldom_called_different() {
    for rounds in [30, 200] {
        let share = share_of_runs(|random| differs(verdict(&same_arm_twice(random, rounds))));
        assert!(share <= 0.065, "{share} of runs of {rounds} rounds");
    }
}

#[test]
fn no_member_of_a_null_family_is_called_different() {
    let share = share_of_runs(|random| {
        let family: Vec<_> = (0..6).map(|_| same_arm_twice(random, 30)).collect();
        let judged = judge_family(&family);
        judged.iter().flatten().any(|judgement| differs(judgement.verdict))
    });
    assert!(share <= 0.065, "{share}");
}

#[test]
fn three_percent_are_found_in_200_rounds() {
    let share = share_of_runs(|random| {
        let log_ratios: Vec<f64> = (0..200).map(|_| 1.03f64.ln() + 0.04 * normal(random)).collect();
        matches!(verdict(&log_ratios), Verdict::Slower { .. })
    });
    assert!(share >= 0.95, "{share}");
}

#[test]
fn predicted_rounds_mostly_decide() {
    let (mut predicted, mut decided) = (0, 0);
    for seed in 0..200 {
        let random = &mut SplitMix64::new(seed);
        let mut log_ratios: Vec<f64> = (0..30).map(|_| 0.02 + 0.1 * normal(random)).collect();
        let Verdict::Inconclusive { rounds_to_decide } = verdict(&log_ratios) else {
            continue;
        };
        // The number is an estimate from noise: with twice the rounds most runs should be decided; those near
        // the border take long.
        let rounds = 2 * rounds_to_decide.unwrap() as usize;
        if rounds > 2000 {
            continue;
        }
        log_ratios.extend((log_ratios.len()..rounds).map(|_| 0.02 + 0.1 * normal(random)));
        let after = verdict(&log_ratios);
        predicted += 1;
        decided += usize::from(!matches!(after, Verdict::Inconclusive { .. }));
    }
    assert!(predicted > 50 && 2 * decided > predicted, "{decided} of {predicted}");
}

#[test]
fn median_intervals_cover_the_median() {
    for samples in [11, 40, 101] {
        let share = share_of_runs(|random| {
            // Skewed: the median of a log-normal variable is exp(0) = 1.
            let times: Vec<f64> = (0..samples).map(|_| (0.8 * normal(random)).exp()).collect();
            let estimate = median_interval(&times, 0.95).unwrap();
            estimate.interval.contains(1.0)
        });
        assert!((0.94..0.995).contains(&share), "{share} with {samples}");
    }
}

#[test]
fn hodges_lehmann_intervals_cover_the_center() {
    for (rounds, confidence) in [(11, 0.95), (30, 0.9), (30, 0.95), (60, 0.99), (200, 0.95)] {
        let share = share_of_runs(|random| {
            let differences = same_arm_twice(random, rounds);
            let estimate = hodges_lehmann(&differences, confidence).unwrap();
            estimate.interval.contains(0.0)
        });
        // Two standard deviations below; three above, because the interval is conservative.
        let deviation = (confidence * (1.0 - confidence) / RUNS as f64).sqrt();
        let (low, high) = (confidence - 2.0 * deviation, confidence + 3.0 * deviation);
        assert!(low <= share && share <= high, "{share} of {confidence} with {rounds}");
    }
}

#[test]
fn steady_series_seldom_alarm() {
    let times = |random: &mut SplitMix64| -> Vec<f64> { (0..40).map(|_| block_time_ns(random)).collect() };
    let halves = share_of_runs(|random| {
        let ratio = halves_differ(&times(random)).unwrap();
        !ratio.interval.contains(1.0)
    });
    let changes = share_of_runs(|random| change_point(&times(random)).unwrap().p < 0.05);
    assert!(halves <= 0.065, "{halves}");
    assert!(changes <= 0.065, "{changes}");
}

#[test]
fn two_thousand_differences_take_well_under_a_second() {
    let random = &mut SplitMix64::new(1);
    let differences: Vec<f64> = (0..2000).map(|_| normal(random)).collect();
    let start = std::time::Instant::now();
    assert!(hodges_lehmann(&differences, 0.95).is_some());
    // Under 1 ms when optimised; listing the two million pairs would take seconds without optimisation.
    assert!(start.elapsed().as_millis() < 500);
}
