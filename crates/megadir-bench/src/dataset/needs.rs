//! Space and inodes that the files of a data set take on the file system of their directory, before any is made.

use std::path::Path;

use super::Files;
use crate::os::{self, At};

/// Larger blocks are rare where the file system does not report its own.
const BLOCK_BYTES: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Files and directories.
    pub inodes: u64,
    /// Contents in whole blocks. Names, inodes and directories take some more.
    pub space_bytes: u64,
    /// `None` if it is unknown.
    pub free_bytes: Option<u64>,
    /// `None` if it is unknown or has no limit.
    pub free_inodes: Option<u64>,
}

impl Needs {
    /// Counts all files, although some may be there. `path` may be missing.
    pub fn of(files: &Files, path: &Path) -> Self {
        let above = path.ancestors().filter(|above| !above.as_os_str().is_empty());
        let opened = above.chain([Path::new(".")]).find_map(|above| os::open_directory(above).ok());
        let space = opened.and_then(|opened| os::space(opened.at()).ok());
        let block_bytes = space.map_or(BLOCK_BYTES, |space| space.block_bytes.max(1));
        let entries = files.entries() as f64;
        let blocks = entries * files.sizes().blocks(block_bytes);
        Self {
            inodes: (entries + files.directories_expected()) as u64,
            space_bytes: (blocks * block_bytes as f64) as u64,
            free_bytes: space.map(|space| space.free_bytes),
            free_inodes: space.filter(|space| space.inodes > 0).map(|space| space.free_inodes),
        }
    }
}
