//! Directories that are put aside before they are removed, so that their name is free, or empty, at once.
//!
//! [`detach`] renames a directory to a hidden name beside it. [`renew`] makes an empty directory with the same owner, mode, ACLs and
//! other extended attributes, inode flags and project, and exchanges the two in one step, so that the name is never missing. (An ext4
//! directory keeps its size for ever; only one made anew is small.) Both give an [`Aside`], which is then to be removed.
//!
//! Killed in between, there is at most a directory with a hidden name, `.megadir-detached-...` or `.megadir-renewed-...`: the old
//! one, or the new one that had not yet taken its place, which is empty. [`leftovers`] finds those of one entry and no others: the name holds a
//! digest of the entry's, and a directory that another process is still removing is locked (flock(2)) and left alone.
//! Processes that have the old directory open, or as their current one, stay in it.

mod likeness;
mod name;

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FlockOperation, Mode, RenameFlags};
use rustix::io::Errno;

use super::engine::system::{self, Opener};
use super::engine::{component, remove_tree};
use super::{Progress, RemoveOptions, Removed};
use crate::backend;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;

/// Why a directory is aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// By [`detach`].
    Detached,
    /// By [`renew`].
    Renewed,
}

impl Why {
    fn prefix(self) -> &'static str {
        match self {
            Self::Detached => ".megadir-detached-",
            Self::Renewed => ".megadir-renewed-",
        }
    }
}

/// A directory that was put aside and is to be removed. Locked while this lives.
#[derive(Debug)]
pub struct Aside<'a> {
    parent: &'a Dir,
    name: CString,
    why: Why,
    /// Holds the lock.
    _directory: OwnedFd,
}

impl Aside<'_> {
    /// Returns its name, in the directory that it was in before.
    pub fn name(&self) -> &[u8] {
        self.name.to_bytes()
    }

    /// Returns why it is aside.
    pub fn why(&self) -> Why {
        self.why
    }

    /// Removes it. What cannot be removed stays below its hidden name, for [`leftovers`] to find.
    ///
    /// # Errors
    ///
    /// As [`remove_tree`]; [`ErrorKind::BadOption`] with conditions, something to keep or a dry run: it is all to go.
    pub fn remove(&self, options: &RemoveOptions<'_>, progress: &Progress) -> Result<Removed> {
        if !options.conditions.is_none() || options.keep.is_some() || options.dry_run {
            let path = self.parent.path().join(crate::names::to_os(self.name())?);
            let reason = "what was put aside is removed as a whole";
            return Err(Error::new("remove", &path, ErrorKind::BadOption, reason));
        }
        remove_tree(self.parent, self.name(), options, progress)
    }
}

/// Renames a directory to a hidden name beside it.
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
    Ok(Aside { parent, name: aside, why: Why::Detached, _directory: entry.directory })
}

/// Makes a directory anew: empty, and otherwise the same. What it was is aside.
///
/// # Errors
///
/// As [`detach`]; [`ErrorKind::Unavailable`] where the file system cannot exchange two directories in one step, and for btrfs
/// subvolumes and encrypted directories, of which one made anew would not be the same; what making the new one like the old one
/// gives. The directory is then as it was.
pub fn renew<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let entry = Entry::open(parent, name)?;
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
    Ok(Aside { parent, name: aside, why: Why::Renewed, _directory: entry.directory })
}

/// Finds what was put aside of an entry and not removed, because the process was killed or could not; the entry need not exist. What
/// another process is removing right now is not among them.
///
/// # Errors
///
/// When the directory that holds it cannot be listed.
pub fn leftovers<'a>(parent: &'a Dir, name: &[u8]) -> Result<Vec<Aside<'a>>> {
    let options = ReadOptions { buffer_bytes: 128 << 10, threads: 1, shares: 1, resolve_types: false };
    let mut reader = backend::by_name("getdents")?.open(parent, &options)?;
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        for entry in batch {
            let why =
                [Why::Detached, Why::Renewed].into_iter().find(|why| name::is_of(*why, name, entry.name));
            if let Some(why) = why
                && let Ok(name) = CString::new(entry.name)
                && let Ok(directory) = Opener::new(false).below(parent, &name)
                && lock(&directory).is_ok()
            {
                found.push(Aside { parent, name, why, _directory: directory });
            }
        }
    }
    Ok(found)
}

/// The directory that is to be put aside.
struct Entry<'a> {
    parent: &'a Dir,
    name: CString,
    path: std::path::PathBuf,
    directory: OwnedFd,
}

impl<'a> Entry<'a> {
    /// Opens and locks it.
    fn open(parent: &'a Dir, name: &[u8]) -> Result<Self> {
        let path = parent.path().join(crate::names::to_os(name)?);
        let name = component(name, &path)?;
        let opened = Opener::new(false).below(parent, &name).and_then(|directory| {
            lock(&directory)?;
            Ok(directory)
        });
        match opened {
            Ok(directory) => Ok(Self { parent, name, path, directory }),
            Err(Errno::XDEV) => {
                let reason = "a mount point, which cannot be put aside";
                Err(Error::new("rename", &path, ErrorKind::MountPoint, reason))
            }
            Err(Errno::LOOP) => {
                Err(Error::new("open", &path, ErrorKind::NotADirectory, "a symbolic link, no directory"))
            }
            Err(Errno::WOULDBLOCK) => {
                let reason = "another process is putting it aside";
                Err(Error::new("lock", &path, ErrorKind::Unavailable, reason))
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
