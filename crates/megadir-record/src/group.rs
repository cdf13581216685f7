//! Groups of arms and the rules to evaluate them.

use serde::{Deserialize, Serialize};

use crate::ids::CellId;

/// Name of the group that contrasts file systems.
pub const FILE_SYSTEM_GROUP: &str = "file-system";
/// Name of the group that contrasts aged directories with fresh ones.
pub const AGED_GROUP: &str = "aged";

/// Arms that are evaluated together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// Name of the group, e.g. `buffer`.
    pub name: String,
    /// The study's name of the group, if this is its part on one of several file systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Question of the group, the heading of its table.
    pub title: String,
    /// `true` if the result answers the study's main question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers: bool,
    /// Rule of evaluation.
    pub rule: GroupRule,
}

impl Group {
    #[must_use]
    pub fn new(name: impl Into<String>, title: impl Into<String>, answers: bool, rule: GroupRule) -> Self {
        Self { name: name.into(), of: None, title: title.into(), answers, rule }
    }
}

/// Rule to evaluate a group, whatever its numbers are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum GroupRule {
    /// Each arm against the baseline: ratio, Holm-adjusted interval, verdict.
    Compare {
        /// Reference of the comparisons.
        baseline: CellId,
    },
    /// Difference between two programs, split into factors.
    ///
    /// `slow` and `fast` list the cumulative arms of each program, from the first stage to the whole program.
    /// The cost of a factor is the sum of its steps in `slow` minus its steps in `fast`.
    Decompose {
        /// Name of the slow program, e.g. `ls -l, rebuilt`.
        slow_name: String,
        /// Cumulative arms of the slow program with the factor that each step adds.
        slow: Vec<(String, CellId)>,
        /// Name of the fast program.
        fast_name: String,
        /// Cumulative arms of the fast program with the factor that each step adds.
        fast: Vec<(String, CellId)>,
    },
    /// Contrasts between two arms each, judged as one family.
    Pairs { pairs: Vec<Pair> },
    /// Number of entries created before the directory was full, compared with the prediction.
    Refusal {
        /// Arm that fills directories.
        arm: CellId,
    },
    /// Cost to create a file in a growing directory.
    Fill {
        /// Arms that create consecutive ranges of files in one directory, from empty on.
        arms: Vec<CellId>,
    },
    /// Growth of time with entries: arms with the same work on data sets of different sizes.
    Grow {
        /// Series of arms in ascending number of entries.
        series: Vec<(String, Vec<CellId>)>,
    },
    /// Share of a directory's entries from which on listing is faster than a stat of each.
    BreakEven {
        /// Series, each for one directory and one way to list it.
        series: Vec<BreakEvenArms>,
    },
}

/// One way to list a directory with attributes, and arms that stat more and more of its entries instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakEvenArms {
    /// Listing method, e.g. `getdents-statx`.
    pub name: String,
    /// Arm that lists the directory.
    pub list: CellId,
    /// Arms that stat entries by name ([`Work::Ask`](crate::Work::Ask)), in ascending number of entries.
    pub asks: Vec<CellId>,
}

/// Contrast between two arms: the ratio of their times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Phrase for `arm` in a sentence, e.g. `absent names`.
    pub what: String,
    /// Phrase for `to`, e.g. `present ones`.
    pub than: String,
    /// Conditions without the file system, e.g. `random keys, 20 001 entries`.
    pub at: String,
    /// `true` if the times are wall times per file, which several workers share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wall_time: bool,
    pub arm: CellId,
    /// Reference arm.
    pub to: CellId,
}
