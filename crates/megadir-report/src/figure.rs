//! Numbers with their intervals. Every interval is computed by `megadir-stats`.
//!
//! The module gives an estimate and its interval one type, and few rounds one rule: the value stands alone,
//! without an interval. A figure without an interval supports no verdict.

use megadir_stats::Interval;
use serde::{Deserialize, Serialize};

/// A number with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Estimate, in the unit of the figure's name.
    pub value: f64,
    /// In the same unit; `None` with too few rounds.
    pub interval: Option<Interval>,
}

impl Figure {
    /// Median with the order-statistic interval. With too few samples the median stands alone; `None` only
    /// without samples.
    pub(crate) fn median_of(samples: &[f64], confidence: f64) -> Option<Self> {
        let with_interval = megadir_stats::median_interval(samples, confidence).map(Self::from);
        let alone = || Some(Self { value: megadir_stats::median(samples)?, interval: None });
        with_interval.or_else(alone)
    }

    /// `new / old`: Hodges-Lehmann on log ratios with Wilcoxon's interval; no interval if the rounds are too few.
    pub(crate) fn ratio_of(new: &[f64], old: &[f64], confidence: f64) -> Option<Self> {
        let with_interval = megadir_stats::paired_ratio(new, old, confidence).map(Self::from);
        let alone = || {
            let logs = megadir_stats::log_ratios(new, old)?;
            Some(Self { value: megadir_stats::median(&logs)?.exp(), interval: None })
        };
        with_interval.or_else(alone)
    }

    /// Value and ends, for the extent of a chart's axis. A figure without an interval has one number.
    pub(crate) fn ends(&self) -> impl Iterator<Item = f64> + use<> {
        let ends = self.interval.map(|range| [range.low, range.high]);
        [self.value].into_iter().chain(ends.into_iter().flatten())
    }

    /// `factor` must be positive.
    pub fn scaled(&self, factor: f64) -> Self {
        let interval = self.interval.map(|r| Interval { low: r.low * factor, high: r.high * factor });
        Self { value: self.value * factor, interval }
    }
}

// Ends of an interval may be infinite where a test has too few rounds: such an interval becomes none,
// because JSON has no infinity and a chart no place for it.
impl From<megadir_stats::Estimate> for Figure {
    fn from(estimate: megadir_stats::Estimate) -> Self {
        Self { value: estimate.value, interval: estimate.interval.bounded() }
    }
}

/// Share of entries from which on listing is faster than stat by name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Threshold {
    /// Listing is faster even at the smallest measured share.
    Always,
    At {
        /// 0 to 1.
        share: f64,
    },
    /// Stat by name is faster even at the largest measured share.
    Never,
}

impl From<megadir_stats::Crossing> for Threshold {
    fn from(crossing: megadir_stats::Crossing) -> Self {
        match crossing {
            megadir_stats::Crossing::Before => Self::Always,
            megadir_stats::Crossing::At(share) => Self::At { share },
            megadir_stats::Crossing::Beyond => Self::Never,
        }
    }
}

/// Smallest number of rounds whose order-statistic interval reaches this confidence: 6 at 95 %.
///
/// Found by trying, not by a formula of its own, so that texts always agree with the statistic. The search
/// is bounded because a confidence close to 1 has no such number in practice.
pub fn rounds_for_interval(confidence: f64) -> usize {
    const ROUNDS_MAX: u32 = 64;
    let samples: Vec<f64> = (0..ROUNDS_MAX).map(f64::from).collect();
    let suffices = |n: &usize| megadir_stats::median_interval(&samples[..*n], confidence).is_some();
    (1..samples.len()).find(suffices).unwrap_or(samples.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_takes_six_rounds_at_95_percent() {
        assert_eq!(rounds_for_interval(0.95), 6);
        assert_eq!(rounds_for_interval(0.99), 8);
        let times = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(Figure::median_of(&times, 0.95), Some(Figure { value: 3.0, interval: None }));
        assert_eq!(Figure::ratio_of(&times, &times, 0.95).unwrap().value, 1.0);
        assert_eq!(Figure::median_of(&[], 0.95), None);
    }
}
