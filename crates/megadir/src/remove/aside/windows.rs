//! Puts directories aside on Windows, by handle. The lock is a mutex named after the new name.

use std::ffi::{CStr, CString};
use std::os::windows::io::{AsHandle, OwnedHandle};

use megadir_sys::windows::{change, process};

use super::super::aside;
use super::{Aside, Why};
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::names;
use crate::remove::engine::component;
use crate::remove::engine::system::{Errno, open_below, open_directory_to_rename};

pub(super) type Lock = OwnedHandle;

pub(super) fn lock_leftover(parent: &Dir, name: &CStr) -> Option<Lock> {
    open_below(parent, name, false).ok()?;
    lock(name.to_bytes())
}

fn lock(name: &[u8]) -> Option<Lock> {
    // Services have sessions of their own.
    let name: Vec<u16> = "Global\\".encode_utf16().chain(names::to_wide(name)?).collect();
    process::hold_new(&name)
}

/// Renames a directory to a hidden name next to it. Errors: [`ErrorKind::NotADirectory`] (also for a reparse point), or the
/// error of opening or renaming it: Windows refuses that while a file in it is open.
pub fn detach<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let path = parent.path().join(names::to_os(name)?);
    let entry = component(name, &path)?;
    let directory = open_directory_to_rename(parent, &entry).map_err(|error| match error {
        Errno::NOTDIR => {
            Error::new("open", &path, ErrorKind::NotADirectory, "not a directory, or a reparse point")
        }
        error => Error::io("open", &path, error.into()),
    })?;
    let aside = aside::fresh(Why::Detached, name);
    let failed = |reason| Error::new("rename", &path, ErrorKind::Unavailable, reason);
    let lock = lock(aside.as_bytes()).ok_or_else(|| failed("cannot lock it"))?;
    let wide: Vec<u16> = aside.encode_utf16().collect();
    change::rename_new(directory.as_handle(), parent.as_handle(), &wide).at("rename", &path)?;
    let name = CString::new(aside).unwrap_or_default();
    Ok(Aside { parent, name, why: Why::Detached, _lock: lock })
}

/// As [`renew`]; what [`detach`] would return is not foreseen.
pub fn check(parent: &Dir, name: &[u8], why: Why) -> Result<()> {
    match why {
        Why::Detached => Ok(()),
        Why::Renewed => renew(parent, name).map(drop),
    }
}

/// Always fails with [`ErrorKind::Unavailable`]: Windows cannot exchange two directories atomically.
pub fn renew<'a>(parent: &'a Dir, name: &[u8]) -> Result<Aside<'a>> {
    let path = parent.path().join(names::to_os(name)?);
    let reason = "Windows cannot exchange two directories atomically";
    Err(Error::new("renew", &path, ErrorKind::Unavailable, reason))
}
