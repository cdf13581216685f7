//! The same guarantees under noise measured on a real machine (`noise.txt`), resampled in blocks of rounds. A
//! block keeps the correlation of neighbouring rounds, and a round that of its two arms. Columns are assigned
//! to arms at random for each block, so without an injected difference there is exactly none. Reference:
//! Kuensch, *Annals of Statistics* 17 (1989), for the moving block bootstrap.

use megadir_stats::permutation::SplitMix64;
use megadir_stats::{HalfWidth, Judging, Looks, Verdict, judge_family_of_epochs, log_ratios, narrow_enough};

use super::{BAND, differs, judge_family, share_of_runs};

/// Rounds of a block; correlations in the file vanish long before.
const BLOCK: usize = 20;
/// Measured duration of a block of lookups.
const LOOKUPS_NS: f64 = 1.05e6;

/// Source of the noise.
#[derive(Clone, Copy, Debug)]
enum Of {
    Lookups,
    Listings,
}

/// Residuals of an arm and of the same arm again, on the log scale, one pair a round.
fn measured(of: Of) -> Vec<[f64; 2]> {
    let lines = include_str!("noise.txt").lines().filter(|line| !line.starts_with('#'));
    let first = match of {
        Of::Lookups => 0,
        Of::Listings => 2,
    };
    let row = |line: &str| {
        let columns: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        [1e-5 * columns[first], 1e-5 * columns[first + 1]]
    };
    let rows: Vec<_> = lines.map(row).collect();
    assert_eq!(rows.len(), 1000);
    rows
}

/// Returns the times of two arms, the second `factor` times slower.
fn times(noise: &[[f64; 2]], random: &mut SplitMix64, rounds: usize, factor: f64) -> [Vec<f64>; 2] {
    let mut arms = [Vec::new(), Vec::new()];
    while arms[0].len() < rounds {
        let start = random.below((noise.len() - BLOCK) as u64 + 1).unwrap() as usize;
        let swapped = (random.next_u64() & 1) as usize;
        for row in &noise[start..start + BLOCK] {
            arms[0].push(1000.0 * row[swapped].exp());
            arms[1].push(1000.0 * factor * row[1 - swapped].exp());
        }
    }
    arms.map(|mut arm| {
        arm.truncate(rounds);
        arm
    })
}

fn ratios([old, new]: &[Vec<f64>; 2]) -> Vec<f64> {
    log_ratios(new, old).unwrap()
}

#[test]
fn the_same_arm_is_seldom_called_different_under_measured_noise() {
    for of in [Of::Lookups, Of::Listings] {
        let noise = measured(of);
        for (arms, rounds) in [(1, 30), (1, 200), (5, 30)] {
            let share = share_of_runs(|random| {
                let family: Vec<_> = (0..arms).map(|_| ratios(&times(&noise, random, rounds, 1.0))).collect();
                judge_family(&family).iter().flatten().any(|judgement| differs(judgement.verdict))
            });
            assert!(share <= 0.065, "{share} of {of:?}, {arms} contrasts, {rounds} rounds");
        }
    }
}

#[test]
fn three_percent_are_called_slower_under_measured_noise() {
    for of in [Of::Lookups, Of::Listings] {
        let noise = measured(of);
        for (arms, rounds) in [(1, 30), (1, 200), (5, 30)] {
            let share = share_of_runs(|random| {
                // The rest of the family is the same arm again, so that Holm's adjustment applies.
                let family: Vec<_> = (0..arms)
                    .map(|arm| ratios(&times(&noise, random, rounds, if arm == 0 { 1.03 } else { 1.0 })))
                    .collect();
                matches!(judge_family(&family)[0].unwrap().verdict, Verdict::Slower { .. })
            });
            assert!(share >= 0.95, "{share} of {of:?}, {arms} contrasts, {rounds} rounds");
        }
    }
}

/// Measures a family until every interval is narrow enough, as a run with a target does; returns the rounds and
/// the verdicts.
fn until(looks: Looks, target: f64, family: &[[Vec<f64>; 2]]) -> (u32, Vec<Verdict>) {
    let confidence = looks.confidence(0.95);
    let first = |arm: &[Vec<f64>; 2], rounds: u32| arm.clone().map(|times| times[..rounds as usize].to_vec());
    let narrow = |rounds: &u32| {
        family.iter().all(|arm| {
            let [old, new] = first(arm, *rounds);
            narrow_enough(&new, &old, HalfWidth::Fraction(target), confidence)
        })
    };
    let schedule = looks.rounds();
    let rounds = schedule.iter().copied().find(narrow).unwrap_or(schedule[schedule.len() - 1]);
    let contrasts: Vec<_> = family.iter().map(|arm| vec![ratios(&first(arm, rounds))]).collect();
    let judging = Judging { band: BAND, looks: looks.count() };
    let judged = judge_family_of_epochs(&contrasts, judging);
    (rounds, judged.into_iter().map(|judged| judged.unwrap().verdict).collect())
}

#[test]
fn stopping_at_a_width_keeps_the_error() {
    let noise = measured(Of::Lookups);
    let looks = Looks::new(30, 200).unwrap();
    let mut stopped = std::collections::BTreeMap::new();
    let mut run = |random: &mut SplitMix64, factor: f64| {
        let family: Vec<_> =
            (0..3).map(|arm| times(&noise, random, 200, if arm == 0 { factor } else { 1.0 })).collect();
        let (rounds, verdicts) = until(looks, 0.004, &family);
        *stopped.entry(rounds).or_insert(0) += 1;
        verdicts
    };
    let false_share = share_of_runs(|random| run(random, 1.0).into_iter().any(differs));
    let true_share = share_of_runs(|random| matches!(run(random, 1.03)[0], Verdict::Slower { .. }));
    assert!(false_share <= 0.065, "{false_share}");
    assert!(true_share >= 0.95, "{true_share}");
    // Runs must stop at several looks, or the test would prove nothing about them.
    let frequent = stopped.values().filter(|runs| **runs > 50).count();
    assert!(frequent >= 3, "{stopped:?}");
}

#[test]
fn one_percent_of_a_cached_look_up_is_resolved_in_three_seconds() {
    let noise = measured(Of::Lookups);
    // The baseline, the baseline again and the slower arm share the time.
    let rounds = (3e9 / (3.0 * LOOKUPS_NS)) as usize;
    let mut runs = 0;
    let mut slower = 0;
    let mut resolved = 0;
    for seed in 0..200 {
        let random = &mut SplitMix64::new(seed);
        let contrast = ratios(&times(&noise, random, rounds, 1.01));
        let judged = judge_family(&[contrast])[0].unwrap();
        runs += 1;
        slower += u32::from(matches!(judged.verdict, Verdict::Slower { .. }));
        resolved += u32::from(judged.ratio.interval.half_width() < 0.005);
    }
    assert!(slower * 100 >= runs * 95 && resolved == runs, "{slower} slower, {resolved} resolved of {runs}");
}
