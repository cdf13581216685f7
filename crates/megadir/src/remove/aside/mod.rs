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
//! A lock that somebody else holds keeps nothing from being detached.
//! On Windows nothing is made anew, a directory in which anything is open cannot be put aside, and the lock is a mutex.

#[cfg(target_os = "linux")]
mod likeness;
#[cfg(target_os = "linux")]
mod linux;
mod name;
#[cfg(windows)]
mod windows;

use std::ffi::CString;

#[cfg(target_os = "linux")]
use self::linux as system;
pub use self::system::{detach, renew};
#[cfg(windows)]
use self::windows as system;
use super::engine::remove_tree;
use super::{Progress, RemoveOptions, Removed};
use crate::backend;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;

/// The backend that finds what lies aside.
const LISTED_BY: &str = if cfg!(windows) { "by-handle" } else { "getdents" };

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
    _lock: system::Lock,
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

/// Finds what was put aside of an entry and not removed, because the process was killed or could not; the entry need not exist. What
/// another process is removing right now is not among them.
///
/// # Errors
///
/// When the directory that holds it cannot be listed.
pub fn leftovers<'a>(parent: &'a Dir, name: &[u8]) -> Result<Vec<Aside<'a>>> {
    let options = ReadOptions { buffer_bytes: 128 << 10, threads: 1, shares: 1, resolve_types: false };
    let mut reader = backend::by_name(LISTED_BY)?.open(parent, &options)?;
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        for entry in batch {
            let why =
                [Why::Detached, Why::Renewed].into_iter().find(|why| name::is_of(*why, name, entry.name));
            if let Some(why) = why
                && let Ok(name) = CString::new(entry.name)
                && let Some(lock) = system::lock_leftover(parent, &name)
            {
                found.push(Aside { parent, name, why, _lock: lock });
            }
        }
    }
    Ok(found)
}
