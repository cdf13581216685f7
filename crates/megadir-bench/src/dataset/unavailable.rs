//! Filling a directory where the engine cannot: says so.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::{FillError, FillProgress, FillSpec, Filled};

/// Refuses to fill a directory.
///
/// # Errors
///
/// Always [`FillError::Unavailable`].
pub fn fill(
    _path: &Path,
    _spec: &FillSpec,
    _progress: &mut dyn FnMut(FillProgress),
    _stop: &AtomicBool,
) -> Result<Filled, FillError> {
    Err(FillError::Unavailable)
}
