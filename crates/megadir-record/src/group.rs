//! Groups of arms, and the rules by which they are read.

use serde::{Deserialize, Serialize};

use crate::ids::CellId;

/// A group of arms that are read together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The group's name, e.g. `buffer`.
    pub name: String,
    /// What the group asks, for the heading of its table.
    pub title: String,
    /// Whether what comes out of it is an answer to the study's question, and not to one beside that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers: bool,
    /// How the group is read.
    pub rule: GroupRule,
}

/// How a group is read; reports apply the rule to whatever the numbers are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum GroupRule {
    /// Each arm against the baseline: ratio, Holm-adjusted interval, verdict.
    Compare {
        /// The arm that the others are compared with.
        baseline: CellId,
    },
    /// The difference between two programs, taken apart into factors.
    ///
    /// `slow` and `fast` list the cumulative arms of each program, from the first stage to the whole
    /// program; a factor's cost is the sum of its steps in `slow` less its steps in `fast`.
    Decompose {
        /// What the slow program is, e.g. `ls -l, rebuilt`.
        slow_name: String,
        /// The slow program's cumulative arms with the factor that each step adds.
        slow: Vec<(String, CellId)>,
        /// What the fast program is.
        fast_name: String,
        /// The fast program's cumulative arms with the factor that each step adds.
        fast: Vec<(String, CellId)>,
    },
    /// Contrasts between two arms each, judged as one family.
    Pairs {
        /// The contrasts.
        pairs: Vec<Pair>,
    },
    /// How many entries were made when the first was refused, against what was predicted.
    Refusal {
        /// The arm that fills directories.
        arm: CellId,
    },
    /// What it costs to create a file in a directory that holds more and more of them.
    Fill {
        /// Arms that create ranges of files in one directory, from the empty one on.
        arms: Vec<CellId>,
    },
    /// The growth of time with entries: arms of the same work on data sets of different sizes.
    Grow {
        /// The series; each lists its arms in ascending number of entries.
        series: Vec<(String, Vec<CellId>)>,
    },
    /// From which share of a directory's entries on does listing it cost less than asking for them one by one?
    BreakEven {
        /// The series, each of one directory and one way of listing it.
        series: Vec<BreakEvenArms>,
    },
}

/// A way of listing a directory with attributes, and arms that ask for ever more of its entries instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakEvenArms {
    /// How it is listed, e.g. `getdents-statx`.
    pub name: String,
    /// The arm that lists it.
    pub list: CellId,
    /// The arms that ask ([`Work::Ask`](crate::Work::Ask)), in ascending number of entries asked for.
    pub asks: Vec<CellId>,
}

/// A contrast between two arms: what the time of one is to that of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// What `arm` is, in a sentence, e.g. `absent names`.
    pub what: String,
    /// What `to` is, e.g. `present ones`.
    pub than: String,
    /// Under which circumstances, e.g. `random keys, 20 001 entries`.
    pub at: String,
    /// The arm.
    pub arm: CellId,
    /// The arm that it is compared with.
    pub to: CellId,
}
