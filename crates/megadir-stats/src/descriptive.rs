//! Description of one series; estimates whose interval and p value cannot contradict each other, because both use one null distribution.

use serde::{Deserialize, Serialize};

use crate::distribution::{fair_coin_cumulative, last_within, student_critical, student_two_sided, tail_of};

/// `None` without samples or if one is not finite. Reference: Welford, *Technometrics* 4 (1962).
pub fn mean(samples: &[f64]) -> Option<f64> {
    finite(samples, 1)?;
    let mut mean = 0.0;
    for (index, sample) in samples.iter().enumerate() {
        mean += (sample - mean) / (index as f64 + 1.0);
    }
    Some(mean)
}

/// Divisor n - 1; `None` for fewer than two samples. Reference: the two-pass form of Chan, Golub and LeVeque,
/// *The American Statistician* 37 (1983).
pub fn standard_deviation(samples: &[f64]) -> Option<f64> {
    let (_, squares) = mean_and_squares(finite(samples, 2)?)?;
    Some((squares / (samples.len() as f64 - 1.0)).sqrt())
}

/// Mean, and sum of the squared differences from it.
pub(crate) fn mean_and_squares(samples: &[f64]) -> Option<(f64, f64)> {
    let center = mean(samples)?;
    Some((center, samples.iter().map(|x| (x - center).powi(2)).sum()))
}

/// `p` quantile (0 to 1) of ascending samples; `None` without samples, if an end is not finite, or if `p` is
/// outside 0 to 1. Reference: type 7 of Hyndman and Fan, *The American Statistician* 50 (1996).
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

/// `None` without samples or if one is not finite.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(&sorted(samples, 1)?, 0.5)
}

/// Median with the order-statistic interval of at least `confidence`, for any distribution. The interval
/// runs from the k-th smallest to the k-th largest sample, for the largest k that suffices. `None` if samples are
/// not finite, `confidence` is outside 0 to 1, or there are too few samples: the minimum is 6 at 95 %, 8 at 99 %.
/// Reference: Conover, *Practical Nonparametric Statistics*, 3rd edition, section 3.2.
pub fn median_interval(samples: &[f64], confidence: f64) -> Option<Estimate> {
    let tail = tail_of(confidence)?;
    let sorted = sorted(samples, 1)?;
    let count = sorted.len();
    let outside = last_within(count.div_ceil(2), tail, |heads| fair_coin_cumulative(count, heads))?;
    Some(Estimate {
        value: quantile(&sorted, 0.5)?,
        interval: Interval { low: sorted[outside], high: sorted[count - 1 - outside] },
    })
}

/// BenchmarkDotNet's "Error": half of the 99.9 % Student interval of the mean. `None` for fewer than two
/// samples. Reference: the legend that BenchmarkDotNet prints.
pub fn error_999(samples: &[f64]) -> Option<f64> {
    let deviation = standard_deviation(samples)?;
    let count = samples.len() as f64;
    Some(student_critical(count - 1.0, 0.0005) * deviation / count.sqrt())
}

pub(crate) fn finite(samples: &[f64], count_min: usize) -> Option<&[f64]> {
    (samples.len() >= count_min && samples.iter().all(|x| x.is_finite())).then_some(samples)
}

pub(crate) fn sorted(samples: &[f64], count_min: usize) -> Option<Vec<f64>> {
    let mut sorted = finite(samples, count_min)?.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

pub(crate) fn logs(samples: &[f64], count_min: usize) -> Option<Vec<f64>> {
    let positive = finite(samples, count_min)?.iter().all(|&x| x > 0.0);
    positive.then(|| samples.iter().map(|x| x.ln()).collect())
}

/// Rank of each sample (from 1; ties share their mean rank), and the sizes of the ties.
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

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Range"))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Includes the ends; `false` for NaN.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }

    /// `None` if an end is infinite or NaN.
    pub fn bounded(self) -> Option<Self> {
        (self.low.is_finite() && self.high.is_finite()).then_some(self)
    }

    /// Interval of the inverse ratio.
    pub fn inverse(self) -> Self {
        Self { low: 1.0 / self.high, high: 1.0 / self.low }
    }

    pub(crate) fn exp(self) -> Self {
        Self { low: self.low.exp(), high: self.high.exp() }
    }

    pub(crate) fn encloses(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }
}

/// In the unit of the samples (or a ratio).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: Interval,
}

impl Estimate {
    pub(crate) fn exp(self) -> Self {
        Self { value: self.value.exp(), interval: self.interval.exp() }
    }
}

pub(crate) trait Test {
    fn center(&self) -> f64;

    fn interval(&self, confidence: f64) -> Option<Interval>;

    /// Two-sided, of a center of zero; [`Self::interval`] inverts it.
    fn p(&self) -> f64;

    fn estimate(&self, confidence: f64) -> Option<Estimate> {
        Some(Estimate { value: self.center(), interval: self.interval(confidence)? })
    }
}

/// Mean with an estimated standard error.
pub(crate) struct StudentMean {
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
    pub(crate) degrees: f64,
}

impl Test for StudentMean {
    fn center(&self) -> f64 {
        self.mean
    }

    fn interval(&self, confidence: f64) -> Option<Interval> {
        let half = student_critical(self.degrees, tail_of(confidence)?) * self.standard_error;
        Some(Interval { low: self.mean - half, high: self.mean + half })
    }

    fn p(&self) -> f64 {
        // The standard error may be zero, too.
        if self.mean == 0.0 {
            return 1.0;
        }
        student_two_sided(self.degrees, self.mean / self.standard_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_inverted_with_its_ratio_and_bounded_if_both_ends_are_finite() {
        let interval = Interval { low: 0.5, high: 4.0 };
        assert_eq!(interval.inverse(), Interval { low: 0.25, high: 2.0 });
        assert_eq!(interval.bounded(), Some(interval));
        assert_eq!(Interval { high: f64::INFINITY, ..interval }.bounded(), None);
        assert_eq!(Interval { low: f64::NAN, ..interval }.bounded(), None);
    }

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

    #[test]
    fn smallest_counts_match_the_documentation() {
        let samples: Vec<f64> = (0..8).map(f64::from).collect();
        assert!(median_interval(&samples[..5], 0.95).is_none());
        assert!(median_interval(&samples[..6], 0.95).is_some());
        assert!(median_interval(&samples[..7], 0.99).is_none());
        assert!(median_interval(&samples, 0.99).is_some());
        assert!(median_interval(&[], 0.5).is_none());
        assert!(median_interval(&samples, 1.0).is_none());
        assert!(median_interval(&[1.0], 0.5).is_none());
    }
}
