//! Puts directories aside before removing them, so that their name is free, or empty, at once.
//!
//! [`detach`] renames a directory to a hidden name next to it. [`renew`] exchanges it atomically for an empty one with the same
//! metadata, so that the name always exists (an ext4 directory never shrinks). Both return an [`Aside`] to be removed.
//!
//! A killed process leaves at most one directory with a hidden name, which [`leftovers`] finds by a digest of the entry's name.
//! A directory that another process is removing is locked and skipped; processes that have it open stay in it. Windows has no
//! exchange, cannot put a directory with open files aside, and its lock is a mutex.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

use std::ffi::CString;

use sha2::{Digest, Sha256};

use super::engine::remove_tree;
use super::{Progress, RemoveOptions, Removed};
use crate::backend;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;

#[cfg(target_os = "linux")]
use self::linux as system;
#[cfg(target_os = "linux")]
pub(crate) use self::linux::{can_be_copied, lock};
pub use self::system::{check, detach, renew};
#[cfg(windows)]
use self::windows as system;

const LISTED_BY: &str = if cfg!(windows) { "by-handle" } else { "getdents" };

/// Reason why a directory was put aside.
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

/// A directory that was put aside, locked until this value is dropped.
#[derive(Debug)]
pub struct Aside<'a> {
    parent: &'a Dir,
    name: CString,
    why: Why,
    _lock: system::Lock,
}

impl Aside<'_> {
    /// Its current name, in the same parent directory.
    pub fn name(&self) -> &[u8] {
        self.name.to_bytes()
    }

    /// The reason why it was put aside.
    pub fn why(&self) -> Why {
        self.why
    }

    /// Removes the directory. Entries that cannot be removed stay below the hidden name for [`leftovers`].
    /// Errors: as [`remove_tree`]; [`ErrorKind::BadOption`] with conditions, an entry to keep or a dry run.
    pub fn remove(&self, options: &RemoveOptions<'_>, progress: &Progress) -> Result<Removed> {
        if !options.removes_all() || options.keep.is_some() || options.dry_run {
            let path = self.parent.entry_path(self.name());
            let reason = "renamed directories are removed completely";
            return Err(Error::new("remove", &path, ErrorKind::BadOption, reason));
        }
        remove_tree(self.parent, self.name(), options, progress)
    }
}

/// Finds directories that were put aside for an entry and not removed, because the process was killed or failed, except those
/// that another process is removing. Errors: the parent directory cannot be listed.
pub fn leftovers<'a>(parent: &'a Dir, name: &[u8]) -> Result<Vec<Aside<'a>>> {
    let options = ReadOptions::serial(128 << 10);
    let mut reader = backend::by_name(LISTED_BY)?.open(parent, &options)?;
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        for entry in batch {
            let why = [Why::Detached, Why::Renewed].into_iter().find(|why| is_of(*why, name, entry.name));
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

const CHECK_BYTES: usize = 8;

fn fresh(why: Why, of: &[u8]) -> String {
    use std::hash::{BuildHasher, Hasher};
    // Each `RandomState` has random keys.
    let random = std::hash::RandomState::new().build_hasher().finish();
    given(why, of, &format!("{random:016x}"))
}

fn is_of(why: Why, of: &[u8], name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(why.prefix().as_bytes()) else { return false };
    let Some(random) =
        rest.split_first_chunk::<16>().and_then(|(random, _)| std::str::from_utf8(random).ok())
    else {
        return false;
    };
    given(why, of, random).as_bytes() == name
}

fn given(why: Why, of: &[u8], random: &str) -> String {
    let mut digest = Sha256::new();
    for part in [why.prefix().as_bytes(), random.as_bytes(), of] {
        digest.update(part);
    }
    let check =
        digest.finalize()[..CHECK_BYTES].iter().fold(0_u64, |check, byte| check << 8 | u64::from(*byte));
    format!("{}{random}-{check:016x}", why.prefix())
}

#[cfg(test)]
mod tests {
    use super::{Why, fresh, is_of};

    #[test]
    fn a_name_is_of_one_entry_and_one_purpose() {
        let name = fresh(Why::Detached, b"cache");
        assert!(name.starts_with('.') && name.len() < 60, "{name}");
        assert!(is_of(Why::Detached, b"cache", name.as_bytes()));
        assert!(!is_of(Why::Renewed, b"cache", name.as_bytes()));
        assert!(!is_of(Why::Detached, b"cache2", name.as_bytes()));
        assert_ne!(name, fresh(Why::Detached, b"cache"));
        for cut in 0..name.len() {
            assert!(!is_of(Why::Detached, b"cache", &name.as_bytes()[..cut]));
            let mut other = name.clone().into_bytes();
            other[cut] ^= 1;
            assert!(!is_of(Why::Detached, b"cache", &other), "{cut}");
        }
    }
}
