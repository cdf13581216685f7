//! Putting directories aside on Linux.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FlockOperation, Mode, RenameFlags};
use rustix::io::Errno;

use super::{Aside, Why, likeness, name};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::remove::engine::component;
use crate::remove::engine::system::{self, Opener};

/// The lock of what lies aside.
pub(super) type Lock = OwnedFd;

/// Locks what lies aside; nothing where another process has, or where it is no directory.
pub(super) fn lock_leftover(parent: &Dir, name: &CStr) -> Option<Lock> {
    let directory = Opener::new(false).below(parent, name).ok()?;
    lock(&directory).ok()?;
    Some(directory)
}

/// Renames a directory to a hidden name beside it. It goes aside also where somebody else holds its lock: nobody then takes it for a
/// leftover either, and of two who put it aside one finds it gone.
///
/// # Errors
///
/// As opening it gives ([`ErrorKind::NotADirectory`] for what is none, a symbolic link too), [`ErrorKind::MountPoint`], or what renaming it gives.
pub fn detach<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let entry = Entry::open(parent, name)?;
    let aside = entry.fresh_name(Why::Detached);
    let renamed = rename(parent, &entry.name, &aside, RenameFlags::NOREPLACE);
    renamed.map_err(|error| entry.error("rename", error))?;
    entry.expect(&entry.directory, &aside).inspect_err(|_| {
        let _ = rename(parent, &aside, &entry.name, RenameFlags::NOREPLACE);
    })?;
    Ok(Aside { parent, name: aside, why: Why::Detached, _lock: entry.directory })
}

/// Makes a directory anew: empty, and otherwise the same. What it was is aside.
///
/// # Errors
///
/// As [`detach`]; [`ErrorKind::Unavailable`] where the file system cannot exchange two directories in one step, and for btrfs
/// subvolumes and encrypted directories, of which one made anew would not be the same; what making the new one like the old one
/// gives; also where somebody holds its lock, who may be making it anew too. The directory is then as it was.
pub fn renew<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let entry = Entry::open(parent, name)?;
    if !entry.is_locked {
        let reason =
            "another process holds a lock on it (flock): one that is renewing it, or any that may read it";
        return Err(Error::new("lock", &entry.path, ErrorKind::Unavailable, reason));
    }
    let aside = entry.fresh_name(Why::Renewed);
    rustix::fs::mkdirat(parent, &aside, Mode::RWXU).map_err(|error| entry.error("make anew", error))?;
    let undo = |error| {
        // Only if it is empty, which it is unless somebody put something in it.
        let _ = rustix::fs::unlinkat(parent, &aside, AtFlags::REMOVEDIR);
        error
    };
    let made = Opener::new(false).below(parent, &aside);
    let made = made.map_err(|error| undo(entry.error("make anew", error)))?;
    let lock = lock(&made).map_err(|error| entry.error("make anew", error));
    lock.and_then(|()| likeness::make_alike(&entry.directory, &made, &entry.path)).map_err(undo)?;
    match rename(parent, &aside, &entry.name, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let reason = "this file system cannot exchange two directories in one step";
            return Err(undo(Error::new("make anew", &entry.path, ErrorKind::Unavailable, reason)));
        }
        Err(error) => return Err(undo(entry.error("make anew", error))),
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

/// The directory that is to be put aside.
struct Entry<'a> {
    parent: &'a Dir,
    name: CString,
    path: std::path::PathBuf,
    directory: OwnedFd,
    is_locked: bool,
}

impl<'a> Entry<'a> {
    /// Opens it, and locks it if nobody has: whoever may read it can.
    fn open(parent: &'a Dir, name: &[u8]) -> Result<Self> {
        let path = parent.path().join(crate::names::to_os(name)?);
        let name = component(name, &path)?;
        let opened =
            Opener::new(false).below(parent, &name).map(|directory| (lock(&directory).is_ok(), directory));
        match opened {
            Ok((is_locked, directory)) => Ok(Self { parent, name, path, directory, is_locked }),
            Err(Errno::XDEV) => {
                let reason = "a mount point, which cannot be put aside";
                Err(Error::new("rename", &path, ErrorKind::MountPoint, reason))
            }
            Err(Errno::LOOP) => {
                Err(Error::new("open", &path, ErrorKind::NotADirectory, "a symbolic link, no directory"))
            }
            Err(error) => Err(Error::io("open", &path, error.into())),
        }
    }

    fn fresh_name(&self, why: Why) -> CString {
        CString::new(name::fresh(why, self.name.to_bytes())).unwrap_or_default()
    }

    /// Holds what has a name now against what is open: somebody may have replaced it meanwhile.
    fn expect(&self, opened: &OwnedFd, name: &CStr) -> Result<()> {
        let found = Opener::new(false).below(self.parent, name);
        match (found.and_then(|found| system::identity(&found)), system::identity(opened)) {
            (Ok(found), Ok(opened)) if found == opened => Ok(()),
            _ => {
                let reason = "replaced by something else while it was being put aside";
                Err(Error::new("rename", &self.path, ErrorKind::NotFound, reason))
            }
        }
    }

    fn error(&self, operation: &'static str, error: Errno) -> Error {
        Error::io(operation, &self.path, error.into())
    }
}

/// Locks a directory, if its file system can.
fn lock(directory: &OwnedFd) -> std::result::Result<(), Errno> {
    match rustix::fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
        _ => Ok(()),
    }
}

/// Renames an entry within a directory.
fn rename(directory: &Dir, from: &CStr, to: &CStr, how: RenameFlags) -> std::result::Result<(), Errno> {
    match rustix::fs::renameat_with(directory, from, directory, to, how) {
        // Some file systems do not know the flag. The name is random, so nothing has it.
        Err(Errno::INVAL | Errno::NOSYS) if how == RenameFlags::NOREPLACE => {
            rustix::fs::renameat(directory, from, directory, to)
        }
        renamed => renamed,
    }
}
