//! Null distributions of Wilcoxon's signed-rank sum and the Mann-Whitney count.
//!
//! Exact by dynamic programming for few samples, normal with continuity correction above. Tests and intervals
//! share these laws, so they cannot disagree. References: Wilcoxon, *Biometrics Bulletin* 1 (1945); Mann and
//! Whitney, *Annals of Mathematical Statistics* 18 (1947); Hollander, Wolfe and Chicken, *Nonparametric
//! Statistical Methods*, 3rd edition.

use crate::distribution::normal_cumulative;

/// Largest number of samples with an exact distribution: all counts stay below 2^53.
pub(crate) const EXACT_COUNT_MAX: usize = 50;

/// Null distribution of a rank statistic, symmetric over 0 to `max`.
pub(crate) struct RankLaw {
    max: usize,
    shape: Shape,
}

enum Shape {
    /// Probabilities of at most 0, 1, 2, ...
    Exact(Vec<f64>),
    Normal {
        mean: f64,
        deviation: f64,
    },
}

impl RankLaw {
    /// Law of the signed-rank sum of `count` paired differences.
    pub(crate) fn signed_rank(count: usize) -> Self {
        let max = count * (count + 1) / 2;
        if count <= EXACT_COUNT_MAX {
            return Self::exact(signed_rank_ways(count, max));
        }
        let n = count as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
        Self::normal(max, variance)
    }

    /// Law of the number of ordered pairs between series of `first` and `second` samples.
    pub(crate) fn rank_sum(first: usize, second: usize) -> Self {
        let max = first * second;
        if first + second <= EXACT_COUNT_MAX {
            return Self::exact(rank_sum_ways(first, second));
        }
        let variance = max as f64 * ((first + second) as f64 + 1.0) / 12.0;
        Self::normal(max, variance)
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Returns the probability of at most `value`.
    pub(crate) fn cumulative(&self, value: usize) -> f64 {
        match &self.shape {
            Shape::Exact(cumulative) => cumulative.get(value).copied().unwrap_or(1.0),
            Shape::Normal { mean, deviation } => normal_cumulative((value as f64 + 0.5 - mean) / deviation),
        }
    }

    /// Returns the two-sided p value; `smaller` is the smaller side of the statistic.
    pub(crate) fn two_sided(&self, smaller: usize) -> f64 {
        (2.0 * self.cumulative(smaller)).min(1.0)
    }

    /// Returns the largest value with cumulative probability at most `tail`; `None` if 0 already exceeds it.
    pub(crate) fn critical(&self, tail: f64) -> Option<usize> {
        let (mut fits, mut too_large) = (0, self.max + 1);
        if self.cumulative(fits) > tail {
            return None;
        }
        while too_large - fits > 1 {
            let middle = fits.midpoint(too_large);
            if self.cumulative(middle) <= tail {
                fits = middle;
            } else {
                too_large = middle;
            }
        }
        Some(fits)
    }

    fn normal(max: usize, variance: f64) -> Self {
        let shape = Shape::Normal { mean: 0.5 * max as f64, deviation: variance.sqrt() };
        Self { max, shape }
    }

    fn exact(ways: Vec<f64>) -> Self {
        let total: f64 = ways.iter().sum();
        let max = ways.len() - 1;
        let mut so_far = 0.0;
        let cumulative = ways.into_iter().map(|count| {
            so_far += count;
            so_far / total
        });
        Self { max, shape: Shape::Exact(cumulative.collect()) }
    }
}

/// Returns the number of subsets of the ranks 1 to `count` with sum 0, 1, ... `max`.
fn signed_rank_ways(count: usize, max: usize) -> Vec<f64> {
    let mut ways = vec![0.0; max + 1];
    ways[0] = 1.0;
    for rank in 1..=count {
        for sum in (rank..=max).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

/// Returns the number of interleavings of two series with 0, 1, ... ordered pairs: the coefficients of the
/// Gaussian binomial prod (1 - q^(second + i)) / (1 - q^i), i = 1 to `first`.
fn rank_sum_ways(first: usize, second: usize) -> Vec<f64> {
    let max = first * second;
    let mut ways = vec![0.0; max + 1];
    ways[0] = 1.0;
    for i in 1..=first {
        for sum in (second + i..=max).rev() {
            ways[sum] -= ways[sum - second - i];
        }
        for sum in i..=max {
            ways[sum] += ways[sum - i];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_laws_are_those_counted_by_hand() {
        assert_eq!(signed_rank_ways(3, 6), [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0]);
        assert_eq!(rank_sum_ways(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(RankLaw::signed_rank(5).critical(0.025), None);
        assert_eq!(RankLaw::signed_rank(6).critical(0.025), Some(0));
    }

    #[test]
    fn critical_value_of_the_printed_table() {
        // Hollander, Wolfe and Chicken, n = 10: P(T <= 8) = 25/1024 = 0.024, P(T <= 9) = 33/1024 = 0.032.
        assert_eq!(RankLaw::signed_rank(10).critical(0.025), Some(8));
        // Mann-Whitney, 10 against 10, two-sided 5 %: 23.
        assert_eq!(RankLaw::rank_sum(10, 10).critical(0.025), Some(23));
    }

    #[test]
    fn normal_continues_the_exact_law() {
        let exact = RankLaw::signed_rank(EXACT_COUNT_MAX);
        let n = EXACT_COUNT_MAX as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
        let normal = RankLaw::normal(exact.max(), variance);
        for value in 0..=exact.max() {
            assert!((exact.cumulative(value) - normal.cumulative(value)).abs() < 2e-3);
        }
    }
}
