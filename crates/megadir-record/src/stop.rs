//! The stopping rule: when a run has measured enough.

use serde::{Deserialize, Serialize};

/// When a run has measured enough; fixed before it starts.
///
/// A run that stops at a width looks at its intervals after `rounds_min` rounds, then after 1.5 times as many each time, and
/// at last after [`Rules::rounds`](crate::Rules::rounds). Intervals and verdicts of such a run are corrected for all these looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "at")]
pub enum Stop {
    /// After [`Rules::rounds`](crate::Rules::rounds), whatever they show.
    Rounds,
    /// Once every ratio that the plan's groups compare has an interval this narrow.
    Ratio {
        /// Half the width of the interval of a ratio, as a fraction (0.01 is 1 %).
        half_width: f64,
        /// Rounds before the first look.
        rounds_min: u32,
    },
    /// Once every difference of times that the plan's groups compare has an interval this narrow.
    Difference {
        /// Half the width of the interval of a difference, nanoseconds an operation.
        half_width_ns: f64,
        /// Rounds before the first look.
        rounds_min: u32,
    },
}

impl Stop {
    /// Returns the rounds before the first look; `None` where the rounds are fixed.
    #[must_use]
    pub fn rounds_min(&self) -> Option<u32> {
        match self {
            Self::Rounds => None,
            Self::Ratio { rounds_min, .. } | Self::Difference { rounds_min, .. } => Some(*rounds_min),
        }
    }

    /// Returns the rule of records that were written before there was another.
    pub(crate) fn fixed() -> Self {
        Self::Rounds
    }

    pub(crate) fn is_fixed(&self) -> bool {
        *self == Self::Rounds
    }
}
