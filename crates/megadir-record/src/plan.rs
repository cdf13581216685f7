//! The plan: every arm with every parameter resolved, and the rules that the run follows.
//!
//! Nothing below `plan()` has a default, so no type here implements `Default`.

mod cache;
mod work;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::data::{ContentKind, Data};
use crate::file_systems::{FsId, LabFileSystem, Unavailable};
use crate::group::{Group, GroupRule};
pub use crate::ids::{CellId, DataId};
use crate::stop::Stop;

pub use cache::CacheState;
pub use work::{ExpectedFiles, Keys, LookupCall, Predicted, Presence, Stage, Work};

/// A whole experiment with nothing left to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The study's name, e.g. `listing`.
    pub study: String,
    /// The question that the study answers, one sentence.
    pub question: String,
    /// The published source that the study reproduces.
    pub source: String,
    /// What the study keeps of its source, one sentence each.
    pub keeps: Vec<String>,
    /// What the study mends of its source, one sentence each.
    pub mends: Vec<String>,
    /// The size the run was asked for.
    pub preset: Preset,
    /// The seed of every random choice: names, orders, keys.
    pub seed: u64,
    /// Rounds, orders, stopping and voiding.
    pub rules: Rules,
    /// The file systems that are made and mounted for the run; `file_systems[i].id.0 == i`. None where the run works in the
    /// directory that was named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<LabFileSystem>,
    /// The file systems that were asked for and cannot be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
    /// The data sets that the arms work on.
    pub data: Vec<Data>,
    /// The groups of arms, each with the rule that reads it.
    pub groups: Vec<Group>,
    /// The arms; `cells[i].id.0 == i`.
    pub cells: Vec<Cell>,
    /// The source's figures, for reports to print beside ours.
    pub published: Vec<Published>,
}

/// The size a study was asked to run at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Under 30 seconds, to see that it works.
    Quick,
    /// The study's own size.
    Default,
    /// The sizes of the published source.
    Published,
}

/// The rules that a run follows, fixed before it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rules {
    /// Measured rounds, at most; every arm runs once in each.
    pub rounds: u32,
    /// Whether fewer may do.
    #[serde(default = "Stop::fixed", skip_serializing_if = "Stop::is_fixed")]
    pub stop: Stop,
    /// How often the data sets are made anew, with seeds of their own; the rounds are split over the epochs, each with its own
    /// warm-up.
    #[serde(default = "crate::epoch::one", skip_serializing_if = "crate::epoch::is_one")]
    pub epochs: u32,
    /// Rounds of warm-up before the first measured one, at least.
    pub warm_up_rounds_min: u32,
    /// Warm-up ends here even when the series still has a trend, nanoseconds.
    pub warm_up_ns_max: u64,
    /// The order of the arms within the rounds.
    pub order: Order,
    /// Whether the file system of a chain, made for the run, is unmounted and mounted again before the chain's first arm: each begins
    /// without what is in memory of others. Where the disk holds it too, see
    /// [`LabFileSystem::made_anew`](crate::LabFileSystem::made_anew).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_mounts: bool,
    /// The width of the equivalence band, as a fraction (0.03 is 3 %).
    pub equivalence_band: f64,
    /// The confidence of intervals, as a fraction.
    pub confidence: f64,
    /// A round is voided and redone when more than this fraction of its time was stolen by the hypervisor.
    pub stolen_fraction_max: f64,
    /// Voided rounds are redone up to this many times the number of rounds, as a fraction.
    pub redone_fraction_max: f64,
}

/// How arms are ordered within rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Rows of balanced Latin squares, in seeded random order.
    BalancedLatinSquare,
    /// An independent seeded permutation for each round.
    SeededPermutation,
    /// By [`Cell::step`]: all arms of a step before any of the next, each step's in a seeded order of its own.
    Phases,
    /// By [`Cell::chain`]: chains in a seeded order of their own, the arms of each in the order of their steps.
    Chains,
}

impl Plan {
    /// Returns the file system that a data set lies on; `None` in the directory that was named.
    #[must_use]
    pub fn file_system_of(&self, data: DataId) -> Option<&LabFileSystem> {
        self.file_system(self.data[data.0 as usize].on?)
    }

    /// Returns a file system of the plan.
    #[must_use]
    pub fn file_system(&self, id: FsId) -> Option<&LabFileSystem> {
        self.file_systems.get(id.0 as usize)
    }
}

impl Order {
    /// Returns whether later arms of a round work on what earlier ones left, so that a round is whole or nothing.
    #[must_use]
    pub fn depends(self) -> bool {
        matches!(self, Self::Phases | Self::Chains)
    }
}

/// One arm: what is done, to which data, in which state of the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The arm's index.
    pub id: CellId,
    /// A short unique name for tables, e.g. `getdents 128 KiB`.
    pub name: String,
    /// The names of the groups ([`Plan::groups`]) that the arm belongs to.
    pub groups: Vec<String>,
    /// What the arm is for.
    pub role: Role,
    /// The data set that it works on.
    pub data: DataId,
    /// What it does.
    pub work: Work,
    /// The cache's state before each block.
    pub cache: CacheState,
    /// Operations of every block, where the plan fixes them: each drop of a cache is one sample, and what is asked for
    /// twice after it is warm the second time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Operations that are to start a second, each at a moment planned beforehand, from which its time is counted (open loop);
    /// `None` where the next starts when the one before has ended (closed loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u64>,
    /// Arms with the same number work one after the other on what the one before left; see [`Order::Chains`].
    #[serde(default)]
    pub chain: u32,
    /// The arm's place among those that work on what others left; see [`Order`].
    #[serde(default)]
    pub step: u32,
}

/// What an arm is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The arm that the others of its groups are compared with.
    Baseline,
    /// The baseline against itself: its interval is the run's resolution.
    AgainstItself,
    /// An arm like any other.
    Arm,
}

/// A figure of the published source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// What was measured.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The group of ours that measures the same, if any.
    pub group: Option<String>,
    /// What of that group does: the name of an arm or of what a pair contrasts, or a part of it (then the last that has it), `slow` or `fast` of
    /// a decomposition. None is needed where the group has one figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
    /// Why nothing of ours measures the same, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlike: Option<String>,
    /// Entries of the directory that it was measured on: ours stands beside it only with as many. `None` if it does not depend on them or is of an
    /// older record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Contents of the files that it was measured on, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentKind>,
}

impl Plan {
    /// Returns what the groups compare with what, each contrast once: every arm of a group with a baseline against it, every
    /// pair, every arm that asks against the one that lists, and every part of a filling against the first.
    ///
    /// A run that stops at a width measures until these are narrow enough, and reports tell of those that are not.
    #[must_use]
    pub fn contrasts(&self) -> BTreeSet<(CellId, CellId)> {
        self.groups.iter().flat_map(|group| self.contrasts_of(group)).collect()
    }

    fn contrasts_of(&self, group: &Group) -> Vec<(CellId, CellId)> {
        match &group.rule {
            GroupRule::Compare { baseline } => {
                let member = |cell: &&Cell| cell.id != *baseline && cell.groups.contains(&group.name);
                self.cells.iter().filter(member).map(|cell| (cell.id, *baseline)).collect()
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
}
