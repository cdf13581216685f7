//! Decides about an entry, and counts.

use super::route::{Place, Route};
use crate::conditions::Globs;
use crate::error::Error;
use crate::file_type::FileType;
use crate::layout::{NameBuffer, PathBuffer, Placed};

/// Names of directories that runs and trials make for a moment begin so.
const OWN: &str = ".megadir-reshard-";
/// Temporary name of a directory without its owner and mode; see [`Targets`](super::targets::Targets).
pub(super) const NEW: &str = ".megadir-reshard-new";

/// Result of moving a directory's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files moved.
    pub moved: u64,
    /// Files that stay because their new path is taken. Each was reported.
    pub conflicts: u64,
    /// Files and directories that the system refused. Each was reported, except that a target directory that cannot be
    /// opened was reported once for many of its files, with their number.
    pub failures: u64,
    /// Directories that could not be read, so that their files stay. `failures` counts them too.
    pub unread: u64,
    /// Files that stay because the new layout has no path for their names.
    pub unplaced: u64,
    /// Files that stay because neither layout has files at their paths.
    pub foreign: u64,
    /// Files that stay because their names are excluded.
    pub excluded: u64,
    /// Entries that stay because they are neither files nor directories.
    pub others: u64,
    /// Directories that neither layout has.
    pub directories: u64,
    /// Directories made for the new layout.
    pub directories_made: u64,
    /// Emptied directories of the old layout that were removed.
    pub directories_removed: u64,
}

impl Counts {
    /// Counts a directory that could not be read; returns its failure with the consequence.
    pub(super) fn unread(&mut self, failure: Error) -> Error {
        self.failures += 1;
        self.unread += 1;
        failure.with_note("files in it stay")
    }
}

/// `failure` of a directory that a number of files need.
pub(super) fn keeps_back(failure: Error, files: u64) -> Error {
    let verb = if files == 1 { "file stays" } else { "files stay" };
    failure.with_note(format!("{files} {verb}"))
}

/// Shared by runs and surveys, so that both decide alike. `in_place` counts files that are at their new path
/// already, which an interrupted run has left or which both layouts place there. `names` and `path` are
/// buffers: judging a file allocates nothing.
pub(super) struct Judge<'a> {
    pub(super) route: Route,
    exclude: Option<&'a Globs>,
    pub(super) counts: Counts,
    pub(super) in_place: u64,
    names: NameBuffer,
    path: PathBuffer,
}

impl<'a> Judge<'a> {
    pub(super) fn new(route: Route, exclude: Option<&'a Globs>) -> Self {
        Self {
            route,
            exclude: exclude.filter(|globs| !globs.is_empty()),
            counts: Counts::default(),
            in_place: 0,
            names: NameBuffer::new(),
            path: PathBuffer::new(),
        }
    }

    /// New path of a regular file, if it moves. Counts nothing.
    pub(super) fn new_path(&mut self, path: &[u8]) -> Option<Placed<'_>> {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        if self.exclude.is_some_and(|globs| globs.match_name(name)) {
            return None;
        }
        match self.route.place(path, &mut self.names, &mut self.path) {
            Place::Moves(placed) => Some(placed),
            Place::Here | Place::Refused | Place::Foreign => None,
        }
    }

    pub(super) fn look(&mut self, path: &[u8], name: &[u8], kind: FileType) -> Option<Placed<'_>> {
        let counts = &mut self.counts;
        match kind {
            FileType::File => {}
            FileType::Directory => {
                let is_known = self.route.keeps(path) || name.starts_with(OWN.as_bytes());
                counts.directories += u64::from(!is_known);
                return None;
            }
            _ => {
                counts.others += 1;
                return None;
            }
        }
        if self.exclude.is_some_and(|globs| globs.match_name(name)) {
            counts.excluded += 1;
            return None;
        }
        match self.route.place(path, &mut self.names, &mut self.path) {
            Place::Moves(placed) => return Some(placed),
            Place::Here => self.in_place += 1,
            Place::Refused => counts.unplaced += 1,
            Place::Foreign => counts.foreign += 1,
        }
        None
    }
}
