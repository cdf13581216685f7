//! Stopping when intervals are narrow enough, without letting repeated looks raise the error.
//!
//! ```text
//!  looks at   30   45   68   102   153 ... rounds_max      each 1.5 times the one before
//!  each at    1 - alpha / looks                           Bonferroni: all intervals cover together with 1 - alpha
//! ```

use crate::paired::{hodges_lehmann, paired_ratio};

/// Each look comes after this many times the rounds of the one before.
const GROWTH: f64 = 1.5;
/// A look at fewer rounds than this has no interval at 95 %.
const ROUNDS_MIN: u32 = 6;

/// The rounds after which a run looks whether its intervals are narrow enough: a geometric schedule, fixed beforehand.
///
/// Every interval of a run that may stop at any of L looks is taken at the level 1 - alpha / L. By Bonferroni's inequality
/// all L cover together with at least 1 - alpha, so the one at which the run happens to stop does too, whatever made it stop:
/// they are repeated confidence intervals. The looks are few, some six for ten times the rounds, because they are geometric.
///
/// References: Jennison and Turnbull, *Journal of the Royal Statistical Society B* 51 (1989), and *Group Sequential Methods
/// with Applications to Clinical Trials*, 2000, chapter 9 (repeated confidence intervals).
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
    /// Returns the schedule from `rounds_min` to `rounds_max` rounds, both of which are looks.
    ///
    /// None where the first is under 6 rounds, which have no interval at 95 %, or over the last.
    ///
    /// ```
    /// assert!(megadir_stats::Looks::new(5, 100).is_none());
    /// assert!(megadir_stats::Looks::new(30, 29).is_none());
    /// ```
    #[must_use]
    pub fn new(rounds_min: u32, rounds_max: u32) -> Option<Self> {
        (rounds_min >= ROUNDS_MIN && rounds_min <= rounds_max).then_some(Self { rounds_min, rounds_max })
    }

    /// Returns the rounds of all looks, ascending.
    ///
    /// ```
    /// let looks = megadir_stats::Looks::new(20, 20).expect("one look");
    /// assert_eq!(looks.rounds(), [20]);
    /// ```
    #[must_use]
    pub fn rounds(&self) -> Vec<u32> {
        let later = |rounds: &u32| Some((f64::from(*rounds) * GROWTH).ceil().min(f64::from(u32::MAX)) as u32);
        let before_last = std::iter::successors(Some(self.rounds_min), later);
        let mut rounds: Vec<u32> = before_last.take_while(|rounds| *rounds < self.rounds_max).collect();
        rounds.push(self.rounds_max);
        rounds
    }

    /// Returns whether a run looks after so many rounds.
    ///
    /// ```
    /// let looks = megadir_stats::Looks::new(30, 100).expect("30 is at most 100");
    /// assert!(!looks.is_at(29) && looks.is_at(30) && looks.is_at(100));
    /// ```
    #[must_use]
    pub fn is_at(&self, rounds: u32) -> bool {
        self.rounds().contains(&rounds)
    }

    /// Returns how many looks there are, by which the error is divided.
    ///
    /// ```
    /// assert_eq!(megadir_stats::Looks::new(30, 100).expect("30 is at most 100").count(), 4);
    /// ```
    #[must_use]
    pub fn count(&self) -> u32 {
        self.rounds().len() as u32
    }

    /// Returns the level of each look's intervals so that all together cover with `confidence`.
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

/// How narrow an interval is to be.
///
/// ```
/// use megadir_stats::HalfWidth;
/// assert_ne!(HalfWidth::Fraction(0.01), HalfWidth::Absolute(5.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HalfWidth {
    /// Half the width of the interval of the ratio new / old, without unit: 0.01 is one per cent.
    Fraction(f64),
    /// Half the width of the interval of the difference new - old, in the unit of the times.
    Absolute(f64),
}

/// Returns whether paired times give an interval at most as wide as asked for, at the level given.
///
/// The interval is Wilcoxon's around the Hodges-Lehmann estimate, of log ratios or of differences. It is no wider than asked
/// for only where it exists: too few rounds or times that are not positive are false. A run that stops by this looks only at
/// the rounds of a [`Looks`] and passes its [`Looks::confidence`].
///
/// References: those of [`Looks`] and of [`crate::hodges_lehmann`].
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
        // Six looks' level asks for more rounds than the level of one.
        assert!(!narrow_enough(&[1.0; 6], &[1.0; 6], wide, 1.0 - 0.05 / 6.0));
        assert!(!narrow_enough(&[1.0; 7], &[1.0; 6], HalfWidth::Absolute(1.0), 0.95));
        assert!(!narrow_enough(&[0.0; 7], &[1.0; 7], wide, 0.95));
    }
}
