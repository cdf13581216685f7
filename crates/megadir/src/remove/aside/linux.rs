//! Puts directories aside on Linux.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FlockOperation, Mode, RenameFlags};
use rustix::io::Errno;

use super::super::aside;
use super::{Aside, Why};
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::likeness::make_alike;
use crate::remove::engine::component;
use crate::remove::engine::system::{self, open_below};

pub(super) type Lock = OwnedFd;

const ENCRYPTED: u32 = 0x800; // FS_ENCRYPT_FL
/// Inode of a subvolume's root.
const SUBVOLUME: u64 = 256;

/// `None` if another process holds the lock or it is not a directory.
pub(super) fn lock_leftover(parent: &Dir, name: &CStr) -> Option<Lock> {
    let directory = open_below(parent, name, false).ok()?;
    lock(&directory).ok()?;
    Some(directory)
}

/// Renames a directory to a hidden name next to it, even if another process holds its lock. Errors:
/// [`ErrorKind::NotADirectory`] (also for a symbolic link), [`ErrorKind::MountPoint`], or the error of opening or renaming it.
pub fn detach<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let entry = Entry::open(parent, name)?;
    let aside = entry.fresh_name(Why::Detached);
    rename(parent, &entry.name, &aside, RenameFlags::NOREPLACE).at("rename", &entry.path)?;
    entry.expect(&entry.directory, &aside).inspect_err(|_| {
        let _ = rename(parent, &aside, &entry.name, RenameFlags::NOREPLACE);
    })?;
    Ok(Aside { parent, name: aside, why: Why::Detached, _lock: entry.directory })
}

/// Exchanges a directory for an empty one with the same metadata, and puts the old one aside. Errors: as [`detach`], with the
/// directory unchanged; [`ErrorKind::Unavailable`] without atomic exchange and for btrfs subvolumes and encrypted directories;
/// an error of copying the metadata, or if another process holds the lock.
pub fn renew<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let entry = Entry::open(parent, name)?;
    if !entry.is_locked {
        let reason = "another process holds a lock on it (flock); it may be renewing it";
        return Err(Error::new("lock", &entry.path, ErrorKind::Unavailable, reason));
    }
    can_be_copied(&entry.directory, &entry.path)?;
    let aside = entry.fresh_name(Why::Renewed);
    rustix::fs::mkdirat(parent, &aside, Mode::RWXU).at("renew", &entry.path)?;
    let undo = |error| {
        // Fails if another process created something in it.
        let _ = rustix::fs::unlinkat(parent, &aside, AtFlags::REMOVEDIR);
        error
    };
    let made = open_below(parent, &aside, false).at("renew", &entry.path).map_err(undo)?;
    let lock = lock(&made).at("renew", &entry.path);
    lock.and_then(|()| make_alike(&entry.directory, &made, "renew", &entry.path)).map_err(undo)?;
    match rename(parent, &aside, &entry.name, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let reason = "this file system cannot exchange two directories atomically";
            return Err(undo(Error::new("renew", &entry.path, ErrorKind::Unavailable, reason)));
        }
        Err(error) => return Err(undo(Error::io("renew", &entry.path, error.into()))),
    }
    let undo = || {
        if rename(parent, &aside, &entry.name, RenameFlags::EXCHANGE).is_ok() {
            let _ = rustix::fs::unlinkat(parent, &aside, AtFlags::REMOVEDIR);
        }
    };
    entry
        .expect(&entry.directory, &aside)
        .and_then(|()| entry.expect(&made, &entry.name))
        .inspect_err(|_| undo())?;
    Ok(Aside { parent, name: aside, why: Why::Renewed, _lock: entry.directory })
}

struct Entry<'a> {
    parent: &'a Dir,
    name: CString,
    path: std::path::PathBuf,
    directory: OwnedFd,
    is_locked: bool,
}

impl<'a> Entry<'a> {
    /// Any process that may read the directory can hold the lock.
    fn open(parent: &'a Dir, name: &[u8]) -> Result<Self> {
        let path = parent.entry_path(name);
        let name = component(name, &path)?;
        let opened = open_below(parent, &name, false).map(|directory| (lock(&directory).is_ok(), directory));
        match opened {
            Ok((is_locked, directory)) => Ok(Self { parent, name, path, directory, is_locked }),
            Err(Errno::XDEV) => {
                let reason = "a mount point, which cannot be renamed";
                Err(Error::new("rename", &path, ErrorKind::MountPoint, reason))
            }
            Err(Errno::LOOP) => {
                Err(Error::new("open", &path, ErrorKind::NotADirectory, "a symbolic link, not a directory"))
            }
            Err(error) => Err(Error::io("open", &path, error.into())),
        }
    }

    fn fresh_name(&self, why: Why) -> CString {
        CString::new(aside::fresh(why, self.name.to_bytes())).unwrap_or_default()
    }

    fn expect(&self, opened: &OwnedFd, name: &CStr) -> Result<()> {
        let found = open_below(self.parent, name, false);
        match (found.and_then(|found| system::identity(&found)), system::identity(opened)) {
            (Ok(found), Ok(opened)) if found == opened => Ok(()),
            _ => {
                let reason = "replaced by another directory while it was being renamed";
                Err(Error::new("rename", &self.path, ErrorKind::NotFound, reason))
            }
        }
    }
}

pub(crate) fn can_be_copied(directory: impl AsFd, path: &Path) -> Result<()> {
    let refuse = |reason| Err(Error::new("renew", path, ErrorKind::Unavailable, reason));
    let directory = directory.as_fd();
    let status = rustix::fs::fstat(directory).at("renew", path)?;
    if FileSystem::of(directory) == FileSystem::Btrfs && status.st_ino == SUBVOLUME {
        return refuse("a subvolume, which would become a plain directory");
    }
    match rustix::fs::ioctl_getflags(directory) {
        Ok(flags) if flags.bits() & ENCRYPTED != 0 => {
            refuse("an encrypted directory, which would become a plain one")
        }
        Ok(_) | Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(Error::io("renew", path, error.into())),
    }
}

/// File systems without locks are accepted.
pub(crate) fn lock(directory: impl AsFd) -> std::result::Result<(), Errno> {
    match rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
        _ => Ok(()),
    }
}

fn rename(directory: &Dir, from: &CStr, to: &CStr, how: RenameFlags) -> std::result::Result<(), Errno> {
    match rustix::fs::renameat_with(directory, from, directory, to, how) {
        // The name is random, so it is unused.
        Err(Errno::INVAL | Errno::NOSYS) if how == RenameFlags::NOREPLACE => {
            rustix::fs::renameat(directory, from, directory, to)
        }
        renamed => renamed,
    }
}
