//! Windows has no `rm -rf`. Its nearest equivalent, `rmdir /s`, works by path, which may lead elsewhere than
//! the open directory.

use std::ffi::OsString;

use megadir::Dir;
use megadir_sys::usage::Usage;

use super::failed;
use crate::control::WorkError;

const REASON: &str = "rm -rf needs Linux";

/// Returns the reason why `rm` is unavailable.
pub(crate) fn unavailable() -> Option<String> {
    Some(REASON.to_owned())
}

pub(crate) fn names(_directory: &Dir) -> Result<Vec<OsString>, WorkError> {
    Ok(Vec::new())
}

pub(crate) fn remove(_directory: &Dir, _names: &[OsString]) -> Result<(), WorkError> {
    Err(failed(std::io::Error::new(std::io::ErrorKind::Unsupported, REASON)))
}

pub(crate) fn usage() -> Usage {
    Usage { user_ns: 0, system_ns: 0, read_bytes: Some(0) }
}
