//! Quantiles of latencies, with intervals by resampling rounds. Operations of one round share its conditions,
//! so a million operations are not a million independent samples. Rounds are resampled whole, each with all its
//! operations.

use crate::distribution::{normal_cumulative, student_critical, tail_of};
use crate::permutation::SplitMix64;
use crate::{Estimate, Interval, quantile};

const RESAMPLES: usize = 1000;
/// Minimum number of rounds for an interval, as for medians at 95 %.
const ROUNDS_MIN: usize = 6;

/// Returns the `p` quantiles (0 to 1) of all values, each with its interval by resampling whole rounds.
///
/// `rounds` holds the values of each round with their counts, as the buckets (middles) of a histogram give
/// them, in one unit. A quantile is the value of rank ceil(p * count) of all rounds together (type 1 of Hyndman
/// and Fan). Rounds are drawn with replacement, 1000 times with `seed`, and the interval's ends are quantiles
/// of the resampled quantiles. This is the expanded percentile interval: for few rounds its tails are widened
/// as Student's distribution is wider than the normal. No interval reaches past the observed values, so if only
/// some rounds have values beyond a high quantile, its upper end is a lower bound. `None` for fewer than six
/// rounds, if one is empty, or if `p` or `confidence` is outside 0 to 1. References: Davison and Hinkley,
/// *Bootstrap Methods and their Application*, 1997, section 3.8 (resampling clusters whole); Hesterberg, *The
/// American Statistician* 69 (2015), section 5.2 (expanded percentile interval).
///
/// ```
/// let rounds: Vec<Vec<(u64, u64)>> = (0..20).map(|round| vec![(100 + round % 4, 90), (500, 10)]).collect();
/// let found = megadir_stats::quantile_intervals(&rounds, &[0.5, 0.99], 0.95, 1).expect("twenty rounds");
/// assert!(found[0].interval.contains(101.0) && found[0].interval.high < 104.0);
/// assert_eq!((found[1].value, found[1].interval.high), (500.0, 500.0));
/// ```
#[must_use]
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

/// Returns the tail of the expanded percentile interval, widened for `count` rounds: a normal variable's tail
/// beyond Student's critical value. `None` for too few rounds.
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
    /// `None` if a round is empty.
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

    /// Returns the quantiles of all values, with each round weighted by `times`.
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
