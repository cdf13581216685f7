//! Plan of a run: every arm with every parameter resolved.
//!
//! Nothing here has a default, so no type implements `Default`.

pub mod axes;
mod rules;
mod work;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::claims::Claims;
use crate::data::{ContentKind, Data, When};
use crate::file_systems::{LabFileSystem, Unavailable};
use crate::group::{Group, GroupRule};
use crate::ids::{CellId, DataId, FsId};

pub use axes::Axes;
pub use rules::{Order, Rules, Stop};
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
    pub keeps: Vec<String>,
    /// Flaws of the source that the study fixes, one sentence each.
    pub mends: Vec<String>,
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
    /// Arms; `cells[i].id.0 == i`.
    pub cells: Vec<Cell>,
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

    /// Returns the arms that cannot continue after a full directory or a failed program in a block of `cell`: those that depend on
    /// its result and, if the data was created before the run, all others on this data, because it was changed.
    pub fn stopped_by(&self, cell: CellId) -> impl Iterator<Item = CellId> {
        // A program that failed leaves the data of others as they were, or they are made again.
        let refused = self.cells.get(cell.0 as usize).filter(|cell| !matches!(cell.work, Work::Command(_)));
        let by_arms = refused.is_some_and(|refused| {
            let data = self.data.get(refused.data.0 as usize);
            data.and_then(|data| data.source.made()).is_some_and(|made| made.when == When::ByArms)
        });
        let stopped = move |other: &&Cell| {
            refused.is_some_and(|refused| {
                let later = !by_arms || other.step > refused.step;
                other.id != cell && other.data == refused.data && later
            })
        };
        self.cells.iter().filter(stopped).map(|cell| cell.id)
    }
}

/// An arm: work on a data set, in a given state of the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Index of the arm.
    pub id: CellId,
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
