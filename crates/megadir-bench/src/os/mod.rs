//! Operations relative to an open directory: one API for Linux and Windows, a call or two each.
//!
//! Names and paths are bytes (on Windows WTF-8) with `/` between names; none leads out of the directory. No operation follows a link as
//! the last component of a path. Errors are the system's, distinguished by [`std::io::ErrorKind`]:
//!
//! | kind | meaning |
//! |---|---|
//! | `NotFound` | no such name, or a directory of the path is missing |
//! | `AlreadyExists` | the name is taken |
//! | `NotADirectory` | a file or a link where a directory is needed |
//! | `IsADirectory` | a directory where a file is needed |
//! | `CrossesDevices` | a mount point |
//! | `DirectoryNotEmpty` | the directory has entries |
//!
//! Measured code calls these functions: they are as thin as possible, and inlined.

#[cfg(target_os = "linux")]
mod linux;
pub(crate) mod removal;
#[cfg(windows)]
mod windows;
pub(crate) mod write_back;

use std::io;
use std::path::Path;

use megadir::{Dir, FileType};

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Buffer of listings, bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Access mode of an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    ReadWrite,
}

/// Status of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) kind: FileType,
    pub(crate) size_bytes: u64,
    /// Names of the file; 0 where it is only open still.
    pub(crate) links: u64,
    /// Which file it is: device and number.
    pub(crate) identity: (u64, u64),
    /// Who owns it, where the system tells: a number that is the same for all that one user owns.
    pub(crate) owner: Option<u32>,
    /// `true` if it is not to be written to as it is, whoever may: marked read-only on Windows, or a reparse point (deduplicated,
    /// compressed by others, in a cloud), which is opened here without those who know where its content lies.
    pub(crate) guarded: bool,
}

/// Room of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// What files are given at least, bytes.
    pub(crate) block_bytes: u64,
    /// Bytes in all.
    pub(crate) bytes: u64,
    /// Bytes that this user may still take.
    pub(crate) free_bytes: u64,
    /// Bytes that are free, whoever may take them.
    pub(crate) all_free_bytes: u64,
    /// Inodes in all; 0 where they are made as they are needed.
    pub(crate) inodes: u64,
    /// Inodes that this user may still take.
    pub(crate) free_inodes: u64,
    /// Inodes that are free, whoever may take them.
    pub(crate) all_free_inodes: u64,
}

/// Calls `each` with name and type of every entry of a directory, `.` and `..` left out; what `each` refuses ends it.
pub(crate) fn each_entry(
    directory: Borrowed<'_>,
    each: &mut dyn FnMut(&[u8], FileType) -> io::Result<()>,
) -> io::Result<()> {
    let own = Dir::from_descriptor(again(directory)?, Path::new("."));
    let options =
        megadir::ReadOptions { buffer_bytes: BUFFER_BYTES, threads: 1, shares: 1, resolve_types: true };
    let mut reader = megadir::backend(LISTED_BY)?.open(&own, &options)?;
    while let Some(batch) = reader.next_batch()? {
        for entry in batch.entries() {
            each(entry.name, entry.kind)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
