//! State of a walk that may end early: the directories that it leaves out or divides.

use super::queue::Subdirectory;
use crate::backend;
use crate::dir::Dir;
use crate::error::Result;
use crate::options::PositionRange;
use crate::tree_path::TreePath;

/// Directory, or a part of it, that a [`PartialWalk`](super::PartialWalk) did not visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unvisited {
    /// Path relative to the directory that was opened by path.
    pub path: TreePath,
    /// Inode number, if attributes were read.
    pub inode: Option<u64>,
    /// Positions in a large directory; `None` for all of it.
    pub range: Option<PositionRange>,
}

/// Limits of a [`PartialWalk`](super::PartialWalk).
#[derive(Clone, Copy, Debug)]
pub struct PartialLimits {
    /// Most directories to leave out after the request to end. Beyond them the walk goes on, so that its memory is bounded.
    pub unvisited_max: usize,
    /// Directories with more entries, estimated from their size, are not read but divided into ranges of about this many
    /// entries, if the file system permits.
    pub entries_per_range: u64,
}

#[derive(Debug)]
pub(super) struct Early {
    pub(super) limits: PartialLimits,
    pub(super) is_ending: bool,
    pub(super) unvisited: Vec<Unvisited>,
    pub(super) range: Option<PositionRange>,
}

impl Early {
    pub(super) fn leaves_out(&mut self, parent: &TreePath, subdirectory: &Subdirectory) -> bool {
        let leaves = self.is_ending && self.unvisited.len() < self.limits.unvisited_max;
        if leaves {
            let path = parent.join(&subdirectory.name);
            self.unvisited.push(Unvisited { path, inode: subdirectory.inode, range: None });
        }
        leaves
    }

    pub(super) fn divides(&mut self, directory: &Dir, inode: Option<u64>) -> Result<bool> {
        let ranges = backend::divide(directory, self.limits.entries_per_range)?;
        let path = directory.dir_path().below();
        let part = |range| Unvisited { path: path.clone(), inode, range: Some(range) };
        self.unvisited.extend(ranges.iter().copied().map(part));
        Ok(!ranges.is_empty())
    }
}
