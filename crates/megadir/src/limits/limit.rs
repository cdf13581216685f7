//! What can run out, and how far away that is.

use std::fmt;

use super::basis::{Basis, Span};
use super::facts::QuotaOf;

/// What a further entry is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The index of the directory cannot be divided any further (ext4).
    DirectoryIndex,
    /// The directory itself may not grow any further.
    DirectorySize,
    /// The file system has no more numbers for entries or files.
    Numbers,
    /// The mount option that bounds the size of directories (ext4's `max_dir_size_kb`).
    MountOption,
    /// The directory has as many directories in it as it can count.
    LinkCount,
    /// Inodes of the file system.
    Inodes,
    /// Blocks of the file system.
    Blocks,
    /// A quota.
    Quota(QuotaOf),
    /// Names that have one hash do not fit into one item (btrfs).
    NameCollision,
    /// Nothing that can be seen from here.
    Unknown,
}

impl Limit {
    /// Returns its name in machine-readable output.
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

/// The noun for it, as in "inodes run out first".
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
            Self::Hidden => f.write_str("somebody"),
        }
    }
}

/// How far away one limit is.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// What runs out.
    pub limit: Limit,
    /// Entries that can still be made until the first is refused for it.
    pub more: Span,
    /// How much of it is used, from 0 to 1.
    pub used: f64,
    /// How that is known.
    pub basis: Basis,
}

/// The size of a directory's index, where that tells how full it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// The directory's size now, bytes.
    pub bytes: u64,
    /// The size at which the first entry is refused, bytes.
    pub full_bytes: u64,
    /// How the latter is known.
    pub basis: Basis,
}

impl Gauge {
    /// Returns how much is used: 1 is full, and more is possible.
    pub fn used(&self) -> f64 {
        self.bytes as f64 / self.full_bytes.max(1) as f64
    }
}
