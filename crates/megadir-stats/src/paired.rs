//! Two-sample comparisons: paired rounds and unpaired runs.

use crate::descriptive::{Test, logs};
use crate::distribution::tail_of;
use crate::pairwise::{Differences, Means, Pairs};
use crate::rank_law::RankLaw;
use crate::{Estimate, Interval};

/// Hodges-Lehmann estimate of the center of paired differences, with Wilcoxon's signed-rank interval.
///
/// The estimate is the median of the Walsh averages (d_i + d_j) / 2, i <= j. The interval inverts the signed-rank test: exact up to 50
/// differences, normal with continuity correction above; ties only widen it. Differences must be symmetric about their center, as for two
/// arms with the same noise. `None` if a difference is not finite, `confidence` is outside 0 to 1, or there are too few differences
/// (fewer than 6 at 95 %). Reference: Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition, 3.2 and 3.3.
pub fn hodges_lehmann(differences: &[f64], confidence: f64) -> Option<Estimate> {
    RankTest::signed(differences)?.estimate(confidence)
}

/// [`hodges_lehmann`] on [`log_ratios`]: the ratio new / old. Reference: Fleming and Wallace, *Communications of the
/// ACM* 29 (1986).
pub fn paired_ratio(new: &[f64], old: &[f64], confidence: f64) -> Option<Estimate> {
    Some(hodges_lehmann(&log_ratios(new, old)?, confidence)?.exp())
}

/// ln(new / old) of each round. `None` if the lengths differ, there are no times, or a time is not positive and finite.
pub fn log_ratios(new: &[f64], old: &[f64]) -> Option<Vec<f64>> {
    if new.len() != old.len() {
        return None;
    }
    let (new, old) = (logs(new, 1)?, logs(old, 1)?);
    Some(new.iter().zip(&old).map(|(n, o)| n - o).collect())
}

pub(crate) struct RankTest<P> {
    pairs: P,
    law: RankLaw,
}

impl RankTest<Means> {
    /// Wilcoxon's signed ranks of paired differences.
    pub(crate) fn signed(differences: &[f64]) -> Option<Self> {
        Some(Self { pairs: Means::new(differences)?, law: RankLaw::signed_rank(differences.len()) })
    }
}

impl RankTest<Differences> {
    /// Mann and Whitney's count of pairs, new - old.
    pub(crate) fn unpaired(new: &[f64], old: &[f64]) -> Option<Self> {
        Some(Self { pairs: Differences::new(old, new)?, law: RankLaw::rank_sum(new.len(), old.len()) })
    }
}

impl<P: Pairs> Test for RankTest<P> {
    fn center(&self) -> f64 {
        self.pairs.median()
    }

    fn interval(&self, confidence: f64) -> Option<Interval> {
        let outside = self.law.critical(tail_of(confidence)?)?;
        let high = self.law.max() - outside;
        (outside < high).then(|| Interval { low: self.pairs.nth(outside + 1), high: self.pairs.nth(high) })
    }

    /// With ties or zeros larger than the usual one, because pairs of zero count against both sides.
    fn p(&self) -> f64 {
        let at_most_zero = self.pairs.up_to(0.0);
        let at_least_zero = self.law.max() - self.pairs.up_to(0.0f64.next_down());
        self.law.two_sided(at_most_zero.min(at_least_zero))
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
            let differences = RankTest::unpaired(&new, &old).unwrap();
            let excludes = !differences.interval(0.95).unwrap().contains(0.0);
            assert_eq!(excludes, differences.p() <= 0.05, "{shift}");
        }
    }

    #[test]
    fn signed_rank_p_values_match_scipy() {
        // SciPy 1.16, `wilcoxon(d, method="exact").pvalue`.
        let cases: [(&[f64], f64); 3] = [
            (&[0.4106604, -2.747228, 1.021031, 1.507706, 0.7482761, 0.3034207], 0.4375),
            (
                &[
                    -0.6741074, -0.4788602, 1.853312, 1.038212, 3.328967, -2.034542, -4.40889, 0.7377292,
                    -0.881706, 0.4444908,
                ],
                1.0,
            ),
            (
                &[
                    0.1305608,
                    -0.3106171,
                    0.9112748,
                    0.1176063,
                    -1.363016,
                    4.30408,
                    -1.002461,
                    0.3371878,
                    0.5057816,
                    0.2336756,
                    0.1176009,
                    0.08819613,
                    0.1372703,
                    -0.09795038,
                    -0.09622777,
                    5.858701,
                    0.5572403,
                    -0.3463511,
                    -0.5930461,
                    1.650985,
                    3.296764,
                    -0.8159526,
                    1.936479,
                    -2.082253,
                    7.513467,
                ],
                0.164_496_123_790_740_97,
            ),
        ];
        for (differences, p) in cases {
            let found = RankTest::signed(differences).unwrap().p();
            assert!((found - p).abs() < 1e-12, "{found} {p}");
        }
    }

    #[test]
    fn the_printed_example_is_recovered() {
        // Hollander, Wolfe and Chicken, example 4.1 (human chorioamnion), X at term (10), Y at 12 to 26 weeks
        // (5): estimate -0.305, interval [-0.76, 0.15] at 95.2 %.
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let differences = RankTest::unpaired(&earlier, &at_term).unwrap();
        assert!((differences.center() + 0.305).abs() < 1e-9, "{}", differences.center());
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
