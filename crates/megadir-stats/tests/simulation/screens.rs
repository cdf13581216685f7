//! Whole screens of comparisons: a winner among equals is rarely named, and a real winner still is.

use megadir_stats::permutation::SplitMix64;
use megadir_stats::{Judging, beyond_band};

use super::{BAND, RUNS, normal};

const COLUMNS: usize = 4;
const ROWS: usize = 12;
const ROUNDS: usize = 21;

/// Returns the contrasts of all pairs of columns in every row; the first column takes `factor` times as long as
/// the rest.
fn screen(random: &mut SplitMix64, deviation: f64, factor: f64) -> Vec<Vec<Vec<f64>>> {
    let mut contrasts = Vec::new();
    for _ in 0..ROWS {
        let mut logs = |column: usize| -> Vec<f64> {
            let center = if column == 0 { factor.ln() } else { 0.0 };
            (0..ROUNDS).map(|_| center + deviation * normal(random)).collect()
        };
        let columns: Vec<Vec<f64>> = (0..COLUMNS).map(&mut logs).collect();
        for of in 1..COLUMNS {
            for than in 0..of {
                contrasts.push(vec![columns[of].iter().zip(&columns[than]).map(|(a, b)| a - b).collect()]);
            }
        }
    }
    contrasts
}

fn share_of_screens(deviation: f64, factor: f64, happens: impl Fn(usize) -> bool) -> f64 {
    let judging = Judging { band: BAND, looks: 1 };
    let called = (0..RUNS as u64).filter(|seed| {
        let shown = beyond_band(&screen(&mut SplitMix64::new(*seed), deviation, factor), judging);
        happens(shown.iter().flatten().count())
    });
    called.count() as f64 / RUNS as f64
}

#[test]
fn anything_is_called_different_in_few_screens_of_equals() {
    // The larger the noise, the less the band protects.
    for deviation in [0.02, 0.2, 1.0] {
        let share = share_of_screens(deviation, 1.0, |called| called > 0);
        assert!(share <= 0.05, "{share} at {deviation}");
    }
    // Equal columns are the easy case; test the edge of the band too.
    let share = share_of_screens(0.05, 1.0 / (1.0 + BAND), |called| called > 0);
    assert!(share <= 0.05, "{share}");
}

#[test]
fn ten_percent_are_still_called_in_every_row() {
    let all = ROWS * (COLUMNS - 1);
    let share = share_of_screens(0.02, 0.9, |called| called >= all);
    assert!(share >= 0.95, "{share}");
}
