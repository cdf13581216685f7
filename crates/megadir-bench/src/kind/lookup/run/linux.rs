//! Linux: one `fstatat` per look-up, relative to the directory, without following symbolic links.

use std::ffi::CString;
use std::io;

use megadir::Dir;
use megadir_record::LookupCall;
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use crate::os::Borrowed;

pub(crate) type Name = CString;

pub(crate) fn unavailable(call: LookupCall, _directory: &Dir, _present: Option<CString>) -> Option<String> {
    (call != LookupCall::Fstatat).then(|| "a Windows call".to_owned())
}

pub(crate) fn prepare(
    _call: LookupCall,
    _directory: &Dir,
    names: impl Iterator<Item = CString>,
) -> io::Result<Vec<Name>> {
    Ok(names.collect())
}

/// `true` if a name exists.
#[inline]
pub(crate) fn exists(_call: LookupCall, directory: Borrowed<'_>, name: &Name) -> io::Result<bool> {
    match statat(directory, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
