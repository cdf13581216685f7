//! Stopping when intervals are narrow enough, without letting repeated looks raise the error.

use crate::paired::{hodges_lehmann, paired_ratio};

/// Factor between the rounds of successive looks.
const GROWTH: f64 = 1.5;
/// For an interval at 95 %.
const ROUNDS_MIN: u32 = 6;

/// Rounds after which a run checks if its intervals are narrow enough: a geometric schedule, fixed in advance.
///
/// Every interval of a run with L looks is taken at the level 1 - alpha / L. By Bonferroni's inequality all L
/// cover together with at least 1 - alpha, and so does the one at which the run stops. Reference: Jennison and
/// Turnbull, *Group Sequential Methods with Applications to Clinical Trials*, 2000, chapter 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    rounds_min: u32,
    rounds_max: u32,
}

impl Looks {
    /// Both arguments are looks. `None` if `rounds_min` is under 6, which has no interval at 95 %, or over `rounds_max`.
    pub fn new(rounds_min: u32, rounds_max: u32) -> Option<Self> {
        (rounds_min >= ROUNDS_MIN && rounds_min <= rounds_max).then_some(Self { rounds_min, rounds_max })
    }

    pub fn rounds(&self) -> Vec<u32> {
        let later = |rounds: &u32| Some((f64::from(*rounds) * GROWTH).ceil().min(f64::from(u32::MAX)) as u32);
        let before_last = std::iter::successors(Some(self.rounds_min), later);
        let mut rounds: Vec<u32> = before_last.take_while(|rounds| *rounds < self.rounds_max).collect();
        rounds.push(self.rounds_max);
        rounds
    }

    pub fn is_at(&self, rounds: u32) -> bool {
        self.rounds().contains(&rounds)
    }

    pub fn count(&self) -> u32 {
        self.rounds().len() as u32
    }

    /// Level of each look's intervals, so that all together cover with `confidence`.
    pub fn confidence(&self, confidence: f64) -> f64 {
        1.0 - (1.0 - confidence) / f64::from(self.count())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HalfWidth {
    /// For the ratio new / old: 0.01 is one per cent.
    Fraction(f64),
    Absolute(f64),
}

/// The interval of paired times, of log ratios or of differences, is at most as wide as `target`: Wilcoxon's.
/// `false` with too few rounds or times that are not positive. To stop by this, check only at the rounds of a
/// [`Looks`], with its [`Looks::confidence`].
pub fn narrow_enough(new: &[f64], old: &[f64], target: HalfWidth, confidence: f64) -> bool {
    let (estimate, target) = match target {
        HalfWidth::Fraction(target) => (paired_ratio(new, old, confidence), target),
        HalfWidth::Absolute(target) if new.len() == old.len() => {
            let differences: Vec<f64> = new.iter().zip(old).map(|(new, old)| new - old).collect();
            (hodges_lehmann(&differences, confidence), target)
        }
        HalfWidth::Absolute(target) => (None, target),
    };
    estimate.is_some_and(|estimate| estimate.interval.half_width() <= target)
}

/// Holm's adjusted p values (0 to 1), in the order given. NaN stands for a contrast that could not be tested: it stays NaN and
/// does not count, as in R's `p.adjust`. Reference: Holm (1979); Wright, *Biometrics* 48 (1992), for adjusted p values.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![f64::NAN; p_values.len()];
    let mut largest: f64 = 0.0;
    for step in steps(p_values) {
        largest = largest.max(step.divisor * step.p).min(1.0);
        adjusted[step.contrast] = largest;
    }
    adjusted
}

/// Returns for each contrast the confidence level whose interval agrees with Holm's decision, in the order given.
///
/// A rejected contrast of rank i of m gets the level 1 - `family_alpha` / (m - i). The first contrast that is not rejected and
/// all later ones get the level of that step. The decisions control the family-wise error; the intervals of rejected contrasts do
/// not cover jointly. NaN is treated as in [`holm`]. References: Holm (1979); Guilbaud, *Biometrical Journal* 50 (2008).
pub(crate) fn holm_confidences(p_values: &[f64], family_alpha: f64) -> Vec<f64> {
    let mut levels = vec![f64::NAN; p_values.len()];
    let mut stopped_at = None;
    for step in steps(p_values) {
        // Rounding cannot make this and `holm` disagree.
        if stopped_at.is_none() && step.divisor * step.p > family_alpha {
            stopped_at = Some(step.divisor);
        }
        levels[step.contrast] = 1.0 - family_alpha / stopped_at.unwrap_or(step.divisor);
    }
    levels
}

struct Step {
    contrast: usize,
    p: f64,
    divisor: f64,
}

fn steps(p_values: &[f64]) -> impl Iterator<Item = Step> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&i| !p_values[i].is_nan()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let count = order.len();
    order.into_iter().enumerate().map(move |(rank, contrast)| Step {
        contrast,
        p: p_values[contrast],
        divisor: (count - rank) as f64,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn looks_ascend_from_first_to_last(first in 6u32..5000, more in 0u32..1_000_000) {
            let looks = Looks::new(first, first + more).unwrap();
            let rounds = looks.rounds();
            prop_assert_eq!((rounds[0], rounds[rounds.len() - 1]), (first, first + more));
            prop_assert!(rounds.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(rounds.len() < 40);
        }
    }

    #[test]
    fn the_largest_schedule_ends() {
        assert_eq!(Looks::new(6, u32::MAX).unwrap().rounds().last(), Some(&u32::MAX));
    }

    #[test]
    fn missing_interval_is_never_narrow_enough() {
        let wide = HalfWidth::Fraction(f64::INFINITY);
        assert!(!narrow_enough(&[1.0; 5], &[1.0; 5], wide, 0.95));
        assert!(narrow_enough(&[1.0; 6], &[1.0; 6], wide, 0.95));
        // The level of six looks needs more rounds than the level of one.
        assert!(!narrow_enough(&[1.0; 6], &[1.0; 6], wide, 1.0 - 0.05 / 6.0));
        assert!(!narrow_enough(&[1.0; 7], &[1.0; 6], HalfWidth::Absolute(1.0), 0.95));
        assert!(!narrow_enough(&[0.0; 7], &[1.0; 7], wide, 0.95));
    }

    #[test]
    fn untested_contrasts_do_not_count() {
        let adjusted = holm(&[f64::NAN, 0.02, 0.03]);
        assert!(adjusted[0].is_nan());
        assert_eq!(adjusted[1..], [0.04, 0.04]);
        assert!(holm_confidences(&[f64::NAN], 0.05)[0].is_nan());
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn no_level_panics(p in prop::collection::vec(prop::num::f64::ANY, 0..12), alpha in prop::num::f64::ANY) {
            prop_assert_eq!(holm_confidences(&p, alpha).len(), p.len());
        }

        #[test]
        fn level_agrees_with_adjusted_p(p in prop::collection::vec(0.0f64..0.2, 1..12)) {
            let adjusted = holm(&p);
            let levels = holm_confidences(&p, 0.05);
            for ((p, adjusted), level) in p.iter().zip(adjusted).zip(levels) {
                // Farther from the boundary than the rounding of 1 - (1 - alpha).
                if (p - (1.0 - level)).abs() > 1e-12 {
                    prop_assert_eq!(adjusted <= 0.05, *p <= 1.0 - level);
                }
            }
        }
    }
}
