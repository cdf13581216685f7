//! The plan: every arm with every parameter resolved, and the rules that the run follows.
//!
//! Nothing below `plan()` has a default, so no type here implements `Default`.

use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::file_systems::{FsId, LabFileSystem, Unavailable};
use crate::files::{FileOperation, FileWork, RemoveWork};
use crate::group::Group;
use crate::stop::Stop;

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
    /// without what the kernel remembers of others, such as inodes that were removed lately.
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

/// The index of an arm in [`Plan::cells`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CellId(pub u32);

/// The index of a data set in [`Plan::data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct DataId(pub u32);

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

/// What one block of an arm does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Work {
    /// Reads the whole directory once, with the stages asked for.
    List {
        /// The backend that reads, e.g. `getdents`.
        backend: String,
        /// The size of the buffer given to one call, bytes.
        buffer_bytes: u64,
        /// Threads that read.
        threads: u32,
        /// Shares of a `split` reader; 1 for the others.
        shares: u32,
        /// What is done with the entries, in this order; always begins with [`Stage::Read`].
        stages: Vec<Stage>,
    },
    /// Asks whether a name exists in the directory, one call an operation, which follows no symbolic link.
    Lookup {
        /// Whether the names that are asked for exist.
        presence: Presence,
        /// How the names of a block are drawn.
        keys: Keys,
        /// By which call.
        #[serde(default, skip_serializing_if = "LookupCall::is_fstatat")]
        call: LookupCall,
    },
    /// Makes files in a directory of its own until one is refused, which must be for the directory's index; one directory
    /// an operation, removed after it.
    FillUntilRefused {
        /// About how many entries the size that was asked for is meant for.
        entries_about: u64,
        /// What was predicted before the first block; `None` in a plan not yet carried out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predicted: Option<Predicted>,
    },
    /// Does one thing to each of a range of files; one file an operation.
    Files(FileWork),
    /// Removes everything in the directory at once; one file an operation.
    Remove(RemoveWork),
    /// Finds out name, size and time of the last modification of every regular file in the directory, once an operation; other
    /// entries are passed over.
    Attributes {
        /// The method, e.g. `getdents-statx`.
        method: String,
        /// The buffer given to one call that lists, bytes; `None` where the library picks it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer_bytes: Option<u64>,
        /// Threads that examine entries, or that the method may use at most.
        threads: u32,
        /// Whether names and times of all files are kept in memory; else each file is looked at once.
        keeps: bool,
        /// What every operation must find, as another method found it before the first block; `None` in a plan not yet
        /// carried out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<ExpectedFiles>,
    },
    /// Opens the directory and asks for type, size and time of the last modification of some of its entries by name, one after
    /// the other, once an operation; on Windows by the whole path of each.
    Ask {
        /// How many entries; which ones is drawn for every operation, each at most once.
        files: u64,
    },
}

/// What a method that finds out attributes must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedFiles {
    /// Regular files.
    pub files: u64,
    /// Order-independent hash of their names and times and, where the method tells them, sizes.
    pub hash: u64,
}

/// How many entries a directory was said to take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Predicted {
    /// Entries when the first is refused.
    pub entries: u64,
    /// Hardly fewer than this.
    pub low: u64,
    /// Hardly more than this.
    pub high: u64,
    /// How that is known, and of which names and blocks.
    pub basis: String,
}

impl Work {
    /// Returns the entries and the hash that [`Counted`](crate::Counted) must hold after this work on a data set with
    /// so many entries whose names have this hash; `None` where that is what the work is to find out.
    #[must_use]
    pub fn expected(&self, entries: u64, hash: u64) -> Option<(u64, u64)> {
        match self {
            Self::List { .. } => Some((entries, hash)),
            // A look-up finds its name or does not; see `Counted`.
            Self::Lookup { presence, .. } => Some((u64::from(*presence == Presence::Present), 0)),
            Self::FillUntilRefused { .. } => None,
            // All files, each as large as it should be.
            Self::Files(work) => Some((work.files(), 0)),
            Self::Remove(work) => Some((work.files, 0)),
            Self::Attributes { expected, .. } => expected.map(|expected| (expected.files, expected.hash)),
            Self::Ask { files } => Some((*files, 0)),
        }
    }

    /// Returns how many operations every block has, where the work itself says so.
    #[must_use]
    pub fn operations(&self) -> Option<u64> {
        match self {
            Self::List { .. } | Self::Lookup { .. } | Self::FillUntilRefused { .. } => None,
            Self::Attributes { .. } | Self::Ask { .. } => None,
            Self::Files(work) => Some(work.files().max(1)),
            Self::Remove(work) => Some(work.files.max(1)),
        }
    }

    /// Returns whether the work reads what files contain, so that it can tell whether that is cached.
    #[must_use]
    pub fn reads_contents(&self) -> bool {
        match self {
            Self::Files(work) => work.operation == FileOperation::Read,
            Self::List { .. }
            | Self::Lookup { .. }
            | Self::FillUntilRefused { .. }
            | Self::Remove(_)
            | Self::Attributes { .. }
            | Self::Ask { .. } => false,
        }
    }

    /// Returns whether the work leaves everything as it was, so that it can be done again in another state of the cache.
    #[must_use]
    pub fn leaves_all(&self) -> bool {
        match self {
            Self::Files(work) => matches!(work.operation, FileOperation::Read | FileOperation::Stat),
            Self::List { .. } | Self::Lookup { .. } | Self::Attributes { .. } | Self::Ask { .. } => true,
            Self::FillUntilRefused { .. } | Self::Remove(_) => false,
        }
    }

    /// Returns by how many files a block changes its data set; `None` of work that makes and removes none.
    #[must_use]
    pub fn change(&self) -> Option<i64> {
        if let Self::Remove(work) = self {
            return i64::try_from(work.files).ok().map(|files| -files);
        }
        let Self::Files(work) = self else { return None };
        let files = i64::try_from(work.files()).ok()?;
        match work.operation {
            FileOperation::Create => Some(files),
            FileOperation::Unlink => Some(-files),
            FileOperation::Rewrite => Some(0),
            FileOperation::MakeDirectories | FileOperation::Read | FileOperation::Stat => None,
        }
    }

    /// Returns whether the gaps between the work's single operations are counted by themselves, so that whether they and the
    /// operations make up the wall time of a block is a check.
    #[must_use]
    pub fn gaps_are_counted(&self) -> bool {
        match self {
            Self::Lookup { .. } => true,
            // Its gaps are what is left of the wall time, and several may work at the same time.
            Self::Files(_)
            | Self::Remove(_)
            | Self::List { .. }
            | Self::FillUntilRefused { .. }
            | Self::Attributes { .. }
            | Self::Ask { .. } => false,
        }
    }

    /// Returns whether the work lists its data set, so that its time is one of entries too.
    #[must_use]
    pub fn lists(&self) -> bool {
        matches!(self, Self::List { .. } | Self::Attributes { .. })
    }

    /// Returns whether what the work counts are the names of its data set, all of them.
    #[must_use]
    pub fn counts_names(&self) -> bool {
        matches!(self, Self::List { .. })
    }
}

/// Whether the names that are asked for exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// All of them do.
    Present,
    /// None of them does.
    Absent,
}

/// How the names of a block are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// One and the same name.
    Fixed,
    /// Any name of the directory, each as likely.
    Random,
    /// The k-th most popular name with probability proportional to 1 / k; popularity has nothing to do with the order of
    /// creation.
    Zipf,
}

/// The call of a look-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LookupCall {
    /// `fstatat(2)` with a name relative to the directory: Linux.
    #[default]
    Fstatat,
    /// `GetFileAttributesExW` with the whole path, as .NET's `File.Exists` asks: Windows.
    AttributesByPath,
    /// `NtQueryFullAttributesFile` with a name relative to the directory: Windows.
    AttributesByHandle,
}

impl LookupCall {
    /// Returns the name of the system's function.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fstatat => "fstatat",
            Self::AttributesByPath => "GetFileAttributesExW",
            Self::AttributesByHandle => "NtQueryFullAttributesFile",
        }
    }

    fn is_fstatat(&self) -> bool {
        *self == Self::Fstatat
    }
}

/// One stage of a listing program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Read the entries and look at each name once, in the reader's buffer.
    Read,
    /// Keep every name in memory, as a program that sorts must.
    Keep,
    /// Sort the names that are kept in byte order.
    Sort,
    /// Ask statx for what `ls -l` asks, a call an entry; on Windows GetFileAttributesExW, by the whole path.
    Attributes,
    /// Ask for the extended attributes that `ls -l` asks for, a call or two an entry; not on Windows.
    ExtendedAttributes,
    /// Format mode, links, owner, group, size, date and name.
    FormatLong,
    /// Format inode, type, record length, offset and name.
    FormatRaw,
    /// Write the text to a pipe that another thread empties.
    Write,
}

/// The state of the cache before a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Read before, so that names and inodes are cached, and contents where they are read.
    Warm,
    /// Nobody has listed or asked for the files since they were made: they are made anew before each block.
    Unseen,
    /// Names and inodes cached; what files contain is not (fdatasync and POSIX_FADV_DONTNEED on each).
    DataCold,
    /// Neither names nor inodes nor contents cached, after sync and drop_caches (privileged, the whole machine).
    VfsCold,
    /// Nothing of the file system is cached: it was unmounted and mounted again (only what is made for the run is).
    FsCold,
}

impl CacheState {
    /// All of them, from warm to cold.
    pub const ALL: [Self; 5] = [Self::Warm, Self::Unseen, Self::DataCold, Self::VfsCold, Self::FsCold];

    /// Returns whether something is dropped, or made anew, before each block, so that what is done twice is warm the second time.
    #[must_use]
    pub fn is_cold(self) -> bool {
        self != Self::Warm
    }

    /// Returns whether something is dropped from the cache before each block: in a virtual machine from that of the guest.
    #[must_use]
    pub fn drops(self) -> bool {
        matches!(self, Self::DataCold | Self::VfsCold | Self::FsCold)
    }

    /// Returns whether names and inodes are dropped before each block, so that it must read from the device.
    #[must_use]
    pub fn drops_names(self) -> bool {
        matches!(self, Self::VfsCold | Self::FsCold)
    }

    /// Returns its name, as arguments, study files and records have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Unseen => "unseen",
            Self::DataCold => "data-cold",
            Self::VfsCold => "vfs-cold",
            Self::FsCold => "fs-cold",
        }
    }
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
}
