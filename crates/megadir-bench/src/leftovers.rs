//! What killed runs left, as a value, and its removal without a run.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// What was found of earlier runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Directories that were removed, or would be.
    pub removed: Vec<String>,
    /// Directories that carry the name and were left alone, with the reason.
    pub left: Vec<(String, String)>,
}

/// Removes the directories that killed runs left below `parent`; `beat` is counted up as a sign of life.
///
/// # Errors
///
/// When `parent` cannot be read; what cannot be removed is among [`Leftovers::left`].
pub fn clean(parent: &Path, beat: &AtomicU64) -> io::Result<Leftovers> {
    crate::workspace::remove_leftovers(parent, beat)
}

/// Returns what [`clean`] would remove below `parent`, and removes nothing.
///
/// # Errors
///
/// When `parent` cannot be read.
pub fn leftovers(parent: &Path) -> io::Result<Leftovers> {
    crate::workspace::find_leftovers(parent)
}
