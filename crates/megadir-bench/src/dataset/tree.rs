//! The directories of a tree that is being filled: opened and made relative to descriptors, never through a link,
//! never across a mount.

use std::io::{self, ErrorKind};

use crate::at::{self, At, Borrowed, Owned};

/// A tree, and the directories from its top down to the one that was entered last.
pub(super) struct Tree<'a> {
    top: Borrowed<'a>,
    open: Vec<(Vec<u8>, Owned)>,
    /// Directories made.
    pub(super) made: u64,
}

/// What entering a directory gave.
pub(super) enum Entered<'a> {
    /// The directory.
    Directory(Borrowed<'a>),
    /// It does not exist; so many bytes of its path do.
    Missing(usize),
    /// The first so many bytes of its path name something that is no directory of this tree.
    Taken(usize),
}

impl<'a> Tree<'a> {
    pub(super) fn new(top: Borrowed<'a>) -> Self {
        Self { top, open: Vec::new(), made: 0 }
    }

    /// Returns the directory that was reached last, be it on the way to one that could not be entered.
    pub(super) fn deepest(&self) -> Borrowed<'_> {
        self.open.last().map_or(self.top, |(_, directory)| directory.at())
    }

    /// Enters a directory by its path from the top, which may be empty; with `make` it is made if it is missing.
    pub(super) fn enter(&mut self, path: &[u8], make: bool) -> io::Result<Entered<'_>> {
        let (mut depth, mut reached) = (0, 0);
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let end = reached + usize::from(depth > 0) + name.len();
            if self.open.get(depth).is_none_or(|(open, _)| open != name) {
                self.open.truncate(depth);
                match self.open_below(name, make) {
                    Ok(directory) => self.open.push((name.to_vec(), directory)),
                    Err(error) => match error.kind() {
                        ErrorKind::NotFound if !make => return Ok(Entered::Missing(reached)),
                        ErrorKind::NotADirectory | ErrorKind::CrossesDevices => {
                            return Ok(Entered::Taken(end));
                        }
                        _ => return Err(error),
                    },
                }
            }
            depth += 1;
            reached = end;
        }
        self.open.truncate(depth);
        Ok(Entered::Directory(self.deepest()))
    }

    fn open_below(&mut self, name: &[u8], make: bool) -> io::Result<Owned> {
        match at::open_on_this_mount(self.deepest(), name) {
            Err(error) if make && error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        match at::make_directory(self.deepest(), name) {
            Ok(()) => self.made += 1,
            // Somebody else was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        at::open_on_this_mount(self.deepest(), name)
    }
}
