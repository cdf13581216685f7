//! Verdicts on ratios of paired times, and differences larger than the equivalence band.
//!
//! ```text
//!                 1/1.03    1    1.03         (a band of 3 %, symmetric on the log scale)
//!  faster      |--o--| .    |    .
//!  faster, negligible  .|-o-|    .            Holm-adjusted interval excludes 1, lies inside the band
//!  equivalent          . |--o--| .            90 % interval lies inside the band, includes 1
//!  inconclusive     |--------o-------|
//! ```
//!
//! References: Schuirmann, *Journal of Pharmacokinetics and Biopharmaceutics* 15 (1987), for equivalence by the 90 %
//! interval (two one-sided tests at 5 %); Holm, *Scandinavian Journal of Statistics* 6 (1979), for the family.

use serde::{Deserialize, Serialize};

use crate::descriptive::{Test, logs};
use crate::hierarchical::mean_of_centers;
use crate::paired::RankTest;
use crate::runs::welch_of_times;
use crate::sequential::{holm, holm_confidences};
use crate::{Estimate, Interval};

/// One false difference in twenty families.
const FAMILY_ALPHA: f64 = 0.05;

/// Two one-sided tests at 5 % each.
const EQUIVALENCE_ALPHA: f64 = 0.10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Ratio of times new / old, with its own 95 % interval, corrected for looks.
    pub ratio: Estimate,
    /// At the level adjusted for the family; 0 to infinity if the rounds are too few for that level.
    pub adjusted: Interval,
    pub verdict: Verdict,
    pub method: Method,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    SignedRank,
    /// Over epochs and the rounds within them.
    HierarchicalBootstrap {
        epochs: usize,
    },
    /// Two runs without common rounds.
    RankSum,
    /// Several runs a side, each one observation.
    Welch {
        runs: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "says")]
pub enum Verdict {
    /// The adjusted interval lies below 1.
    Faster {
        /// `true` if the interval lies inside the equivalence band.
        negligible: bool,
    },
    /// The adjusted interval lies above 1.
    Slower {
        /// `true` if the interval lies inside the equivalence band.
        negligible: bool,
    },
    /// The 90 % interval lies inside the equivalence band and includes 1.
    Equivalent,
    Inconclusive {
        /// Total number of rounds that would probably decide.
        rounds_to_decide: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judging {
    /// Equivalence band, a fraction: 0.03 makes it 1/1.03 to 1.03.
    pub band: f64,
    /// Looks at which the run might have stopped, 1 if the rounds were fixed; every error is divided by it.
    pub looks: u32,
}

/// Judges a family of contrasts, each given by the log ratios ln(new / old) of its epochs' rounds; keeps their order.
///
/// The family-wise error of Holm's step-down is 5 %, divided by the looks of [`Judging`]. With ties or zeros, the p value is the larger
/// one that inverts the interval. Faster and slower take precedence over equivalent. The rounds of fewer than five epochs are judged as
/// one epoch, by signed ranks; more epochs, at least one of them with several rounds, by [`crate::hierarchical_bootstrap`].
///
/// A contrast is `None`, and does not count in the family, for fewer than six rounds or if a sample is not finite.
/// So are all if the band is not positive.
pub fn judge_family_of_epochs(contrasts: &[Vec<Vec<f64>>], judging: Judging) -> Vec<Option<Judgement>> {
    judge_rounds(&contrasts.iter().map(|epochs| Rounds::of_epochs(epochs)).collect::<Vec<_>>(), judging)
}

/// Judges a family of contrasts between two runs, each given by its new and its old times; keeps their order.
/// As [`judge_family_of_epochs`], but without the variation between whole runs.
///
/// The ratio is the unpaired Hodges-Lehmann estimate on logarithms: the median of all ratios of a new time to an
/// old one. Its interval inverts the Mann-Whitney test. `rounds_to_decide` counts the shorter series. `None` if a
/// time is not positive and finite, or if there are too few for the confidence (fewer than 4 against 4 at 95 %).
/// Reference: Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3rd edition, 4.2 and 4.3.
pub fn judge_unpaired_family(contrasts: &[(Vec<f64>, Vec<f64>)], judging: Judging) -> Vec<Option<Judgement>> {
    let rounds = |(new, old): &(Vec<f64>, Vec<f64>)| {
        let test = Box::new(RankTest::unpaired(&logs(new, 1)?, &logs(old, 1)?)?);
        Some(Rounds { test, count: new.len().min(old.len()), method: Method::RankSum })
    };
    judge_rounds(&contrasts.iter().map(rounds).collect::<Vec<_>>(), judging)
}

/// Judges a family of contrasts between several runs a side, each given by its new and its old times, one a run.
/// As [`judge_family_of_epochs`], but the ratio is that of the geometric means, with Welch's interval and test on
/// logarithms. `rounds_to_decide` is the number of runs a side. `None` for fewer than [`crate::RUNS_MIN`] runs on
/// either side, if a time is not positive and finite, or if all times of each side are equal.
pub fn judge_family_of_runs(contrasts: &[(Vec<f64>, Vec<f64>)], judging: Judging) -> Vec<Option<Judgement>> {
    let rounds = |(new, old): &(Vec<f64>, Vec<f64>)| {
        let count = new.len().min(old.len());
        let test = Box::new(welch_of_times(new, old)?);
        Some(Rounds { test, count, method: Method::Welch { runs: count } })
    };
    judge_rounds(&contrasts.iter().map(rounds).collect::<Vec<_>>(), judging)
}

/// Judges contrasts, each by its own method, as one family.
pub(crate) fn judge_rounds(family: &[Option<Rounds>], judging: Judging) -> Vec<Option<Judgement>> {
    let confidence = 1.0 - FAMILY_ALPHA / f64::from(judging.looks.max(1));
    let testable = |rounds: &&Rounds| rounds.test.interval(confidence).is_some();
    let family: Vec<Option<&Rounds>> = family.iter().map(|rounds| rounds.as_ref().filter(testable)).collect();
    let p_values: Vec<f64> =
        family.iter().map(|rounds| rounds.map_or(f64::NAN, |rounds| rounds.test.p())).collect();
    let levels = holm_confidences(&p_values, FAMILY_ALPHA / f64::from(judging.looks.max(1)));
    family.iter().zip(levels).map(|(rounds, level)| judge((*rounds)?, level, judging)).collect()
}

/// A contrast on the log scale.
pub(crate) struct Rounds {
    pub(crate) test: Box<dyn Test>,
    count: usize,
    method: Method,
}

impl Rounds {
    pub(crate) fn of_epochs(epochs: &[Vec<f64>]) -> Option<Self> {
        /// Fixed, so that every report draws the same resamples.
        const SEED: u64 = 0x6d65_6761_6469_7220;
        let (test, method): (Box<dyn Test>, Method) = match mean_of_centers(epochs, SEED) {
            Some(mean) => (Box::new(mean), Method::HierarchicalBootstrap { epochs: epochs.len() }),
            None => (Box::new(RankTest::signed(&epochs.concat())?), Method::SignedRank),
        };
        Some(Self { test, count: epochs.iter().map(Vec::len).sum(), method })
    }
}

fn judge(rounds: &Rounds, holm_confidence: f64, judging: Judging) -> Option<Judgement> {
    const UNBOUNDED: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
    let Judging { band, looks } = judging;
    let in_bounds = holm_confidence > 0.0 && holm_confidence < 1.0 && band > 0.0 && band.is_finite();
    if !in_bounds || looks == 0 {
        return None;
    }
    let at = |alpha: f64| rounds.test.interval(1.0 - alpha / f64::from(looks));
    let center = rounds.test.center();
    let ratio = Estimate { value: center, interval: at(FAMILY_ALPHA)? };
    let evidence = Evidence {
        rounds: rounds.count,
        center,
        adjusted: rounds.test.interval(holm_confidence).unwrap_or(UNBOUNDED),
        equivalence: at(EQUIVALENCE_ALPHA)?,
        margin: band.ln_1p(),
    };
    Some(Judgement {
        ratio: ratio.exp(),
        adjusted: evidence.adjusted.exp(),
        verdict: evidence.verdict(),
        method: rounds.method,
    })
}

/// On the log scale, where "no difference" is 0.
///
/// The verdict follows from two intervals of the same ratio, which answer two questions. `adjusted` has the
/// confidence that Holm's procedure leaves for this contrast, and excludes 0 if there is a difference.
/// `equivalence` has 90 % at a single look, which makes lying within the band two one-sided tests at 5 %.
/// `margin` is the logarithm of the band's upper end, and the band is symmetric on this scale. `rounds` is
/// the number of paired rounds, from which the number still needed is projected.
pub(crate) struct Evidence {
    pub(crate) rounds: usize,
    pub(crate) center: f64,
    pub(crate) adjusted: Interval,
    pub(crate) equivalence: Interval,
    pub(crate) margin: f64,
}

impl Evidence {
    fn verdict(&self) -> Verdict {
        let band = Interval { low: -self.margin, high: self.margin };
        let negligible = band.encloses(self.adjusted);
        if self.adjusted.high < 0.0 {
            Verdict::Faster { negligible }
        } else if self.adjusted.low > 0.0 {
            Verdict::Slower { negligible }
        } else if band.encloses(self.equivalence) && self.equivalence.contains(0.0) {
            Verdict::Equivalent
        } else {
            let rounds_to_decide = self.rounds_to_decide();
            Verdict::Inconclusive { rounds_to_decide }
        }
    }
}

/// Side of the equivalence band of a ratio new / old. To name a winner, the family must hold every comparison from which one could be
/// chosen; [`crate::judge_family_of_epochs`] only excludes a ratio of 1 within its own family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Below 1 / (1 + band).
    Faster,
    /// Above 1 + band.
    Slower,
}

/// Side of the band on which each contrast is shown to lie, if any.
///
/// Contrasts are as in [`crate::judge_family_of_epochs`]. The null hypothesis, a ratio within the band, is tested two-sided at the nearer
/// end of the band, which errs on the safe side. Holm's procedure keeps the probability of any false call at 5 % (divided by the looks of
/// [`Judging`]). Reference: Wellek, *Testing Statistical Hypotheses of Equivalence and Noninferiority*, 2nd edition, 2010, section 11.1.
pub fn beyond_band(contrasts: &[Vec<Vec<f64>>], judging: Judging) -> Vec<Option<Beyond>> {
    let margin = judging.band.ln_1p();
    let looks = f64::from(judging.looks.max(1));
    let tested: Vec<Option<(Beyond, f64)>> = contrasts.iter().map(|epochs| beyond(epochs, margin)).collect();
    let p_values: Vec<f64> = tested.iter().map(|tested| tested.map_or(f64::NAN, |(_, p)| p)).collect();
    let shown = holm(&p_values).into_iter().map(|p| p <= FAMILY_ALPHA / looks);
    let side = |(tested, shown): (Option<(Beyond, f64)>, bool)| Some(tested.filter(|_| shown)?.0);
    tested.into_iter().zip(shown).map(side).collect()
}

/// Nearer side of the band, and the p value of a ratio within it.
fn beyond(epochs: &[Vec<f64>], margin: f64) -> Option<(Beyond, f64)> {
    let center = Rounds::of_epochs(epochs)?.test.center();
    let side = if center < 0.0 { Beyond::Faster } else { Beyond::Slower };
    // It still counts in the family.
    if center.abs() <= margin {
        return Some((side, 1.0));
    }
    let end = margin.copysign(center);
    let shifted: Vec<Vec<f64>> =
        epochs.iter().map(|rounds| rounds.iter().map(|log| log - end).collect()).collect();
    Some((side, Rounds::of_epochs(&shifted)?.test.p()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn evidence(center: f64, adjusted_half: f64, equivalence_half: f64) -> Evidence {
        let around = |half| Interval { low: center - half, high: center + half };
        Evidence {
            rounds: 100,
            center,
            adjusted: around(adjusted_half),
            equivalence: around(equivalence_half),
            margin: 0.03,
        }
    }

    #[test]
    fn each_verdict_has_its_case() {
        let yes = true;
        assert_eq!(evidence(0.02, 0.005, 0.004).verdict(), Verdict::Slower { negligible: yes });
        assert_eq!(evidence(-0.02, 0.005, 0.004).verdict(), Verdict::Faster { negligible: yes });
        assert_eq!(evidence(-0.2, 0.005, 0.004).verdict(), Verdict::Faster { negligible: !yes });
        assert_eq!(evidence(0.001, 0.04, 0.02).verdict(), Verdict::Equivalent);
        assert!(matches!(evidence(0.001, 0.4, 0.2).verdict(), Verdict::Inconclusive { .. }));
    }

    #[test]
    fn too_few_rounds_for_the_adjusted_level_decide_nothing() {
        let judged = |log_ratios: &[f64], level, band| {
            judge(&Rounds::of_epochs(&[log_ratios.to_vec()])?, level, Judging { band, looks: 1 })
        };
        let judgement = judged(&[0.5, 0.51, 0.52, 0.53, 0.54, 0.55], 0.999, 0.03).unwrap();
        assert_eq!((judgement.adjusted.low, judgement.adjusted.high), (0.0, f64::INFINITY));
        assert!(matches!(judgement.verdict, Verdict::Inconclusive { .. }));
        assert_eq!(judged(&[0.5; 6], 1.0, 0.03), None);
        assert_eq!(judged(&[0.5; 6], 0.95, 0.0), None);
        assert_eq!(judged(&[0.5; 5], 0.95, 0.03), None);
    }

    /// Log ratios, with or without the ties and zeros of a coarse clock.
    fn log_ratios() -> impl Strategy<Value = Vec<f64>> {
        let coarse = (-4i32..8).prop_map(|step| f64::from(step) * 0.01);
        prop_oneof![prop::collection::vec(coarse, 8..60), prop::collection::vec(-0.05f64..0.12, 8..60)]
    }

    proptest! {
        #[test]
        fn test_and_interval_agree_without_ties(samples in prop::collection::vec(-0.05f64..0.1, 6..70), confidence in 0.5f64..0.9995) {
            let test = RankTest::signed(&samples).unwrap();
            let excludes = test.interval(confidence).map(|interval| !interval.contains(0.0));
            prop_assert_eq!(excludes.unwrap_or(false), test.p() <= 1.0 - confidence);
        }

        #[test]
        fn a_family_is_judged_by_holms_method(family in prop::collection::vec(log_ratios(), 1..8)) {
            let p: Vec<f64> = family.iter().map(|x| RankTest::signed(x).unwrap().p()).collect();
            let epochs: Vec<Vec<Vec<f64>>> = family.iter().map(|rounds| vec![rounds.clone()]).collect();
            let judged = judge_family_of_epochs(&epochs, Judging { band: 0.03, looks: 1 });
            for (adjusted, judged) in holm(&p).into_iter().zip(judged) {
                let judged = judged.unwrap();
                let different = matches!(judged.verdict, Verdict::Faster { .. } | Verdict::Slower { .. });
                prop_assert_eq!(different, !judged.adjusted.contains(1.0));
                prop_assert_eq!(different, adjusted <= 0.05);
            }
        }
    }

    fn rounds(center: f64) -> Vec<Vec<f64>> {
        vec![(0..20).map(|round| center + f64::from(round % 7 - 3) * 0.002).collect()]
    }

    #[test]
    fn a_difference_within_the_band_is_never_beyond_it() {
        let judging = Judging { band: 0.03, looks: 1 };
        assert_eq!(beyond_band(&[rounds(0.028), rounds(-0.028), rounds(0.0)], judging), [None; 3]);
        assert_eq!(beyond_band(&[rounds(0.04)], judging), [Some(Beyond::Slower)]);
        assert_eq!(beyond_band(&[vec![], vec![vec![f64::NAN; 9]]], judging), [None; 2]);
    }

    #[test]
    fn every_contrast_of_the_screen_counts() {
        let judging = Judging { band: 0.03, looks: 1 };
        // Ten rounds reach a p value of 2 / 1024: enough for 25 contrasts, not for 26.
        let ten: Vec<Vec<f64>> = vec![(0..10).map(|round| 0.2 + f64::from(round) * 0.001).collect()];
        let screen = |others: usize| -> Vec<Vec<Vec<f64>>> {
            std::iter::once(ten.clone()).chain((0..others).map(|_| rounds(0.0))).collect()
        };
        assert_eq!(beyond_band(&screen(24), judging)[0], Some(Beyond::Slower));
        assert_eq!(beyond_band(&screen(25), judging)[0], None);
    }
}
