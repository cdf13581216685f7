//! Data sets: names and contents computed from a seed and an index, and directories filled with them.
//!
//! Nothing is held in memory: the n-th name is computed when it is needed, so a data set of any size
//! costs a few hundred bytes, and a run can be repeated from its seed.

#[cfg(target_os = "linux")]
mod fill;
mod names;
#[cfg(not(target_os = "linux"))]
mod unavailable;

use std::path::PathBuf;

use megadir_record::NameScheme;

#[cfg(target_os = "linux")]
pub use fill::fill;
#[cfg(target_os = "linux")]
pub(crate) use fill::fill_at;
pub use names::{Content, NAME_BYTES_MAX, Names};
#[cfg(not(target_os = "linux"))]
pub use unavailable::fill;

/// The files that a directory is to be filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillSpec {
    /// How many.
    pub entries: u64,
    /// How their names are computed.
    pub names: NameScheme,
    /// The size of each, bytes.
    pub size_bytes: u64,
    /// The seed of names and contents.
    pub seed: u64,
}

/// How far the filling has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// Names gone through.
    pub done: u64,
    /// Names in all.
    pub of: u64,
}

/// What filling a directory did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Files made.
    pub made: u64,
    /// Files that were there already, whole.
    pub already: u64,
    /// Files that were there and cut short, and were completed.
    pub completed: u64,
    /// Names taken by something else, which was left alone.
    pub taken: u64,
    /// The first few of the names that are taken.
    pub taken_names: Vec<Vec<u8>>,
    /// Whether the filling was stopped before its end.
    pub stopped: bool,
}

/// Why filling ended early; what was made stays, and filling again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The directory cannot be made or opened.
    #[error("cannot open '{}': {source}", .path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no room, and what of.
    #[error("no room for more files after {made} of {of}: {room}")]
    NoRoom {
        /// Names gone through without trouble.
        made: u64,
        /// Names in all.
        of: u64,
        /// What is used up.
        room: Room,
    },
    /// A file could not be made for another reason.
    #[error("cannot make '{name}' (after {made} of {of}): {source}")]
    Make {
        /// The name.
        name: String,
        /// Names gone through without trouble.
        made: u64,
        /// Names in all.
        of: u64,
        /// Why.
        source: std::io::Error,
    },
    /// Not on this system.
    #[error("making files is not available on this system")]
    Unavailable,
}

/// What a directory that takes no more files has run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Blocks: free and in all.
    Blocks(u64, u64),
    /// Inodes: free and in all.
    Inodes(u64, u64),
    /// The user's or the project's quota.
    Quota,
    /// Neither: an ext4 directory's index is full, with so many blocks and inodes free.
    Index(u64, u64),
    /// Neither, on a file system without such an index, with so many blocks and inodes free.
    Unknown(u64, u64),
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blocks(free, all) => {
                write!(f, "the file system's blocks are used up ({free} of {all} free)")
            }
            Self::Inodes(free, all) => {
                write!(f, "the file system's inodes are used up ({free} of {all} free)")
            }
            Self::Quota => write!(f, "the quota is used up"),
            Self::Index(blocks, inodes) => write!(
                f,
                "the directory's index is full, though {blocks} blocks and {inodes} inodes are free: \
                 use several directories, or ext4's large_dir feature"
            ),
            Self::Unknown(blocks, inodes) => write!(
                f,
                "the file system says no space left, though {blocks} blocks and {inodes} inodes are free"
            ),
        }
    }
}
