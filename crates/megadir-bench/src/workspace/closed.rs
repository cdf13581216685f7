//! A run's own directory while nothing of it is open, so that its file system can be unmounted and mounted again.
//!
//! Only on file systems that nobody else sees: without its lock it is a leftover to others.

use std::io;
use std::path::PathBuf;

use super::{MARKER, Workspace, protocol};
use crate::at::{self, Access, At, Owned};

/// A run's own directory that is closed.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(super) name: String,
    path: PathBuf,
}

impl Workspace {
    /// Closes all that it holds open.
    pub(crate) fn close(self) -> Closed {
        Closed { name: self.name, path: self.path }
    }

    /// Opens the directory of a data set again.
    pub(crate) fn open_data_directory(&self, name: &str) -> io::Result<Owned> {
        at::open_on_this_mount(self.directory.at(), name)
    }
}

impl Closed {
    /// Opens it again below the same directory, and takes its lock.
    pub(crate) fn open(self, parent: Owned) -> io::Result<Workspace> {
        let directory = at::open_below(parent.at(), self.name.as_str())?;
        let marker = at::open_file(directory.at(), MARKER, Access::ReadWrite)?;
        marker.try_lock()?;
        Ok(Workspace { parent, name: self.name, path: self.path, directory, marker })
    }

    /// Makes it again, empty, by its old name below a directory where it is no more.
    pub(crate) fn make(self, parent: Owned, started_unix_s: u64) -> io::Result<Workspace> {
        let (directory, marker) = protocol::make(parent.at(), &self.name, started_unix_s)?;
        Ok(Workspace { parent, name: self.name, path: self.path, directory, marker })
    }
}
