//! Stopping when intervals are narrow enough, without letting repeated looks raise the error.
//!
//! ```text
//!  looks at   30   45   68   102   153 ... rounds_max      each 1.5 times the one before
//!  each at    1 - alpha / looks                           Bonferroni: all intervals cover together with 1 - alpha
//! ```

use crate::paired::{hodges_lehmann, paired_ratio};

/// Factor between the rounds of successive looks.
const GROWTH: f64 = 1.5;
/// Fewer rounds have no interval at 95 %.
const ROUNDS_MIN: u32 = 6;

/// Rounds after which a run checks if its intervals are narrow enough: a geometric schedule, fixed in advance.
///
/// Every interval of a run with L looks is taken at the level 1 - alpha / L. By Bonferroni's inequality all L
/// cover together with at least 1 - alpha, so the one at which the run stops does too, whatever the reason to
/// stop: they are repeated confidence intervals. Because the schedule is geometric, there are few looks: about
/// six for ten times the rounds. References: Jennison and Turnbull, *Journal of the Royal Statistical Society
/// B* 51 (1989), and *Group Sequential Methods with Applications to Clinical Trials*, 2000, chapter 9 (repeated
/// confidence intervals).
///
/// ```
/// let looks = megadir_stats::Looks::new(30, 100).expect("30 is at most 100");
/// assert_eq!(looks.rounds(), [30, 45, 68, 100]);
/// assert!(looks.is_at(45) && !looks.is_at(46));
/// assert_eq!(looks.confidence(0.95), 1.0 - (1.0 - 0.95) / 4.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    rounds_min: u32,
    rounds_max: u32,
}

impl Looks {
    /// Returns the schedule from `rounds_min` to `rounds_max` rounds; both are looks. `None` if `rounds_min` is
    /// under 6, which has no interval at 95 %, or over `rounds_max`.
    #[must_use]
    pub fn new(rounds_min: u32, rounds_max: u32) -> Option<Self> {
        (rounds_min >= ROUNDS_MIN && rounds_min <= rounds_max).then_some(Self { rounds_min, rounds_max })
    }

    #[must_use]
    pub fn rounds(&self) -> Vec<u32> {
        let later = |rounds: &u32| Some((f64::from(*rounds) * GROWTH).ceil().min(f64::from(u32::MAX)) as u32);
        let before_last = std::iter::successors(Some(self.rounds_min), later);
        let mut rounds: Vec<u32> = before_last.take_while(|rounds| *rounds < self.rounds_max).collect();
        rounds.push(self.rounds_max);
        rounds
    }

    /// `true` if there is a look after `rounds` rounds.
    #[must_use]
    pub fn is_at(&self, rounds: u32) -> bool {
        self.rounds().contains(&rounds)
    }

    #[must_use]
    pub fn count(&self) -> u32 {
        self.rounds().len() as u32
    }

    /// Returns the level of each look's intervals, so that all together cover with `confidence`.
    ///
    /// ```
    /// let looks = megadir_stats::Looks::new(30, 45).expect("two looks");
    /// assert!((looks.confidence(0.9) - 0.95).abs() < 1e-12);
    /// ```
    #[must_use]
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

/// `true` if the interval of paired times is at most as wide as `target` at this level. The interval is
/// Wilcoxon's around the Hodges-Lehmann estimate, of log ratios or of differences. Too few rounds or times that
/// are not positive give `false`. A run that stops by this checks only at the rounds of a [`Looks`] and passes
/// its [`Looks::confidence`].
///
/// ```
/// use megadir_stats::{HalfWidth, narrow_enough};
/// let old_ns: Vec<f64> = (0..40).map(|round| 1000.0 + f64::from(round % 7)).collect();
/// let new_ns: Vec<f64> = (0..40).map(|round| 1020.0 + f64::from(round % 5)).collect();
/// assert!(narrow_enough(&new_ns, &old_ns, HalfWidth::Fraction(0.01), 0.99));
/// assert!(!narrow_enough(&new_ns, &old_ns, HalfWidth::Absolute(0.1), 0.99));
/// ```
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn what_has_no_interval_is_not_narrow_enough() {
        let wide = HalfWidth::Fraction(f64::INFINITY);
        assert!(!narrow_enough(&[1.0; 5], &[1.0; 5], wide, 0.95));
        assert!(narrow_enough(&[1.0; 6], &[1.0; 6], wide, 0.95));
        // The level of six looks needs more rounds than the level of one.
        assert!(!narrow_enough(&[1.0; 6], &[1.0; 6], wide, 1.0 - 0.05 / 6.0));
        assert!(!narrow_enough(&[1.0; 7], &[1.0; 6], HalfWidth::Absolute(1.0), 0.95));
        assert!(!narrow_enough(&[0.0; 7], &[1.0; 7], wide, 0.95));
    }
}
