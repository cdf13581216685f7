//! Two-sample comparisons: paired rounds and unpaired runs.

use crate::descriptive::{finite, logs, midranks, sorted};
use crate::distribution::{normal_cumulative, tail_of};
use crate::pairwise::{difference, differences_up_to, walsh_average, walsh_averages_up_to};
use crate::rank_law::{EXACT_COUNT_MAX, RankLaw};
use crate::{Estimate, Interval};

/// Hodges-Lehmann estimate of the center of paired differences, with Wilcoxon's signed-rank interval.
///
/// The estimate is the median of the Walsh averages (d_i + d_j) / 2, i <= j. The interval inverts the
/// signed-rank test: exact up to 50 differences, normal with continuity correction above; ties only widen it.
/// Differences must be symmetric about their center, as for two arms with the same noise. O(n) memory; time
/// near 64 n. `None` if a difference is not finite, `confidence` is outside 0 to 1, or there are too few
/// differences (fewer than 6 at 95 %). References: Hodges and Lehmann, *Annals of Mathematical Statistics* 34
/// (1963); Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition, sections 3.2 and
/// 3.3.
pub fn hodges_lehmann(differences: &[f64], confidence: f64) -> Option<Estimate> {
    let walsh = WalshAverages::new(differences)?;
    let interval = walsh.interval(confidence)?;
    Some(Estimate { value: walsh.median(), interval })
}

/// Two-sided p value (0 to 1) of Wilcoxon's signed-rank test of symmetry about zero.
///
/// Exact up to 50 differences without ties or zeros; otherwise normal with continuity and tie correction.
/// Zeros are ranked, then dropped (Pratt); if all differences are zero, p is 1. `None` without differences or
/// if one is not finite. References: Wilcoxon, *Biometrics Bulletin* 1 (1945); Pratt, *Journal of the
/// American Statistical Association* 54 (1959).
pub fn wilcoxon_signed_rank_p(differences: &[f64]) -> Option<f64> {
    let sizes: Vec<f64> = finite(differences, 1)?.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = midranks(&sizes);
    let ranked = || differences.iter().zip(&ranks);
    let positive: f64 = ranked().filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    let negative: f64 = ranked().filter(|(d, _)| **d < 0.0).map(|(_, r)| r).sum();
    let smaller = positive.min(negative);

    let has_zeros = sizes.contains(&0.0);
    let has_ties = ties.iter().any(|&size| size > 1);
    if differences.len() <= EXACT_COUNT_MAX && !has_zeros && !has_ties {
        return Some(RankLaw::signed_rank(differences.len()).two_sided(smaller as usize));
    }
    // Given the ranks, each sign is a fair coin: mean sum(r)/2, variance sum(r^2)/4, ties included.
    let mean = 0.5 * (positive + negative);
    let squares: f64 = ranked().filter(|(d, _)| **d != 0.0).map(|(_, r)| r * r).sum();
    if squares == 0.0 {
        return Some(1.0);
    }
    let z = (smaller + 0.5 - mean) / (0.5 * squares.sqrt());
    Some((2.0 * normal_cumulative(z)).min(1.0))
}

/// Ratio new / old of paired times: Hodges-Lehmann on log ratios. Both series have the same unit and one time
/// a round. `None` if the lengths differ, a time is not positive and finite, or [`hodges_lehmann`] has no
/// interval. Reference: Fleming and Wallace, *Communications of the ACM* 29 (1986).
pub fn paired_ratio(new: &[f64], old: &[f64], confidence: f64) -> Option<Estimate> {
    Some(hodges_lehmann(&log_ratios(new, old)?, confidence)?.exp())
}

/// ln(new / old) of each round, for [`crate::verdict()`] and [`crate::judge_family`]. `None` if the lengths
/// differ, there are no times, or a time is not positive and finite.
pub fn log_ratios(new: &[f64], old: &[f64]) -> Option<Vec<f64>> {
    if new.len() != old.len() {
        return None;
    }
    let (new, old) = (logs(new, 1)?, logs(old, 1)?);
    Some(new.iter().zip(&old).map(|(n, o)| n - o).collect())
}

pub(crate) fn center(samples: &[f64]) -> Option<f64> {
    Some(median_of_sorted(&sorted(samples, 1)?))
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let count = sorted.len() * (sorted.len() + 1) / 2;
    let lower = walsh_average(sorted, count.div_ceil(2));
    let upper = walsh_average(sorted, count / 2 + 1);
    0.5 * lower + 0.5 * upper
}

/// Sorted series and the law of its Walsh averages above zero.
pub(crate) struct WalshAverages {
    sorted: Vec<f64>,
    law: RankLaw,
}

impl WalshAverages {
    pub(crate) fn new(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples, 1)?;
        let law = RankLaw::signed_rank(sorted.len());
        Some(Self { sorted, law })
    }

    pub(crate) fn sample_count(&self) -> usize {
        self.sorted.len()
    }

    pub(crate) fn median(&self) -> f64 {
        median_of_sorted(&self.sorted)
    }

    pub(crate) fn interval(&self, confidence: f64) -> Option<Interval> {
        let outside = self.law.critical(tail_of(confidence)?)?;
        Some(Interval {
            low: walsh_average(&self.sorted, outside + 1),
            high: walsh_average(&self.sorted, self.law.max() - outside),
        })
    }

    /// Without ties or zeros as [`wilcoxon_signed_rank_p`]; with them larger, because averages of zero count
    /// against both sides.
    pub(crate) fn p(&self) -> f64 {
        let at_most_zero = walsh_averages_up_to(&self.sorted, 0.0);
        let below_zero = walsh_averages_up_to(&self.sorted, 0.0f64.next_down());
        let at_least_zero = self.law.max() - below_zero;
        self.law.two_sided(at_most_zero.min(at_least_zero))
    }
}

/// Ratio new / old of the times of two unpaired runs, without the variation between whole runs.
///
/// Unpaired Hodges-Lehmann estimate on logarithms: the median of all ratios of a new time to an old one. The
/// interval inverts the Mann-Whitney test: exact up to 50 times in total, normal with continuity correction
/// above; ties only widen it. Both series have the same unit. `None` if a time is not positive and finite, or
/// if there are too few for the confidence (fewer than 4 against 4 at 95 %). Reference: Hollander, Wolfe and
/// Chicken, *Nonparametric Statistical Methods*, 3rd edition, sections 4.2 and 4.3.
pub fn unpaired_ratio(new: &[f64], old: &[f64], confidence: f64) -> Option<Estimate> {
    let differences = Differences::new(&logs(new, 1)?, &logs(old, 1)?)?;
    Some(Estimate { value: differences.median(), interval: differences.interval(confidence)? }.exp())
}

/// Sorted series and the law of the number of differences above zero.
pub(crate) struct Differences {
    new: Vec<f64>,
    old: Vec<f64>,
    law: RankLaw,
}

impl Differences {
    /// New - old.
    pub(crate) fn new(new: &[f64], old: &[f64]) -> Option<Self> {
        let (new, old) = (sorted(new, 1)?, sorted(old, 1)?);
        let law = RankLaw::rank_sum(new.len(), old.len());
        Some(Self { new, old, law })
    }

    pub(crate) fn median(&self) -> f64 {
        let count = self.law.max();
        0.5 * (self.nth(count.div_ceil(2)) + self.nth(count / 2 + 1))
    }

    pub(crate) fn interval(&self, confidence: f64) -> Option<Interval> {
        let outside = self.law.critical(tail_of(confidence)?)?;
        let high = self.law.max() - outside;
        (outside < high).then(|| Interval { low: self.nth(outside + 1), high: self.nth(high) })
    }

    /// With ties the larger one, which the interval inverts.
    pub(crate) fn p(&self) -> f64 {
        let not_above = differences_up_to(&self.old, &self.new, 0.0);
        let not_below = differences_up_to(&self.new, &self.old, 0.0);
        self.law.two_sided(not_above.min(not_below))
    }

    pub(crate) fn count(&self) -> usize {
        self.new.len().min(self.old.len())
    }

    fn nth(&self, rank: usize) -> f64 {
        difference(&self.old, &self.new, rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Judging, Verdict, judge_unpaired_family};

    #[test]
    fn test_and_interval_cannot_contradict_each_other() {
        for shift in 0..40 {
            let old: Vec<f64> = (0..12).map(|i| f64::from(i * 7 % 12)).collect();
            let new: Vec<f64> = (0..9).map(|i| f64::from(i * 5 % 9) + 0.25 * f64::from(shift)).collect();
            let differences = Differences::new(&new, &old).unwrap();
            let excludes = !differences.interval(0.95).unwrap().contains(0.0);
            assert_eq!(excludes, differences.p() <= 0.05, "{shift}");
        }
    }

    #[test]
    fn the_printed_example_is_recovered() {
        // Hollander, Wolfe and Chicken, example 4.1 (human chorioamnion), X at term (10), Y at 12 to 26 weeks
        // (5): estimate -0.305, interval [-0.76, 0.15] at 95.2 %.
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let differences = Differences::new(&earlier, &at_term).unwrap();
        assert!((differences.median() + 0.305).abs() < 1e-9, "{}", differences.median());
        let interval = differences.interval(0.95).unwrap();
        assert!((interval.low + 0.76).abs() < 1e-9 && (interval.high - 0.15).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn families_of_two_runs_are_judged() {
        let base: Vec<f64> = (0..30).map(|i| 100.0 + f64::from(i * 11 % 30) * 0.05).collect();
        let times = |factor: f64| (base.iter().map(|t| t * factor).collect::<Vec<_>>(), base.clone());
        let family = [times(1.1), times(0.9), times(1.0), (vec![1.0], vec![2.0])];
        let judged = judge_unpaired_family(&family, Judging { band: 0.03, looks: 1 });
        let verdicts: Vec<_> =
            judged.iter().map(|judgement| judgement.map(|judgement| judgement.verdict)).collect();
        let different = |faster| {
            if faster { Verdict::Faster { negligible: false } } else { Verdict::Slower { negligible: false } }
        };
        assert_eq!(
            verdicts,
            [Some(different(false)), Some(different(true)), Some(Verdict::Equivalent), None]
        );
    }
}
