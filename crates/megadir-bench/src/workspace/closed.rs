//! A run's own directory while nothing of it is open, so that its file system can be unmounted and mounted again.
//!
//! Only on file systems that nobody else sees: without its lock it is a leftover to others.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, Mode, OFlags};

use super::{DIRECTORY, MARKER, Workspace};
use crate::remove::open_on_this_mount;

/// A run's own directory that is closed.
#[derive(Debug)]
pub(crate) struct Closed {
    name: String,
    path: PathBuf,
}

impl Workspace {
    /// Closes all that it holds open.
    pub(crate) fn close(self) -> Closed {
        Closed { name: self.name, path: self.path }
    }

    /// Opens the directory of a data set again.
    pub(crate) fn open_data_directory(&self, name: &str) -> io::Result<OwnedFd> {
        Ok(open_on_this_mount(self.directory.as_fd(), name)?)
    }
}

impl Closed {
    /// Opens it again below the same directory, and takes its lock.
    pub(crate) fn open(self, parent: OwnedFd) -> io::Result<Workspace> {
        let directory = rustix::fs::openat(&parent, self.name.as_str(), DIRECTORY, Mode::empty())?;
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let marker = File::from(rustix::fs::openat(&directory, MARKER, flags, Mode::empty())?);
        rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Workspace { parent, name: self.name, path: self.path, directory, _marker: marker })
    }
}
