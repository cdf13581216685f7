//! Null distributions of Wilcoxon's signed-rank sum and the Mann-Whitney count: exact for few samples, normal with continuity
//! correction above. Reference: Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition.

use crate::distribution::{last_within, normal_cumulative, student_critical, tail_of};
use crate::permutation::SplitMix64;
use crate::{Estimate, Interval, quantile};

/// Counts stay below 2^53.
const EXACT_COUNT_MAX: usize = 50;

/// Symmetric over 0 to `max`.
pub(crate) struct RankLaw {
    max: usize,
    shape: Shape,
}

enum Shape {
    Exact(Vec<f64>),
    Normal { mean: f64, deviation: f64 },
}

impl RankLaw {
    pub(crate) fn signed_rank(count: usize) -> Self {
        let max = count * (count + 1) / 2;
        if count <= EXACT_COUNT_MAX {
            return Self::exact(signed_rank_ways(count, max));
        }
        let n = count as f64;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
        Self::normal(max, variance)
    }

    /// Ordered pairs between series of `first` and `second` samples.
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

    pub(crate) fn cumulative(&self, value: usize) -> f64 {
        match &self.shape {
            Shape::Exact(cumulative) => cumulative.get(value).copied().unwrap_or(1.0),
            Shape::Normal { mean, deviation } => normal_cumulative((value as f64 + 0.5 - mean) / deviation),
        }
    }

    pub(crate) fn two_sided(&self, smaller: usize) -> f64 {
        (2.0 * self.cumulative(smaller)).min(1.0)
    }

    /// Cumulative probability at most `tail`; `None` if 0 already exceeds it.
    pub(crate) fn critical(&self, tail: f64) -> Option<usize> {
        last_within(self.max + 1, tail, |sum| self.cumulative(sum))
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

/// Subsets of the ranks 1 to `count` with sum 0, 1, ... `max`.
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

/// Coefficients of the Gaussian binomial prod (1 - q^(second + i)) / (1 - q^i), i = 1 to `first`.
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

const RESAMPLES: usize = 1000;
const ROUNDS_MIN: usize = 6;

/// Returns the `p` quantiles (0 to 1) of all values, each with its interval by resampling whole rounds.
///
/// `rounds` holds the values of each round with their counts. Rounds are drawn with replacement, 1000 times with `seed`; the
/// interval is the expanded percentile interval, whose tails are widened for few rounds. It does not reach past the observed
/// values: if only some rounds have values beyond a high quantile, its upper end is a lower bound. `None` for fewer than six
/// rounds, if one is empty, or if `p` or `confidence` is outside 0 to 1. References: Davison and Hinkley, *Bootstrap Methods and
/// their Application*, 1997, section 3.8; Hesterberg, *The American Statistician* 69 (2015), section 5.2.
pub fn quantile_intervals(
    rounds: &[Vec<(u64, u64)>],
    p: &[f64],
    confidence: f64,
    seed: u64,
) -> Option<Vec<Estimate>> {
    let tail = expanded_tail(rounds.len(), confidence)?;
    if !p.iter().all(|p| (0.0..=1.0).contains(p)) {
        return None;
    }
    let table = Table::new(rounds)?;
    let mut random = SplitMix64::new(seed);
    let once = vec![1; rounds.len()];
    let observed = table.quantiles(&once, p);
    let mut resampled = vec![Vec::with_capacity(RESAMPLES); p.len()];
    for _ in 0..RESAMPLES {
        let mut times = vec![0; rounds.len()];
        for _ in rounds {
            times[random.below(rounds.len() as u64)? as usize] += 1;
        }
        let values = table.quantiles(&times, p);
        resampled.iter_mut().zip(values).for_each(|(series, value)| series.push(value));
    }
    let estimate = |(value, mut series): (f64, Vec<f64>)| {
        series.sort_unstable_by(f64::total_cmp);
        // If all resamples agree, interpolated ends may miss the value by a fraction of a bucket.
        let (low, high) = (quantile(&series, tail)?, quantile(&series, 1.0 - tail)?);
        Some(Estimate { value, interval: Interval { low: low.min(value), high: high.max(value) } })
    };
    observed.into_iter().zip(resampled).map(estimate).collect()
}

/// A normal variable's tail beyond Student's critical value; `None` for too few rounds.
fn expanded_tail(count: usize, confidence: f64) -> Option<f64> {
    let tail = tail_of(confidence)?;
    let n = count as f64;
    (count >= ROUNDS_MIN)
        .then(|| normal_cumulative(-(n / (n - 1.0)).sqrt() * student_critical(n - 1.0, tail)))
}

struct Table {
    values: Vec<u64>,
    rounds: Vec<Vec<(usize, u64)>>,
}

impl Table {
    fn new(rounds: &[Vec<(u64, u64)>]) -> Option<Self> {
        let mut values: Vec<u64> = rounds.iter().flatten().map(|(value, _)| *value).collect();
        values.sort_unstable();
        values.dedup();
        let row = |round: &Vec<(u64, u64)>| -> Option<Vec<(usize, u64)>> {
            let row: Option<Vec<(usize, u64)>> = round
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(value, count)| Some((values.binary_search(value).ok()?, *count)))
                .collect();
            row.filter(|row| !row.is_empty())
        };
        let rounds = rounds.iter().map(row).collect::<Option<_>>()?;
        Some(Self { values, rounds })
    }

    fn quantiles(&self, times: &[u64], p: &[f64]) -> Vec<f64> {
        let mut counts = vec![0u64; self.values.len()];
        for (round, times) in self.rounds.iter().zip(times).filter(|(_, times)| **times > 0) {
            round.iter().for_each(|(place, count)| counts[*place] += count * times);
        }
        let mut up_to = 0;
        for count in &mut counts {
            up_to += *count;
            *count = up_to;
        }
        let of_rank = |p: &f64| {
            let rank = ((p * up_to as f64).ceil() as u64).clamp(1, up_to);
            let place = counts.partition_point(|up_to| *up_to < rank);
            self.values[place] as f64
        };
        p.iter().map(of_rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_rank_distributions_match_hand_counts() {
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

    #[test]
    fn unusable_input_is_none() {
        let rounds = vec![vec![(5, 1)]; 6];
        assert!(quantile_intervals(&rounds, &[0.5], 0.95, 1).is_some());
        assert!(quantile_intervals(&rounds[1..], &[0.5], 0.95, 1).is_none());
        assert!(quantile_intervals(&rounds, &[1.5], 0.95, 1).is_none());
        assert!(quantile_intervals(&rounds, &[0.5], 1.0, 1).is_none());
        let mut empty = rounds;
        empty[2] = vec![(7, 0)];
        assert!(quantile_intervals(&empty, &[0.5], 0.95, 1).is_none());
    }

    #[test]
    fn rounds_weigh_by_their_operations_and_seeds_repeat() {
        let rounds: Vec<Vec<(u64, u64)>> = (0..9).map(|round| vec![(10 * round + 1, 1 + round)]).collect();
        let twice = [3, 3].map(|seed| quantile_intervals(&rounds, &[0.0, 0.5, 1.0], 0.95, seed).unwrap());
        assert_eq!(twice[0], twice[1]);
        // Of 45 operations the 23rd lies in the seventh round.
        assert_eq!(twice[0].iter().map(|e| e.value).collect::<Vec<_>>(), [1.0, 61.0, 81.0]);
        assert!(twice[0][1].interval.low < 61.0 && twice[0][1].interval.high > 61.0);
    }
}
