//! Windows has no `rm -rf`, and what comes nearest (`rmdir /s`) goes by path, so that it might not remove what is open.

use std::ffi::OsString;

use megadir::Dir;
use megadir_sys::usage::Usage;

use super::failed;
use crate::control::WorkError;

const REASON: &str = "rm -rf is a program of Linux";

/// Returns the reason why there is no such process.
pub(crate) fn unavailable() -> Option<String> {
    Some(REASON.to_owned())
}

/// Returns no names.
pub(crate) fn names(_directory: &Dir) -> Result<Vec<OsString>, WorkError> {
    Ok(Vec::new())
}

/// Refuses.
pub(crate) fn remove(_directory: &Dir, _names: &[OsString]) -> Result<(), WorkError> {
    Err(failed(std::io::Error::new(std::io::ErrorKind::Unsupported, REASON)))
}

/// Returns the processor time of no process.
pub(crate) fn usage() -> Usage {
    Usage { user_ns: 0, system_ns: 0, read_bytes: Some(0) }
}
