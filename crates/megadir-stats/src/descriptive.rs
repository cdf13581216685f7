//! Description of one series: location, spread, quantiles and BenchmarkDotNet's Error.

use crate::distribution::student_critical;

/// Returns the arithmetic mean, in the unit of the samples; None without samples or with one that is not finite.
///
/// Reference: Welford, *Technometrics* 4 (1962), for the running form.
///
/// ```
/// assert_eq!(megadir_stats::mean(&[1.0, 2.0, 6.0]), Some(3.0));
/// assert_eq!(megadir_stats::mean(&[]), None);
/// ```
#[must_use]
pub fn mean(samples: &[f64]) -> Option<f64> {
    finite(samples, 1)?;
    let mut mean = 0.0;
    for (index, sample) in samples.iter().enumerate() {
        mean += (sample - mean) / (index as f64 + 1.0);
    }
    Some(mean)
}

/// Returns the sample standard deviation (divisor n - 1), in the unit of the samples; None under two samples.
///
/// Reference: the two-pass form of Chan, Golub and LeVeque, *The American Statistician* 37 (1983).
///
/// ```
/// assert_eq!(megadir_stats::standard_deviation(&[1.0, 2.0, 3.0]), Some(1.0));
/// ```
#[must_use]
pub fn standard_deviation(samples: &[f64]) -> Option<f64> {
    finite(samples, 2)?;
    let center = mean(samples)?;
    let squares: f64 = samples.iter().map(|x| (x - center).powi(2)).sum();
    Some((squares / (samples.len() as f64 - 1.0)).sqrt())
}

/// Returns the `p` quantile (0 to 1) of samples sorted ascending, interpolated linearly, in the unit of the samples.
///
/// None without samples, with an end that is not finite, or with `p` outside 0 to 1. The caller sorts, so that several
/// quantiles cost one sort; of unsorted samples the result is meaningless.
/// Reference: type 7 of Hyndman and Fan, *The American Statistician* 50 (1996); the default of R and NumPy.
///
/// ```
/// assert_eq!(megadir_stats::quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
/// ```
#[must_use]
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let (first, last) = (sorted.first()?, sorted.last()?);
    if !(0.0..=1.0).contains(&p) || !first.is_finite() || !last.is_finite() {
        return None;
    }
    let position = p * (sorted.len() as f64 - 1.0);
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let weight = position - position.floor();
    Some(sorted[below] * (1.0 - weight) + sorted[above] * weight)
}

/// Returns the median, in the unit of the samples; None without samples or with one that is not finite.
///
/// Reference: type 7 of Hyndman and Fan (1996) at one half, which is the usual median.
///
/// ```
/// assert_eq!(megadir_stats::median(&[9.0, 1.0, 2.0]), Some(2.0));
/// ```
#[must_use]
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(&sorted(samples, 1)?, 0.5)
}

/// Returns BenchmarkDotNet's "Error", half of the 99.9 % Student interval of the mean, in the unit of the samples.
///
/// None under two samples. Reference: the legend BenchmarkDotNet prints, "Error: Half of 99.9% confidence interval";
/// Student, *Biometrika* 6 (1908). It assumes a mean that is nearly normal; medians have [`crate::median_interval`].
///
/// ```
/// let error = megadir_stats::error_999(&[10.0, 11.0, 12.0, 11.0]).expect("four samples");
/// assert!((error - 5.276).abs() < 0.001);
/// ```
#[must_use]
pub fn error_999(samples: &[f64]) -> Option<f64> {
    let deviation = standard_deviation(samples)?;
    let count = samples.len() as f64;
    Some(student_critical(count - 1.0, 0.0005) * deviation / count.sqrt())
}

/// Returns the samples themselves if there are at least `count_min` and all are finite.
pub(crate) fn finite(samples: &[f64], count_min: usize) -> Option<&[f64]> {
    (samples.len() >= count_min && samples.iter().all(|x| x.is_finite())).then_some(samples)
}

/// Returns a sorted copy of at least `count_min` finite samples.
pub(crate) fn sorted(samples: &[f64], count_min: usize) -> Option<Vec<f64>> {
    let mut sorted = finite(samples, count_min)?.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// Returns the natural logarithms of at least `count_min` positive finite samples.
pub(crate) fn logs(samples: &[f64], count_min: usize) -> Option<Vec<f64>> {
    let positive = finite(samples, count_min)?.iter().all(|&x| x > 0.0);
    positive.then(|| samples.iter().map(|x| x.ln()).collect())
}

/// Returns for every sample its rank from 1, tied samples sharing the mean of their ranks, and the sizes of the ties.
pub(crate) fn midranks(samples: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_unstable_by(|&a, &b| samples[a].total_cmp(&samples[b]));
    let mut ranks = vec![0.0; samples.len()];
    let mut ties = Vec::new();
    let mut before = 0;
    for group in order.chunk_by(|&a, &b| samples[a] == samples[b]) {
        let shared = before as f64 + 0.5 * (group.len() as f64 + 1.0);
        for &index in group {
            ranks[index] = shared;
        }
        before += group.len();
        ties.push(group.len());
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_or_not_finite_is_none() {
        assert_eq!(mean(&[f64::NAN]), None);
        assert_eq!(standard_deviation(&[1.0]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(median(&[1.0, f64::INFINITY]), None);
        assert_eq!(error_999(&[1.0]), None);
    }

    #[test]
    fn ranks_are_shared_by_ties() {
        let (ranks, ties) = midranks(&[3.0, 1.0, 3.0, 0.0]);
        assert_eq!(ranks, [3.5, 2.0, 3.5, 1.0]);
        assert_eq!(ties, [1, 1, 2]);
    }
}
