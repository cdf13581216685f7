//! The look at a file just before its removal: is it at its path still, and exactly what it was when it was selected?
//!
//! Each directory of the path is opened in the one above it, without links and without crossing into another mount, for each file again.
//! So files that were moved away, exchanged or mounted over since are not reached. A directory that was only renamed, moved or given away since the
//! run began has a later change time and no later modification: its files stay, because where it was it may have been protected. If
//! something is protected by its place, files stay in any directory that has changed since, unless this removal has changed it.
//!
//! Attributes are the server's (`AT_STATX_FORCE_SYNC`), because a client's cache may hide for a minute that another client used a file.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat2, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use super::began::{change_since, is_renamed};
use super::rows::print;
use crate::attributes::{Attributes, Time};
use crate::dir::Dir;
use crate::file_type::FileType;
use crate::remove::engine::system;
use crate::remove::progress::FileId;

/// A file that may go, in its open directory.
///
/// It holds a descriptor and a name instead of a path, so that the removal takes the name in the very directory that
/// was looked at, wherever that has moved. `bytes` is the space on disk; `facts` predict the refusal in a dry run.
#[derive(Debug)]
pub(super) struct Found {
    directory: OwnedFd,
    /// `None` for the root.
    pub(super) above: Option<FileId>,
    name: CString,
    pub(super) bytes: u64,
    /// The error that its removal would return because of flags of its own.
    flags: Option<Errno>,
    facts: Attributes,
}

/// Result of a look.
#[derive(Debug)]
pub(super) enum Look {
    Same(Found),
    /// Used, changed, replaced, with another name, or in a directory that was renamed: it still counts.
    Changed,
    /// No file has the name, or the path leads elsewhere: the file no longer counts.
    Missing,
    Failed(Errno),
}

/// Settings of a look.
///
/// It borrows from the selection and is made again for each file, because `excluded` is under a lock that passes
/// need, and `changed_here` grows with each removal.
#[derive(Debug)]
pub(super) struct Looking<'a> {
    pub(super) root: &'a Dir,
    pub(super) began: Time,
    pub(super) excluded: &'a HashSet<FileId>,
    pub(super) changed_here: &'a HashSet<FileId>,
    /// Conditions protect by place: exclusions, paths or a depth.
    pub(super) protects_places: bool,
}

const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// Opens a directory in another one, by one name, for lookups.
pub(super) fn open_below(parent: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| openat2(&parent, name, FLAGS, Mode::empty(), RESOLVE))
}

impl Looking<'_> {
    /// Looks for the file with this path below the root.
    pub(super) fn look(&self, path: &[u8], expected: u64) -> Look {
        self.find(path, expected).unwrap_or_else(|error| match error {
            // A link, a file or a mount has taken the place of a directory, and the files are no longer below the root.
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => Look::Missing,
            error => Look::Failed(error),
        })
    }

    fn find(&self, path: &[u8], expected: u64) -> Result<Look, Errno> {
        let mut names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let name = CString::new(names.pop().unwrap_or_default()).map_err(|_| Errno::INVAL)?;
        let (mut directory, mut id): (Option<OwnedFd>, _) = (None, None);
        for name in names {
            let above = directory.as_ref().map_or(self.root.as_fd(), OwnedFd::as_fd);
            let opened = open_below(above, name)?;
            let facts = system::facts_of_open_at_the_server(&opened)?;
            id = Some((facts.device, facts.inode));
            if self.is_protected(&facts) {
                return Ok(Look::Changed);
            }
            directory = Some(opened);
        }
        let directory = directory.map_or_else(|| open_below(self.root, b"."), Ok)?;
        let (facts, flags) = system::facts_at_the_server(&directory, &name)?;
        let is_same = facts.links == 1 && print(&facts) == expected;
        // No file any more, or something is mounted on it: it does not count either.
        if facts.kind != FileType::File || flags == Some(Errno::BUSY) {
            return Ok(Look::Missing);
        }
        if !is_same {
            // While another process removes it, it has a new change time, then no name, and then the name is free.
            let is_going = facts.links == 0 || system::facts_at_the_server(&directory, &name)?.0.links == 0;
            return Ok(if is_going { Look::Missing } else { Look::Changed });
        }
        Ok(Look::Same(Found { directory, above: id, name, bytes: facts.allocated_bytes, flags, facts }))
    }

    /// `true` for a directory that was excluded under any name, or renamed since the run began, or that may have been.
    fn is_protected(&self, directory: &Attributes) -> bool {
        let id = (directory.device, directory.inode);
        let is_changed = change_since(self.began, directory).is_some();
        let may_be_moved = is_renamed(self.began, directory) || is_changed && self.protects_places;
        self.excluded.contains(&id) || may_be_moved && !self.changed_here.contains(&id)
    }
}

impl Found {
    pub(super) fn remove(&self) -> Result<(), Errno> {
        retry_on_intr(|| unlinkat(&self.directory, &self.name, AtFlags::empty()))
    }

    /// The error that the removal would return, as far as it can be predicted.
    pub(super) fn refusal(&self, is_read_only: bool) -> Option<Errno> {
        system::Permit::of(&self.directory, is_read_only).refusal(&(self.facts, self.flags))
    }
}
