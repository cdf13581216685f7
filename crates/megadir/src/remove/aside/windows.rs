//! Putting directories aside on Windows.
//!
//! The directory is renamed by its handle, so that it is the one that was opened, and a mutex that its new name tells, held by
//! its process as long as that lives, is the lock. A directory in which anything is open cannot be renamed there. None is made anew: Windows
//! exchanges no two directories in one step, so that the name would be missing meanwhile.

use std::ffi::{CStr, CString};
use std::os::windows::io::{AsHandle, OwnedHandle};

use megadir_sys::windows::{change, mutex};

use super::{Aside, Why, name};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::names;
use crate::remove::engine::component;
use crate::remove::engine::system::{Errno, Opener, open_directory_to_rename};

/// The lock of what lies aside.
pub(super) type Lock = OwnedHandle;

/// Locks what lies aside; nothing where another process has, or where it is no directory.
pub(super) fn lock_leftover(parent: &Dir, name: &CStr) -> Option<Lock> {
    Opener::new(false).below(parent, name).ok()?;
    lock(name.to_bytes())
}

fn lock(name: &[u8]) -> Option<Lock> {
    // Of all sessions, since services have one of their own.
    let name: Vec<u16> = "Global\\".encode_utf16().chain(names::to_wide(name)?).collect();
    mutex::hold_new(&name)
}

/// Renames a directory to a hidden name beside it.
///
/// # Errors
///
/// As opening it gives ([`ErrorKind::NotADirectory`] for what is none, a reparse point too), or what renaming it gives: it is refused while
/// anything in it is open.
pub fn detach<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let path = parent.path().join(names::to_os(name)?);
    let entry = component(name, &path)?;
    let directory = open_directory_to_rename(parent, &entry).map_err(|error| match error {
        Errno::NOTDIR => {
            Error::new("open", &path, ErrorKind::NotADirectory, "no directory, or one that lies elsewhere")
        }
        error => Error::io("open", &path, error.into()),
    })?;
    let aside = name::fresh(Why::Detached, name);
    let failed = |reason| Error::new("rename", &path, ErrorKind::Unavailable, reason);
    let lock = lock(aside.as_bytes()).ok_or_else(|| failed("no lock is to be had for it"))?;
    let wide: Vec<u16> = aside.encode_utf16().collect();
    let renamed = change::rename_new(directory.as_handle(), parent.as_handle(), &wide);
    renamed.map_err(|error| Error::io("rename", &path, error))?;
    let name = CString::new(aside).unwrap_or_default();
    Ok(Aside { parent, name, why: Why::Detached, _lock: lock })
}

/// Refuses: Windows exchanges no two directories in one step.
///
/// # Errors
///
/// Always [`ErrorKind::Unavailable`].
pub fn renew<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let path = parent.path().join(names::to_os(name)?);
    let reason = "Windows cannot exchange two directories in one step";
    Err(Error::new("make anew", &path, ErrorKind::Unavailable, reason))
}
