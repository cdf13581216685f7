//! Limits and the distance to them.

use std::fmt;

use super::basis::{Basis, Span};
use super::facts::QuotaOf;

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
    /// No limit is visible to this process.
    Unknown,
}

impl Limit {
    /// Name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Self::DirectoryIndex => "directory-index",
            Self::DirectorySize => "directory-size",
            Self::Numbers => "numbers",
            Self::MountOption => "mount-option",
            Self::LinkCount => "link-count",
            Self::Inodes => "inodes",
            Self::Blocks => "blocks",
            Self::Quota(_) => "quota",
            Self::NameCollision => "name-collision",
            Self::Unknown => "unknown",
        }
    }
}

/// The plural noun, as in "inodes run out first".
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DirectoryIndex => f.write_str("directory index"),
            Self::DirectorySize => f.write_str("directory size"),
            Self::Numbers => f.write_str("numbers for entries"),
            Self::MountOption => f.write_str("max_dir_size_kb"),
            Self::LinkCount => f.write_str("link count"),
            Self::Inodes => f.write_str("inodes"),
            Self::Blocks => f.write_str("blocks"),
            Self::Quota(of) => write!(f, "quota of {of}"),
            Self::NameCollision => f.write_str("names of one hash"),
            Self::Unknown => f.write_str("something unknown"),
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
