//! The directories of a tree that is being filled: opened and made relative to descriptors, never through a link,
//! never across a mount.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::Mode;
use rustix::io::Errno;

use crate::remove::open_on_this_mount;

/// A tree, and the directories from its top down to the one that was entered last.
pub(super) struct Tree<'a> {
    top: BorrowedFd<'a>,
    open: Vec<(Vec<u8>, OwnedFd)>,
    /// Directories made.
    pub(super) made: u64,
}

/// What entering a directory gave.
pub(super) enum Entered<'a> {
    /// The directory.
    Directory(BorrowedFd<'a>),
    /// It does not exist; so many bytes of its path do.
    Missing(usize),
    /// The first so many bytes of its path name something that is no directory of this tree.
    Taken(usize),
}

impl<'a> Tree<'a> {
    pub(super) fn new(top: BorrowedFd<'a>) -> Self {
        Self { top, open: Vec::new(), made: 0 }
    }

    /// Returns the directory that was reached last, be it on the way to one that could not be entered.
    pub(super) fn deepest(&self) -> BorrowedFd<'_> {
        self.open.last().map_or(self.top, |(_, directory)| directory.as_fd())
    }

    /// Enters a directory by its path from the top, which may be empty; with `make` it is made if it is missing.
    pub(super) fn enter(&mut self, path: &[u8], make: bool) -> Result<Entered<'_>, Errno> {
        let (mut depth, mut reached) = (0, 0);
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let end = reached + usize::from(depth > 0) + name.len();
            if self.open.get(depth).is_none_or(|(open, _)| open != name) {
                self.open.truncate(depth);
                match self.open_below(name, make) {
                    Ok(directory) => self.open.push((name.to_vec(), directory)),
                    Err(Errno::NOENT) if !make => return Ok(Entered::Missing(reached)),
                    Err(Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(Entered::Taken(end)),
                    Err(error) => return Err(error),
                }
            }
            depth += 1;
            reached = end;
        }
        self.open.truncate(depth);
        Ok(Entered::Directory(self.deepest()))
    }

    fn open_below(&mut self, name: &[u8], make: bool) -> Result<OwnedFd, Errno> {
        match open_on_this_mount(self.deepest(), name) {
            Err(Errno::NOENT) if make => {}
            opened => return opened,
        }
        match rustix::fs::mkdirat(self.deepest(), name, Mode::from_raw_mode(0o755)) {
            Ok(()) => self.made += 1,
            // Somebody else was faster.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        open_on_this_mount(self.deepest(), name)
    }
}
