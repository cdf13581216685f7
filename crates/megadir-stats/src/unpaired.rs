//! Two series without common rounds: the shift between them, with the interval that inverts the Mann-Whitney
//! test.

use crate::descriptive::{logs, sorted};
use crate::distribution::tail_of;
use crate::pairwise::{difference, differences_up_to};
use crate::rank_law::RankLaw;
use crate::{Estimate, Interval};

/// Returns the ratio new / old of the times of two unpaired runs, with its interval.
///
/// The unpaired Hodges-Lehmann estimate on logarithms: the median of all ratios of a new time to an old one.
/// The interval inverts the Mann-Whitney test: exact up to 50 times in total, normal with continuity correction
/// above; ties only widen it. Both series have the same unit; below 1 the new one is faster. The interval does
/// not include the variation between whole runs. `None` if a time is not positive and finite, or if there are
/// too few for the confidence (fewer than 4 against 4 at 95 %). Reference: Hollander, Wolfe and Chicken,
/// *Nonparametric Statistical Methods*, 3rd edition, sections 4.2 and 4.3.
///
/// ```
/// let old_ns = [100.0, 101.0, 99.0, 102.0, 98.0];
/// let new_ns = [80.0, 81.0, 79.5, 82.0, 78.0, 80.5];
/// let ratio = megadir_stats::unpaired_ratio(&new_ns, &old_ns, 0.95).expect("enough times");
/// assert!((ratio.value - 0.8).abs() < 0.01 && ratio.interval.high < 0.85);
/// ```
#[must_use]
pub fn unpaired_ratio(new: &[f64], old: &[f64], confidence: f64) -> Option<Estimate> {
    let differences = Differences::new(&logs(new, 1)?, &logs(old, 1)?)?;
    Some(Estimate { value: differences.median(), interval: differences.interval(confidence)? }.exp())
}

/// All differences between two series: the sorted series and the law of the number above zero.
pub(crate) struct Differences {
    new: Vec<f64>,
    old: Vec<f64>,
    law: RankLaw,
}

impl Differences {
    /// Differences new - old of finite samples; `None` if a side has no samples.
    pub(crate) fn new(new: &[f64], old: &[f64]) -> Option<Self> {
        let (new, old) = (sorted(new, 1)?, sorted(old, 1)?);
        let law = RankLaw::rank_sum(new.len(), old.len());
        Some(Self { new, old, law })
    }

    pub(crate) fn median(&self) -> f64 {
        let count = self.law.max();
        0.5 * (self.nth(count.div_ceil(2)) + self.nth(count / 2 + 1))
    }

    /// Returns the interval that inverts the test; `None` for too few samples.
    pub(crate) fn interval(&self, confidence: f64) -> Option<Interval> {
        let outside = self.law.critical(tail_of(confidence)?)?;
        let high = self.law.max() - outside;
        (outside < high).then(|| Interval { low: self.nth(outside + 1), high: self.nth(high) })
    }

    /// Returns the two-sided p value of "no shift"; with ties the larger one, which the interval inverts.
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
