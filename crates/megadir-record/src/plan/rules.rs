//! Rules of a run: rounds, epochs, order, stopping and voiding.

use serde::{Deserialize, Serialize};

/// Rules of a run, fixed before it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Maximum number of measured rounds; every arm runs one time in each.
    pub rounds: u32,
    /// Stopping rule.
    #[serde(default = "Stop::fixed", skip_serializing_if = "Stop::is_fixed")]
    pub stop: Stop,
    /// Number of epochs. Each recreates the data sets with its own seed and has its own warm-up; the rounds are
    /// split over the epochs.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub epochs: u32,
    /// Minimum number of warm-up rounds.
    pub warm_up_rounds_min: u32,
    /// Maximum duration of the warm-up, even if the series still has a trend, nanoseconds.
    pub warm_up_ns_max: u64,
    /// Order of the arms within rounds.
    pub order: Order,
    /// `true` to remount the file system of a chain, if created for the run, before the chain's first arm, so
    /// that nothing of other chains stays in memory. For traces on disk see
    /// [`LabFileSystem::made_anew`](crate::LabFileSystem::made_anew).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_mounts: bool,
    /// Width of the equivalence band, as a fraction (0.03 is 3 %).
    pub equivalence_band: f64,
    /// Confidence of intervals, as a fraction.
    pub confidence: f64,
    /// Largest share of stolen time in a round, as a fraction; above it the round is voided and repeated.
    pub stolen_fraction_max: f64,
    /// Maximum number of repeated rounds, as a fraction of the number of rounds.
    pub redone_fraction_max: f64,
}

/// Order of arms within rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Rows of balanced Latin squares, in seeded random order.
    BalancedLatinSquare,
    /// Independent seeded permutation for each round.
    SeededPermutation,
    /// By [`Cell::step`](crate::Cell::step): all arms of a step, in seeded order, before the next step.
    Phases,
    /// By [`Cell::chain`](crate::Cell::chain): chains in seeded order, and the arms of each in the order of their steps.
    Chains,
}

impl Order {
    /// `true` if later arms of a round depend on earlier ones, so that a round is all or nothing.
    #[must_use]
    pub fn depends(self) -> bool {
        matches!(self, Self::Phases | Self::Chains)
    }
}

/// Stopping rule, fixed before the run starts.
///
/// A run with a target width evaluates its intervals after `rounds_min` rounds, then each time after 1.5 times
/// as many, and finally after [`Rules::rounds`]. Intervals and verdicts are corrected for
/// all these looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "at")]
pub enum Stop {
    /// After [`Rules::rounds`], whatever the results.
    Rounds,
    /// When every ratio compared by the plan's groups has an interval this narrow.
    Ratio {
        /// Half-width of the interval of a ratio, as a fraction (0.01 is 1 %).
        half_width: f64,
        /// Rounds before the first look.
        rounds_min: u32,
    },
    /// When every difference of times compared by the plan's groups has an interval this narrow.
    Difference {
        /// Half-width of the interval of a difference, nanoseconds an operation.
        half_width_ns: f64,
        /// Rounds before the first look.
        rounds_min: u32,
    },
}

impl Stop {
    /// Returns the rounds before the first look; `None` for a fixed number of rounds.
    #[must_use]
    pub fn rounds_min(&self) -> Option<u32> {
        match self {
            Self::Rounds => None,
            Self::Ratio { rounds_min, .. } | Self::Difference { rounds_min, .. } => Some(*rounds_min),
        }
    }

    /// Default of older records.
    fn fixed() -> Self {
        Self::Rounds
    }

    fn is_fixed(&self) -> bool {
        *self == Self::Rounds
    }
}

/// Number of epochs in older records.
fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_one(epochs: &u32) -> bool {
    *epochs == 1
}
