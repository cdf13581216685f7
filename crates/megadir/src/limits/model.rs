//! Interface of the models of file systems, and the limits that they find.

use std::fmt;

use super::basis::{Basis, Fact, Span};
use super::cure::Trap;
use super::facts::{Facts, QuotaOf};
use crate::file_system::FileSystem;

/// Model of the directories of one file system, a function of [`Facts`].
pub struct Model {
    /// The file system.
    pub file_system: FileSystem,
    /// Source of the model, in a sentence.
    pub about: &'static str,
    pub(super) judge: fn(&Facts, bool) -> Judgement,
}

impl Model {
    /// Judges the directory itself, without blocks, inodes and quotas. With `churn`, names come and go.
    pub fn judge(&self, facts: &Facts, churn: bool) -> Judgement {
        (self.judge)(facts, churn)
    }
}

/// A model's judgement of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Limits of the directory itself.
    pub ceilings: Vec<Ceiling>,
    /// Number of entries at the first refusal if entries are only added.
    pub capacity: Option<Fact<Span>>,
    /// Number of entries to plan for.
    pub plan: Option<Plan>,
    /// Size of the index, if it shows how full the index is.
    pub gauge: Option<Gauge>,
    /// Space of an entry without its contents, bytes.
    pub entry_bytes: f64,
    /// Number of subdirectories that the link count lets be created; `None` if it does not limit them.
    pub subdirectories: Option<Fact<Span>>,
    /// Traps that apply here.
    pub traps: Vec<Trap>,
}

/// Number of entries to plan for, short of the first refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// If entries are added and stay.
    pub growing: u64,
    /// If names come and go.
    pub churning: u64,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({})", self.file_system)
    }
}

/// A resource whose exhaustion refuses an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The directory's index cannot be split any further (ext4).
    DirectoryIndex,
    /// The directory itself may not grow any further.
    DirectorySize,
    /// The file system has no entry or file numbers left.
    Numbers,
    /// The mount option that limits the size of directories (ext4's `max_dir_size_kb`).
    MountOption,
    /// The directory has the maximum number of subdirectories.
    LinkCount,
    /// Inodes of the file system.
    Inodes,
    /// Blocks of the file system.
    Blocks,
    /// A quota.
    Quota(QuotaOf),
    /// Names with the same hash do not fit in one item (btrfs).
    NameCollision,
    /// The mount is read-only.
    ReadOnly,
    /// No limit is visible to this process.
    Unknown,
}

impl Limit {
    /// Name in machine-readable output.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::DirectoryIndex => ("directory-index", "directory index"),
            Self::DirectorySize => ("directory-size", "directory size"),
            Self::Numbers => ("numbers", "numbers for entries"),
            Self::MountOption => ("mount-option", "max_dir_size_kb"),
            Self::LinkCount => ("link-count", "link count"),
            Self::Inodes => ("inodes", "inodes"),
            Self::Blocks => ("blocks", "blocks"),
            Self::Quota(_) => ("quota", "quota"),
            Self::NameCollision => ("name-collision", "names of one hash"),
            Self::ReadOnly => ("read-only", "a read-only mount"),
            Self::Unknown => ("unknown", "something unknown"),
        }
    }
}

/// The plural noun, as in "inodes run out first".
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quota(of) => write!(f, "quota of {of}"),
            other => f.write_str(other.words().1),
        }
    }
}

impl fmt::Display for QuotaOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(number) => write!(f, "user {number}"),
            Self::Group(number) => write!(f, "group {number}"),
            Self::Project(number) => write!(f, "project {number}"),
            Self::Subvolume(number) => write!(f, "subvolume {number}"),
            Self::Hidden => f.write_str("an unknown owner"),
        }
    }
}

/// Distance to a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The limit.
    pub limit: Limit,
    /// Number of entries that can be created before this limit refuses one.
    pub more: Span,
    /// Used share, 0 to 1.
    pub used: f64,
    /// Evidence.
    pub basis: Basis,
}

/// Size of a directory's index, if it shows how full the index is.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// Current size of the directory, bytes.
    pub bytes: u64,
    /// Size at which an entry is refused, bytes.
    pub full_bytes: u64,
    /// Evidence for `full_bytes`.
    pub basis: Basis,
}

impl Gauge {
    /// Used share: 1 is full, and more is possible.
    pub fn used(&self) -> f64 {
        self.bytes as f64 / self.full_bytes.max(1) as f64
    }
}
