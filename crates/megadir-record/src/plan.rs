//! Plan of a run: every arm with every parameter resolved.
//!
//! Nothing here has a default, so no type implements `Default`.

pub mod axes;
mod work;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::claims::Claims;
use crate::data::{ContentKind, Data, When};
use crate::ids::{ArmId, DataId, FsId};
use crate::machine::{LabFileSystem, Unavailable};

pub use axes::Axes;
pub use work::{CacheState, ExpectedFiles, Keys, LookupCall, Predicted, Presence, Stage, Work};

/// Complete experiment, with nothing left to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Name of the study, e.g. `listing`.
    pub study: String,
    /// Question that the study answers, one sentence.
    pub question: String,
    /// Published source that the study reproduces.
    pub source: String,
    /// Properties of the source that the study reproduces, one sentence each.
    #[serde(rename = "keeps")]
    pub reproduces: Vec<String>,
    /// Flaws of the source that the study fixes, one sentence each.
    #[serde(rename = "mends")]
    pub fixes: Vec<String>,
    /// Claims of the source, for reports to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    /// Requested size of the run.
    pub preset: Preset,
    /// Seed of every random choice: names, orders, keys.
    pub seed: u64,
    /// Rounds, orders, stopping and voiding.
    pub rules: Rules,
    /// File systems that are created and mounted for the run, or the user's volumes that are compared;
    /// `file_systems[i].id.0 == i`. Empty if the run uses the given directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<LabFileSystem>,
    /// Requested file systems that are unavailable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
    /// Data sets of the arms.
    pub data: Vec<Data>,
    /// Groups of arms with their rules of evaluation.
    pub groups: Vec<Group>,
    /// Arms; `arms[i].id.0 == i`.
    #[serde(rename = "cells")]
    pub arms: Vec<Arm>,
    /// Published figures, for reports to print beside the results.
    pub published: Vec<Published>,
}

/// Size of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Under 30 seconds, as a smoke test.
    Quick,
    /// Default size of the study.
    Default,
    /// Sizes of the published source.
    Published,
}

impl Plan {
    /// Returns the file system of a data set; `None` for the given directory.
    #[must_use]
    pub fn file_system_of(&self, data: DataId) -> Option<&LabFileSystem> {
        self.file_system(self.data[data.0 as usize].on?)
    }

    /// `true` if the run compares directories of the user.
    #[must_use]
    pub fn compares_directories(&self) -> bool {
        self.file_systems.iter().any(|of| of.place.is_directory())
    }

    #[must_use]
    pub fn file_system(&self, id: FsId) -> Option<&LabFileSystem> {
        self.file_systems.get(id.0 as usize)
    }

    /// Returns all contrasts of the groups, without duplicates: arms with their baseline, pairs, stat arms with
    /// the listing arm, and the parts of a filling with the first.
    ///
    /// A run with a target width measures until these are narrow enough, and reports list those that are not.
    #[must_use]
    pub fn contrasts(&self) -> BTreeSet<(ArmId, ArmId)> {
        self.groups.iter().flat_map(|group| self.contrasts_of(group)).collect()
    }

    fn contrasts_of(&self, group: &Group) -> Vec<(ArmId, ArmId)> {
        match &group.rule {
            GroupRule::Compare { baseline } => {
                let member = |planned: &&Arm| planned.id != *baseline && planned.groups.contains(&group.name);
                self.arms.iter().filter(member).map(|planned| (planned.id, *baseline)).collect()
            }
            GroupRule::Pairs { pairs } => pairs.iter().map(|pair| (pair.arm, pair.to)).collect(),
            GroupRule::BreakEven { series } => {
                series.iter().flat_map(|one| one.asks.iter().map(|ask| (*ask, one.list))).collect()
            }
            GroupRule::Fill { arms } => match arms.split_first() {
                Some((first, others)) => others.iter().map(|arm| (*arm, *first)).collect(),
                None => Vec::new(),
            },
            GroupRule::Decompose { .. } | GroupRule::Grow { .. } | GroupRule::Refusal { .. } => Vec::new(),
        }
    }

    /// Returns the arms that cannot continue after a full directory or a failed program in a block of `arm`: those that depend on
    /// its result and, if the data was created before the run, all others on this data, because it was changed.
    pub fn stopped_by(&self, planned: ArmId) -> impl Iterator<Item = ArmId> {
        // A program that failed leaves the data of others as they were, or they are made again.
        let refused =
            self.arms.get(planned.0 as usize).filter(|planned| !matches!(planned.work, Work::Command(_)));
        let by_arms = refused.is_some_and(|refused| {
            let data = self.data.get(refused.data.0 as usize);
            data.and_then(|data| data.source.made()).is_some_and(|made| made.when == When::ByArms)
        });
        let stopped = move |other: &&Arm| {
            refused.is_some_and(|refused| {
                let later = !by_arms || other.step > refused.step;
                other.id != planned && other.data == refused.data && later
            })
        };
        self.arms.iter().filter(stopped).map(|planned| planned.id)
    }
}

/// An arm: work on a data set, in a given state of the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arm {
    /// Index of the arm.
    pub id: ArmId,
    /// Short unique name for tables, e.g. `getdents 128 KiB`.
    pub name: String,
    /// Names of the groups ([`Plan::groups`]) of the arm.
    pub groups: Vec<String>,
    /// Role in its groups.
    pub role: Role,
    pub data: DataId,
    pub work: Work,
    /// State of the cache before each block.
    pub cache: CacheState,
    /// Fixed number of operations of a block: each cache drop gives one sample, since a repetition would find a
    /// warm cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Target rate of operations a second (open loop): each has a planned start, from which its time counts;
    /// `None` for back-to-back operations (closed loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u64>,
    /// Arms with the same number form a chain: each works on the result of the previous one; see
    /// [`Order::Chains`].
    #[serde(default)]
    pub chain: u32,
    /// Position of the arm among dependent arms; see [`Order`].
    #[serde(default)]
    pub step: u32,
    /// Axes on which the arm differs from others; the name is composed from them. Empty if names alone are stored.
    #[serde(default, skip_serializing_if = "Axes::is_empty")]
    pub axes: Axes,
}

/// Role of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reference of its groups.
    Baseline,
    /// The baseline against itself: its interval is the resolution of the run.
    AgainstItself,
    /// Any other arm.
    Arm,
}

/// Figure from the published source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// Measured quantity.
    pub what: String,
    pub value: f64,
    pub unit: String,
    /// Group that measures the same quantity, if any.
    pub group: Option<String>,
    /// Corresponding part of the group: the name of an arm or a pair's phrase, or a part of it (the last match
    /// counts), or `slow` or `fast` of a decomposition. Not needed if the group has one figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// Reason why no group measures the same, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlike: Option<String>,
    /// Entries of the directory for this figure; results are compared only at the same number. `None` if
    /// irrelevant, or in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Contents of the files for this figure; results are compared only with the same contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentKind>,
}

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
        baseline: ArmId,
    },
    /// Difference between two programs, split into factors.
    ///
    /// `slow` and `fast` list the cumulative arms of each program, from the first stage to the whole program.
    /// The cost of a factor is the sum of its steps in `slow` minus its steps in `fast`.
    Decompose {
        /// Name of the slow program, e.g. `ls -l, rebuilt`.
        slow_name: String,
        /// Cumulative arms of the slow program with the factor that each step adds.
        slow: Vec<(String, ArmId)>,
        fast_name: String,
        /// Cumulative arms of the fast program with the factor that each step adds.
        fast: Vec<(String, ArmId)>,
    },
    /// Contrasts between two arms each, judged as one family.
    Pairs { pairs: Vec<Pair> },
    /// Number of entries created before the directory was full, compared with the prediction.
    Refusal {
        /// Arm that fills directories.
        arm: ArmId,
    },
    /// Cost to create a file in a growing directory.
    Fill {
        /// Arms that create consecutive ranges of files in one directory, from empty on.
        arms: Vec<ArmId>,
    },
    /// Growth of time with entries: arms with the same work on data sets of different sizes.
    Grow {
        /// Series of arms in ascending number of entries.
        series: Vec<(String, Vec<ArmId>)>,
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
    pub list: ArmId,
    /// Arms that stat entries by name ([`Work::Ask`]), in ascending number of entries.
    pub asks: Vec<ArmId>,
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
    pub arm: ArmId,
    /// Reference arm.
    pub to: ArmId,
}

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
    /// By [`Arm::step`](crate::Arm::step): all arms of a step, in seeded order, before the next step.
    Phases,
    /// By [`Arm::chain`](crate::Arm::chain): chains in seeded order, and the arms of each in the order of their steps.
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
