//! Paired rounds within epochs: the hierarchical bootstrap, for data sets that were recreated several times.
//! Rounds of one epoch share its data set, so they are not independent samples of such a data set; epochs are.

use crate::Estimate;
use crate::descriptive::{StudentMean, Test, mean, mean_and_squares};
use crate::pairwise::{Means, Pairs};
use crate::permutation::SplitMix64;

/// With fewer epochs, rounds are judged as one epoch.
pub const EPOCHS_MIN: usize = 5;

/// Resamples of each epoch's rounds. The standard error of the mean over five epochs is off by about 2 %.
const RESAMPLES: usize = 200;

/// Returns the mean over epochs of the center of paired differences, with its interval by the hierarchical bootstrap.
///
/// `epochs` holds the differences of each epoch's rounds, all in one unit. An epoch's center is their Hodges-Lehmann estimate. Epochs are
/// resampled with replacement (computed exactly) and, within each, its rounds, drawn with `seed`. The standard error of the resampled
/// centers' mean is multiplied by sqrt(E / (E - 1)), because resampling few (E) epochs gives too narrow a spread. The interval is
/// Student's with E - 1 degrees of freedom; percentile and BCa intervals cannot reach past the outermost epoch. Resampling both levels
/// counts the rounds' noise twice: if epochs do not differ, the interval is up to 1.5 times too wide.
///
/// `None` for fewer than [`EPOCHS_MIN`] epochs, if one is empty, if none has two rounds (use
/// [`crate::hodges_lehmann`]), if a difference is not finite, or if `confidence` is outside 0 to 1.
/// References: Davison and Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8; Efron and
/// Tibshirani, *An Introduction to the Bootstrap*, 1993, section 12.2; Hesterberg, *The American
/// Statistician* 69 (2015), section 4.
pub fn hierarchical_bootstrap(epochs: &[Vec<f64>], confidence: f64, seed: u64) -> Option<Estimate> {
    mean_of_centers(epochs, seed)?.estimate(confidence)
}

pub(crate) fn mean_of_centers(epochs: &[Vec<f64>], seed: u64) -> Option<StudentMean> {
    let enough = epochs.len() >= EPOCHS_MIN && epochs.iter().any(|rounds| rounds.len() > 1);
    if !enough {
        return None;
    }
    let mut random = SplitMix64::new(seed);
    let centers: Option<Vec<f64>> = epochs.iter().map(|rounds| center(rounds)).collect();
    let resampled: Option<Vec<(f64, f64)>> =
        epochs.iter().map(|rounds| resampled_center(rounds, &mut random)).collect();
    let (means, variances): (Vec<f64>, Vec<f64>) = resampled?.into_iter().unzip();
    let degrees = epochs.len() as f64 - 1.0;
    // Variance of one draw (an epoch, then its rounds): between the resampled centers plus the mean within.
    // The mean of as many draws as epochs has that part of it.
    let (_, between) = mean_and_variance(&means)?;
    let standard_error = ((between + mean(&variances)?) / degrees).sqrt();
    Some(StudentMean { mean: mean(&centers?)?, standard_error, degrees })
}

fn center(samples: &[f64]) -> Option<f64> {
    Some(Means::new(samples)?.median())
}

/// With divisor n.
fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let (center, squares) = mean_and_squares(values)?;
    Some((center, squares / values.len() as f64))
}

fn resampled_center(rounds: &[f64], random: &mut SplitMix64) -> Option<(f64, f64)> {
    let mut drawn = vec![0.0; rounds.len()];
    let centers: Option<Vec<f64>> = (0..RESAMPLES)
        .map(|_| {
            for place in &mut drawn {
                *place = rounds[random.below(rounds.len() as u64)? as usize];
            }
            center(&drawn)
        })
        .collect();
    mean_and_variance(&centers?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(count: usize) -> Vec<Vec<f64>> {
        (0..count).map(|e| (0..7).map(|r| ((3 * e + 5 * r) % 11) as f64).collect()).collect()
    }

    #[test]
    fn too_few_epochs_or_single_rounds_have_no_interval() {
        assert!(hierarchical_bootstrap(&epochs(4), 0.95, 1).is_none());
        assert!(hierarchical_bootstrap(&epochs(5), 0.95, 1).is_some());
        assert!(hierarchical_bootstrap(&epochs(5), 1.0, 1).is_none());
        assert!(hierarchical_bootstrap(&vec![vec![1.0]; 30], 0.95, 1).is_none());
        let mut broken = epochs(6);
        broken[3].clear();
        assert!(hierarchical_bootstrap(&broken, 0.95, 1).is_none());
        broken[3].push(f64::NAN);
        assert!(hierarchical_bootstrap(&broken, 0.95, 1).is_none());
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let twice = [7, 7].map(|seed| hierarchical_bootstrap(&epochs(8), 0.95, seed));
        assert_eq!(twice[0], twice[1]);
        assert_ne!(twice[0], hierarchical_bootstrap(&epochs(8), 0.95, 8));
    }

    #[test]
    fn test_and_interval_agree() {
        let shifted = |by: f64| -> Vec<Vec<f64>> {
            epochs(6).into_iter().map(|rounds| rounds.iter().map(|x| x - by).collect()).collect()
        };
        for by in [2.0, 3.5, 4.2, 4.9, 5.5, 7.0] {
            let centers = mean_of_centers(&shifted(by), 3).unwrap();
            for confidence in [0.5, 0.9, 0.95, 0.99] {
                let excludes = !centers.interval(confidence).unwrap().contains(0.0);
                assert_eq!(excludes, centers.p() <= 1.0 - confidence);
            }
        }
    }

    #[test]
    fn equal_epochs_without_noise_are_a_point() {
        let centers = mean_of_centers(&vec![vec![2.0; 3]; 5], 1).unwrap();
        assert_eq!((centers.p(), centers.interval(0.95).unwrap().half_width()), (0.0, 0.0));
        assert_eq!(mean_of_centers(&vec![vec![0.0; 3]; 5], 1).unwrap().p(), 1.0);
    }
}
