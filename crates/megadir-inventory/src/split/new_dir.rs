//! Directory that appears complete or not at all: written under a hidden name, locked, then renamed.
//!
//! The next run takes over the leftover of a killed process if it is unlocked, belongs to this user and has
//! nothing but lists. All names are relative to open directories.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use megadir::{Error, ErrorKind, Result};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::replacement::partial_name;

/// Its owner may move a directory between our open and lock.
const TRIES_MAX: usize = 100;
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// `partial` is the hidden name and `name` the final one, both in `parent`. The lock is on `directory` and
/// lasts as long as its descriptor. Dropping it before `is_done` removes the written files, so that an error
/// leaves nothing behind.
pub(super) struct NewDir {
    parent: OwnedFd,
    name: OsString,
    partial: OsString,
    directory: OwnedFd,
    is_done: bool,
}

impl NewDir {
    pub(super) fn create(path: &Path) -> Result<Self> {
        // The final name is checked first, because a directory with other contents must be refused before
        // anything is written. An empty one is accepted: the rename at the end replaces it.
        let refused = |reason: &str| Error::new("write", path, ErrorKind::BadOption, reason);
        let failed = |error: Errno| Error::io("write", path, error.into());
        let Some(name) = path.file_name() else {
            return Err(refused("this is not the name of a new directory"));
        };
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = rustix::fs::openat(CWD, above, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let parent = parent.map_err(failed)?;
        match rustix::fs::openat(&parent, name, DIRECTORY, Mode::empty()) {
            Ok(there) if !names(&there).map_err(failed)?.is_empty() => {
                return Err(refused("this directory is not empty: name a new one"));
            }
            Ok(_) | Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(refused("this exists and is not a directory: name a new one"));
            }
            Err(error) => return Err(failed(error)),
        }
        let partial = partial_name(name);
        let directory = take(path, &parent, &partial)?;
        Ok(Self { parent, name: name.to_owned(), partial, directory, is_done: false })
    }

    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.directory, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        rustix::fs::fsync(&self.directory)?;
        rustix::fs::renameat(&self.parent, &self.partial, &self.parent, &self.name)?;
        self.is_done = true;
        // The rename is done; some file systems do not support fsync of a directory.
        let _ = rustix::fs::fsync(&self.parent);
        Ok(())
    }
}

impl Drop for NewDir {
    fn drop(&mut self) {
        if !self.is_done && clear(&self.directory).is_ok() {
            let _ = rustix::fs::unlinkat(&self.parent, &self.partial, AtFlags::REMOVEDIR);
        }
    }
}

/// Between `mkdirat` and the lock, another process may finish and rename the directory, or remove it as a
/// leftover. So the name is compared with the locked descriptor afterwards, and everything begins again if
/// they differ. `mkdirat` succeeds for a leftover too (`EEXIST`), which is taken over only if it is this
/// user's and holds nothing but lists: anything else could be a directory that the user needs.
fn take(path: &Path, parent: &OwnedFd, partial: &OsStr) -> Result<OwnedFd> {
    let failed = |error: Errno| Error::io("write", path, error.into());
    let refused = |reason: String| Error::new("write", path, ErrorKind::Unavailable, reason);
    for _ in 0..TRIES_MAX {
        match rustix::fs::mkdirat(parent, partial, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let directory = match rustix::fs::openat(parent, partial, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => continue,
            opened => opened.map_err(failed)?,
        };
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            // Some network file systems do not support locks.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(refused("another process is writing these lists: wait for it".to_owned()));
            }
            Err(error) => return Err(failed(error)),
        }
        let (open, named) = (
            rustix::fs::fstat(&directory).map_err(failed)?,
            rustix::fs::statat(parent, partial, AtFlags::SYMLINK_NOFOLLOW),
        );
        if !named.is_ok_and(|named| (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino)) {
            continue;
        }
        let is_own = open.st_uid == rustix::process::geteuid().as_raw();
        if !is_own || clear(&directory).is_err() {
            let name = partial.display();
            return Err(refused(format!("the name of its temporary directory is taken: move '{name}' away")));
        }
        return Ok(directory);
    }
    Err(refused("other processes keep taking its temporary directory: try later".to_owned()))
}

/// Removes nothing if the directory has more than lists.
fn clear(directory: &OwnedFd) -> io::Result<()> {
    let names = names(directory)?;
    for name in &names {
        let status = rustix::fs::statat(directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW)?;
        let is_list = name == super::DIRECTORIES || name.starts_with("files-");
        if !is_list || FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("not a list"));
        }
    }
    for name in &names {
        rustix::fs::unlinkat(directory, name.as_str(), AtFlags::empty())?;
    }
    Ok(())
}

/// Names that are not UTF-8 never equal a list's.
fn names(directory: impl AsFd) -> rustix::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        match entry.file_name().to_bytes() {
            b"." | b".." => {}
            name => names.push(String::from_utf8_lossy(name).into_owned()),
        }
    }
    Ok(names)
}
