//! Plan of a run: every arm with every parameter.

pub mod axes;
mod work;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::claims::Claims;
use crate::data::{ContentKind, Data, DataId, is_default};
use crate::machine::{FsId, LabFileSystem, Unavailable};

pub use axes::Axes;
pub use work::{CacheState, ExpectedFiles, Keys, LookupCall, Predicted, Presence, Stage, Work};

/// The plan is made once, is written before the first block, and is never changed afterwards, so that neither
/// the engine nor the report needs a default: nothing outside the plan influences the run. Arms,
/// groups, data sets and file systems refer to each other by index or name:
///
/// ```text
/// groups --name--> arms --id--> data --id--> file_systems
///    `-- rule: pairs, series, baseline: --id--> arms
/// ```
///
/// Some names in the file are older than the names of the fields, because records stay readable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// For example `listing`.
    pub study: String,
    /// One sentence.
    pub question: String,
    pub source: String,
    /// Reproduced properties of the source, one sentence each.
    #[serde(rename = "keeps")]
    pub reproduces: Vec<String>,
    /// Fixed flaws of the source, one sentence each.
    #[serde(rename = "mends")]
    pub fixes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Claims>,
    pub preset: Preset,
    /// Seed of names, orders and keys.
    pub seed: u64,
    pub rules: Rules,
    /// Created and mounted for the run, or the user's volumes that are compared; empty if the run uses the
    /// given directory. `file_systems[i].id.0 == i`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<LabFileSystem>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
    pub data: Vec<Data>,
    pub groups: Vec<Group>,
    /// `arms[i].id.0 == i`.
    #[serde(rename = "cells")]
    pub arms: Vec<Arm>,
    pub published: Vec<Published>,
}

crate::named! {
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Preset {
        /// Under 30 seconds, a smoke test.
        Quick = "quick",
        Default = "default",
        Published = "published",
    }
}

impl Plan {
    /// `None` for the given directory.
    pub fn file_system_of(&self, data: DataId) -> Option<&LabFileSystem> {
        self.file_system(self.data_set(data)?.on?)
    }

    pub fn compares_directories(&self) -> bool {
        self.file_systems.iter().any(|of| of.place.is_directory())
    }

    pub fn file_system(&self, id: FsId) -> Option<&LabFileSystem> {
        self.file_systems.get(id.0 as usize)
    }

    pub fn data_set(&self, id: DataId) -> Option<&Data> {
        self.data.iter().find(|data| data.id == id)
    }

    pub fn arm(&self, id: ArmId) -> Option<&Arm> {
        self.arms.get(id.0 as usize)
    }

    /// All contrasts of the groups. A run with a target width measures until these are narrow enough.
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
                series.iter().flat_map(|arms| arms.stat_some.iter().map(|arm| (*arm, arms.list))).collect()
            }
            GroupRule::Fill { arms } => match arms.split_first() {
                Some((first, others)) => others.iter().map(|arm| (*arm, *first)).collect(),
                None => Vec::new(),
            },
            GroupRule::Decompose { .. } | GroupRule::Grow { .. } | GroupRule::Refusal { .. } => Vec::new(),
        }
    }

    /// Arms that cannot continue after a full directory or a failed program in a block of `arm`: all that
    /// depend on its result and, if the data was created before the run, all others on this data.
    pub fn stopped_by(&self, planned: ArmId) -> impl Iterator<Item = ArmId> {
        // A program that failed leaves the data of others as they were, or they are made again.
        let refused = self.arm(planned).filter(|planned| !matches!(planned.work, Work::Command(_)));
        refused.into_iter().flat_map(move |refused| {
            let by_arms = self.data_set(refused.data).is_some_and(Data::is_made_by_arms);
            let later = move |other: &&Arm| !by_arms || other.step > refused.step;
            let others =
                self.arms.iter().filter(move |other| other.id != planned && other.data == refused.data);
            others.filter(later).map(|other| other.id)
        })
    }
}

/// Index of an arm in [`Plan::arms`](crate::Plan::arms).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ArmId(pub u32);

/// Work on a data set, in a given state of the cache.
// The unit of measurement: each arm runs one time in each round, and such a block is one sample. `chain` and
// `step` order arms that depend on each other; they are 0 where nothing depends on anything. The name is for
// people, and identifies the arm across runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arm {
    /// Index in the list of arms.
    pub id: ArmId,
    /// Short and unique, e.g. `getdents 128 KiB`.
    pub name: String,
    /// Names in [`Plan::groups`].
    pub groups: Vec<String>,
    /// Part that it plays in comparisons.
    pub role: Role,
    /// Data set that it works on.
    pub data: DataId,
    /// Work of a block.
    pub work: Work,
    /// Before each block.
    pub cache: CacheState,
    /// Fixed number of operations of a block: a repetition would find a warm cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Target rate of operations a second (open loop): each has a planned start, from which its time counts.
    /// `None` for back-to-back operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u64>,
    /// Arms with the same number form a chain: each works on the result of the previous one; see
    /// [`Order::Chains`].
    #[serde(default)]
    pub chain: u32,
    /// Position among dependent arms; see [`Order`].
    #[serde(default)]
    pub step: u32,
    /// The name is composed from these. Empty in records with names only.
    #[serde(default, skip_serializing_if = "Axes::is_empty")]
    pub axes: Axes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Baseline,
    /// The baseline against itself: its interval is the resolution of the run.
    #[serde(rename = "against-itself")]
    Control,
    Arm,
}

// A figure that a source has published, shown next to the run's own. It is compared only with the group named
// here, and only if entries and contents agree, because a figure of another size of directory would look like
// a contradiction. A figure that no group measures is listed with the reason, so that none is left out
// silently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// Measured quantity.
    #[serde(rename = "what")]
    pub quantity: String,
    /// Figure of the source, in `unit`.
    pub value: f64,
    /// Unit of `value`, e.g. `us` or `ratio`.
    pub unit: String,
    /// Group that measures the same quantity.
    pub group: Option<String>,
    /// Part of the group: the name of an arm or a pair's phrase, or a part of it (the last match counts), or
    /// `slow` or `fast` of a decomposition. Not needed if the group has one figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// Reason why no group measures the same, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlike: Option<String>,
    /// Entries of the directory; results are compared only at the same number. `None` if irrelevant, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Results are compared only with the same contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentKind>,
}

pub const FILE_SYSTEM_GROUP: &str = "file-system";
/// Group that contrasts aged directories with fresh ones.
pub const AGED_GROUP: &str = "aged";

/// A question to arms, as data: the report applies the rule and knows no study. Arms name their groups, and
/// rules name arms where the order or the part that an arm plays matters. All contrasts of a group are judged
/// as one family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// For example `buffer`.
    pub name: String,
    /// The study's name of the group, if this is its part on one of several file systems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    pub title: String,
    /// `true` if the result answers the study's question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answers: bool,
    pub rule: GroupRule,
}

impl Group {
    pub fn new(name: impl Into<String>, title: impl Into<String>, answers: bool, rule: GroupRule) -> Self {
        Self { name: name.into(), of: None, title: title.into(), answers, rule }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "rule")]
pub enum GroupRule {
    /// Each arm against the baseline: ratio, Holm-adjusted interval, verdict.
    Compare { baseline: ArmId },
    /// Difference between two programs: the cost of a factor is its steps in `slow` minus those in `fast`.
    Decompose {
        /// For example `ls -l, rebuilt`.
        slow_name: String,
        /// Cumulative arms, from the first stage to the whole program, with the factor that each adds.
        slow: Vec<(String, ArmId)>,
        fast_name: String,
        fast: Vec<(String, ArmId)>,
    },
    /// Judged as one family.
    Pairs { pairs: Vec<Pair> },
    /// Number of entries before the directory was full, compared with the prediction.
    Refusal { arm: ArmId },
    /// Cost to create a file in a growing directory.
    Fill {
        /// Arms that create consecutive ranges of files in one directory, from empty on.
        arms: Vec<ArmId>,
    },
    /// Growth of time with entries.
    Grow {
        /// Arms with the same work in ascending number of entries.
        series: Vec<(String, Vec<ArmId>)>,
    },
    /// Share of entries from which on listing is faster than stat of each.
    BreakEven {
        /// One for each directory and way to list it.
        series: Vec<BreakEvenArms>,
    },
}

impl GroupRule {
    /// Arms that it names.
    pub fn arms(&self) -> Vec<ArmId> {
        match self {
            Self::Compare { baseline } => vec![*baseline],
            Self::Decompose { slow, fast, .. } => slow.iter().chain(fast).map(|(_, arm)| *arm).collect(),
            Self::Pairs { pairs } => pairs.iter().flat_map(|pair| [pair.arm, pair.to]).collect(),
            Self::Refusal { arm } => vec![*arm],
            Self::Fill { arms } => arms.clone(),
            Self::Grow { series } => series.iter().flat_map(|(_, arms)| arms).copied().collect(),
            Self::BreakEven { series } => series
                .iter()
                .flat_map(|break_even| break_even.stat_some.iter().chain([&break_even.list]))
                .copied()
                .collect(),
        }
    }
}

/// A way to list a directory with attributes, and arms that stat more and more of its entries instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakEvenArms {
    /// For example `getdents-statx`.
    pub name: String,
    pub list: ArmId,
    /// Arms with [`Work::StatSome`], in ascending number of entries.
    #[serde(rename = "asks")]
    pub stat_some: Vec<ArmId>,
}

/// Ratio of the times of two arms.
// The phrases are parts of sentences that the report composes, about `subject` compared with `than`, under
// the conditions `at`; the text holds no figure. Pairs of one group are judged together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Phrase for `arm`, e.g. `absent names`.
    #[serde(rename = "what")]
    pub subject: String,
    /// Phrase for `to`, e.g. `present ones`.
    pub than: String,
    /// Conditions without the file system, e.g. `random keys, 20 001 entries`.
    pub at: String,
    /// `true` for wall times per file, which several workers share.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wall_time: bool,
    /// Arm that is compared.
    pub arm: ArmId,
    /// Reference arm.
    pub to: ArmId,
}

impl Pair {
    /// Compares times per operation, not wall times.
    pub fn new(
        subject: impl Into<String>,
        than: impl Into<String>,
        at: impl Into<String>,
        (arm, to): (ArmId, ArmId),
    ) -> Self {
        Self { subject: subject.into(), than: than.into(), at: at.into(), wall_time: false, arm, to }
    }
}

/// Fixed before the run starts.
// Fixed in advance, so that no rule can be chosen by its result: when to stop, what to repeat, and which
// width counts as equivalent. Fractions, not per cent. Older records lack the later fields, whose defaults
// are the former behaviour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Maximum number of measured rounds; every arm runs one time in each.
    pub rounds: u32,
    /// Condition that ends the measurement.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop: Stop,
    /// Each epoch recreates the data sets with its own seed and has its own warm-up; the rounds are split over the epochs.
    #[serde(default = "one_epoch", skip_serializing_if = "is_one")]
    pub epochs: u32,
    /// Minimum number of warm-up rounds.
    pub warm_up_rounds_min: u32,
    /// Maximum duration of the warm-up, even if a trend remains, nanoseconds.
    pub warm_up_ns_max: u64,
    /// Order of the arms in a round.
    pub order: Order,
    /// `true` to remount a created file system before the first arm of a chain, so that nothing of other
    /// chains stays in memory. See also [`LabFileSystem::made_anew`](crate::LabFileSystem::reformatted).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_mounts: bool,
    /// Half-width as a fraction (0.03 is 3 %).
    pub equivalence_band: f64,
    /// As a fraction.
    pub confidence: f64,
    /// Share of stolen time above which a round is repeated, as a fraction.
    pub stolen_fraction_max: f64,
    /// Maximum of repeated rounds, as a fraction of the number of rounds.
    pub redone_fraction_max: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// In seeded random order.
    BalancedLatinSquare,
    SeededPermutation,
    /// By [`Arm::step`](crate::Arm::step), in seeded order within a step.
    Phases,
    /// By [`Arm::chain`](crate::Arm::chain) in seeded order, and by step within a chain.
    Chains,
}

impl Order {
    pub fn depends(self) -> bool {
        matches!(self, Self::Phases | Self::Chains)
    }
}

/// Stopping rule, fixed before the run starts.
///
/// A run with a target width looks at its intervals after `rounds_min` rounds, then each time after 1.5 times
/// as many, and finally after [`Rules::rounds`]. Intervals and verdicts are corrected for these looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "at")]
pub enum Stop {
    #[default]
    Rounds,
    /// When every ratio compared by the groups has an interval this narrow.
    Ratio {
        /// As a fraction (0.01 is 1 %).
        half_width: f64,
        /// Before the first look.
        rounds_min: u32,
    },
    /// When every difference of times compared by the groups has an interval this narrow.
    Difference {
        /// Nanoseconds an operation.
        half_width_ns: f64,
        /// Before the first look.
        rounds_min: u32,
    },
}

impl Stop {
    /// Target, a fraction or nanoseconds; `None` for a fixed number of rounds.
    pub fn half_width(&self) -> Option<f64> {
        match *self {
            Self::Rounds => None,
            Self::Ratio { half_width, .. } => Some(half_width),
            Self::Difference { half_width_ns, .. } => Some(half_width_ns),
        }
    }

    /// `None` for a fixed number of rounds.
    pub fn rounds_min(&self) -> Option<u32> {
        match self {
            Self::Rounds => None,
            Self::Ratio { rounds_min, .. } | Self::Difference { rounds_min, .. } => Some(*rounds_min),
        }
    }
}

fn one_epoch() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_one(epochs: &u32) -> bool {
    *epochs == 1
}
