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
use crate::mount_traits::MountTraits;
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
    let renamed = rename(parent, &entry.name, &aside, RenameFlags::NOREPLACE);
    renamed.map_err(|error| entry.not_put_aside(Why::Detached, error))?;
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
    entry.can_be_renewed()?;
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
    let exchanged = rename(parent, &aside, &entry.name, RenameFlags::EXCHANGE);
    exchanged.map_err(|error| undo(entry.not_put_aside(Why::Renewed, error)))?;
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

/// Errors that [`detach`] or [`renew`] would return, found with empty directories of its own names, which [`leftovers`](super::leftovers)
/// finds if the process is killed. The entry keeps its name.
pub fn check(parent: &Dir, name: &[u8], why: Why) -> Result<()> {
    let entry = Entry::open(parent, name)?;
    if why == Why::Renewed {
        entry.can_be_renewed()?;
    }
    let traits = MountTraits::of(parent);
    let is_overlay = traits.drivers.contains(&"overlay");
    let tried = match (why, traits.exchanges) {
        // A directory of a lower layer is another matter than one of the trial.
        _ if is_overlay => entry.try_onto_another(why),
        (Why::Detached, _) | (Why::Renewed, Some(true)) => Ok(()),
        (Why::Renewed, Some(false)) => Err(Errno::INVAL),
        (Why::Renewed, None) => try_exchange(parent, &[entry.fresh_name(why), entry.fresh_name(why)]),
    };
    tried.map_err(|error| entry.not_put_aside(why, error))
}

/// Succeeds if it cannot be tried: then the run shows it.
fn try_exchange(parent: &Dir, names: &[CString; 2]) -> std::result::Result<(), Errno> {
    let made = names.iter().all(|name| rustix::fs::mkdirat(parent, name, Mode::RWXU).is_ok());
    let exchanged = match made {
        true => rename(parent, &names[0], &names[1], RenameFlags::EXCHANGE),
        false => Ok(()),
    };
    for name in names {
        let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
    }
    exchanged
}

/// The directory that is to be put aside, opened before it is renamed. `path` is for messages. `directory` is the
/// evidence: after a rename, the identity at the new name is compared with it, because another process may have
/// exchanged the two in between. `is_locked` is false if another process holds the lock, which forbids renewing and
/// not detaching.
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

    fn can_be_renewed(&self) -> Result<()> {
        if !self.is_locked {
            let reason = "another process holds a lock on it (flock); it may be renewing it";
            return Err(Error::new("lock", &self.path, ErrorKind::Unavailable, reason));
        }
        can_be_copied(&self.directory, &self.path)
    }

    /// overlayfs refuses to rename a directory of a lower layer before it refuses a target that is not empty, so that nothing is
    /// renamed either way.
    fn try_onto_another(&self, why: Why) -> std::result::Result<(), Errno> {
        let full = self.fresh_name(why);
        if rustix::fs::mkdirat(self.parent, &full, Mode::RWXU).is_err() {
            return Ok(());
        }
        let filled = open_below(self.parent, &full, false)
            .and_then(|directory| rustix::fs::mkdirat(&directory, c"full", Mode::RWXU).map(|()| directory));
        let renamed = match &filled {
            Ok(directory) => {
                // Another run takes no leftover that is locked.
                let _ = rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive);
                rustix::fs::renameat(self.parent, &self.name, self.parent, &full)
            }
            Err(_) => Ok(()),
        };
        if filled.is_ok() && renamed.is_ok() {
            // Another process has emptied the target in between: the directory gets its name again.
            return rustix::fs::renameat_with(
                self.parent,
                &full,
                self.parent,
                &self.name,
                RenameFlags::NOREPLACE,
            );
        }
        if let Ok(directory) = filled {
            let _ = rustix::fs::unlinkat(directory, c"full", AtFlags::REMOVEDIR);
        }
        let _ = rustix::fs::unlinkat(self.parent, &full, AtFlags::REMOVEDIR);
        if renamed == Err(Errno::XDEV) { renamed } else { Ok(()) }
    }

    fn not_put_aside(&self, why: Why, error: Errno) -> Error {
        let (operation, option) = match why {
            Why::Detached => ("rename", "--detach"),
            Why::Renewed => ("renew", "--renew"),
        };
        let reason = match error {
            Errno::XDEV => "a directory of a lower layer of overlayfs, which cannot be renamed",
            Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP if why == Why::Renewed => {
                "this file system cannot exchange two directories atomically"
            }
            error => return Error::io(operation, &self.path, error.into()),
        };
        let reason = format!("{reason}: the same command without {option} works");
        Error::new(operation, &self.path, ErrorKind::Unavailable, reason)
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
