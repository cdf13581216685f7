//! Filling a directory where the engine cannot: says so.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::{Files, FillError, FillProgress, Filled, Rehearsed};

/// Refuses to fill a directory.
///
/// # Errors
///
/// Always [`FillError::Unavailable`].
pub fn fill(
    _path: &Path,
    _files: &Files,
    _progress: &mut dyn FnMut(FillProgress),
    _stop: &AtomicBool,
) -> Result<Filled, FillError> {
    Err(FillError::Unavailable)
}

/// Refuses to tell what filling a directory would do.
///
/// # Errors
///
/// Always [`FillError::Unavailable`].
pub fn rehearse(
    _path: &Path,
    _files: &Files,
    _progress: &mut dyn FnMut(FillProgress),
    _stop: &AtomicBool,
) -> Result<Rehearsed, FillError> {
    Err(FillError::Unavailable)
}
