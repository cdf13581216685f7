//! Verdicts on ratios of paired times.
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

use crate::descriptive::logs;
use crate::hierarchical::EpochCenters;
use crate::paired::{Differences, WalshAverages};
use crate::runs::RunMeans;
use crate::sequential::holm_confidences;
use crate::{Estimate, Interval};

/// The ratios from 1/1.03 to 1.03.
pub const DEFAULT_BAND: f64 = 0.03;

/// One false difference in twenty families.
pub(crate) const FAMILY_ALPHA: f64 = 0.05;

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

/// Judges one contrast by its log ratios ln(new / old), one a round.
///
/// `holm_confidence` is the level of the adjusted interval: 0.95 for a single contrast, otherwise from
/// [`crate::holm_confidences`]. `band` is a fraction: 0.03 makes the band 1/1.03 to 1.03, so that swapping
/// new and old swaps the verdict. Faster and slower take precedence over equivalent. `None` for fewer than
/// six rounds, if a sample is not finite, the level is outside 0 to 1, or the band is not positive.
/// Reference: Schuirmann (1987).
pub fn verdict(log_ratios: &[f64], holm_confidence: f64, band: f64) -> Option<Judgement> {
    let rounds = Rounds::Walsh(WalshAverages::new(log_ratios)?);
    judge(&rounds, holm_confidence, Judging { band, looks: 1 })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judging {
    /// Equivalence band, a fraction: 0.03 makes it 1/1.03 to 1.03.
    pub band: f64,
    /// Looks at which the run might have stopped, 1 if the rounds were fixed; every error is divided by it.
    pub looks: u32,
}

/// Judges a family of contrasts, each given by its log ratios, one a round; keeps their order.
///
/// Computes the signed-rank p values, Holm's step-down at a family-wise error of 5 %, and the verdicts. A
/// contrast that cannot be judged (see [`verdict`]) is `None` and does not count in the family. With ties or
/// zeros, the p value is the larger one that inverts the interval.
pub fn judge_family(contrasts: &[Vec<f64>], band: f64) -> Vec<Option<Judgement>> {
    let family = contrasts.iter().map(|log_ratios| WalshAverages::new(log_ratios).map(Rounds::Walsh));
    judge_rounds(&family.collect::<Vec<_>>(), Judging { band, looks: 1 })
}

/// Judges a family of contrasts, each given by the log ratios of its epochs' rounds; keeps their order.
///
/// As [`judge_family`], but a contrast of five epochs or more, at least one of them with several rounds, is
/// judged by [`crate::hierarchical_bootstrap`]. The rounds of fewer epochs are judged as one epoch. Errors
/// are divided by the looks of [`Judging`].
pub fn judge_family_of_epochs(contrasts: &[Vec<Vec<f64>>], judging: Judging) -> Vec<Option<Judgement>> {
    judge_rounds(&contrasts.iter().map(|epochs| Rounds::of_epochs(epochs)).collect::<Vec<_>>(), judging)
}

/// Judges a family of contrasts between two runs, each given by its new and its old times; keeps their order.
/// As [`judge_family`], with the estimate and test of [`crate::unpaired_ratio`]. `rounds_to_decide` counts
/// the shorter series and assumes that the longer one grows in proportion.
pub fn judge_unpaired_family(contrasts: &[(Vec<f64>, Vec<f64>)], judging: Judging) -> Vec<Option<Judgement>> {
    let differences = |(new, old): &(Vec<f64>, Vec<f64>)| {
        Some(Rounds::Unpaired(Differences::new(&logs(new, 1)?, &logs(old, 1)?)?))
    };
    judge_rounds(&contrasts.iter().map(differences).collect::<Vec<_>>(), judging)
}

/// Judges a family of contrasts between several runs a side, each given by its new and its old times, one a
/// run. As [`judge_family`], with the interval and test of [`crate::ratio_over_runs`]. `rounds_to_decide` is
/// the number of runs a side.
pub fn judge_family_of_runs(contrasts: &[(Vec<f64>, Vec<f64>)], judging: Judging) -> Vec<Option<Judgement>> {
    let means = |(new, old): &(Vec<f64>, Vec<f64>)| RunMeans::of_times(new, old).map(Rounds::Runs);
    judge_rounds(&contrasts.iter().map(means).collect::<Vec<_>>(), judging)
}

/// Judges contrasts, each by its own method, as one family.
pub(crate) fn judge_rounds(family: &[Option<Rounds>], judging: Judging) -> Vec<Option<Judgement>> {
    let confidence = 1.0 - FAMILY_ALPHA / f64::from(judging.looks.max(1));
    let testable = |rounds: &&Rounds| rounds.interval(confidence).is_some();
    let family: Vec<Option<&Rounds>> = family.iter().map(|rounds| rounds.as_ref().filter(testable)).collect();
    let p_values: Vec<f64> = family.iter().map(|rounds| rounds.map_or(f64::NAN, Rounds::p)).collect();
    let levels = holm_confidences(&p_values, FAMILY_ALPHA / f64::from(judging.looks.max(1)));
    family.iter().zip(levels).map(|(rounds, level)| judge((*rounds)?, level, judging)).collect()
}

pub(crate) enum Rounds {
    Walsh(WalshAverages),
    Epochs(EpochCenters),
    Unpaired(Differences),
    Runs(RunMeans),
}

impl Rounds {
    pub(crate) fn of_epochs(epochs: &[Vec<f64>]) -> Option<Self> {
        /// Fixed, so that every report draws the same resamples.
        const SEED: u64 = 0x6d65_6761_6469_7220;
        match EpochCenters::new(epochs, SEED) {
            Some(centers) => Some(Self::Epochs(centers)),
            None => WalshAverages::new(&epochs.concat()).map(Self::Walsh),
        }
    }

    pub(crate) fn center(&self) -> f64 {
        match self {
            Self::Walsh(walsh) => walsh.median(),
            Self::Epochs(centers) => centers.mean(),
            Self::Unpaired(differences) => differences.median(),
            Self::Runs(means) => means.difference(),
        }
    }

    fn interval(&self, confidence: f64) -> Option<Interval> {
        match self {
            Self::Walsh(walsh) => walsh.interval(confidence),
            Self::Epochs(centers) => centers.interval(confidence),
            Self::Unpaired(differences) => differences.interval(confidence),
            Self::Runs(means) => means.interval(confidence),
        }
    }

    pub(crate) fn p(&self) -> f64 {
        match self {
            Self::Walsh(walsh) => walsh.p(),
            Self::Epochs(centers) => centers.p(),
            Self::Unpaired(differences) => differences.p(),
            Self::Runs(means) => means.p(),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Walsh(walsh) => walsh.sample_count(),
            Self::Epochs(centers) => centers.rounds(),
            Self::Unpaired(differences) => differences.count(),
            Self::Runs(means) => means.runs(),
        }
    }

    fn method(&self) -> Method {
        match self {
            Self::Walsh(_) => Method::SignedRank,
            Self::Epochs(centers) => Method::HierarchicalBootstrap { epochs: centers.epochs() },
            Self::Unpaired(_) => Method::RankSum,
            Self::Runs(means) => Method::Welch { runs: means.runs() },
        }
    }
}

fn judge(rounds: &Rounds, holm_confidence: f64, judging: Judging) -> Option<Judgement> {
    const UNBOUNDED: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
    let Judging { band, looks } = judging;
    let in_bounds = holm_confidence > 0.0 && holm_confidence < 1.0 && band > 0.0 && band.is_finite();
    if !in_bounds || looks == 0 {
        return None;
    }
    let at = |alpha: f64| rounds.interval(1.0 - alpha / f64::from(looks));
    let center = rounds.center();
    let ratio = Estimate { value: center, interval: at(FAMILY_ALPHA)? };
    let evidence = Evidence {
        rounds: rounds.count(),
        center,
        adjusted: rounds.interval(holm_confidence).unwrap_or(UNBOUNDED),
        equivalence: at(EQUIVALENCE_ALPHA)?,
        margin: band.ln_1p(),
    };
    Some(Judgement {
        ratio: ratio.exp(),
        adjusted: evidence.adjusted.exp(),
        verdict: evidence.verdict(),
        method: rounds.method(),
    })
}

/// On the log scale, where "no difference" is 0.
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

#[cfg(test)]
mod tests {
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
        let judgement = verdict(&[0.5, 0.51, 0.52, 0.53, 0.54, 0.55], 0.999, 0.03).unwrap();
        assert_eq!((judgement.adjusted.low, judgement.adjusted.high), (0.0, f64::INFINITY));
        assert!(matches!(judgement.verdict, Verdict::Inconclusive { .. }));
        assert_eq!(verdict(&[0.5; 6], 1.0, 0.03), None);
        assert_eq!(verdict(&[0.5; 6], 0.95, 0.0), None);
        assert_eq!(verdict(&[0.5; 5], 0.95, 0.03), None);
    }
}
