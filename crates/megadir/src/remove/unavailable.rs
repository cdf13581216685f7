//! Systems on which removal is not supported.

use super::{Progress, RemoveOptions, Removed};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};

/// Always fails: not supported on this system.
///
/// # Errors
///
/// Always [`ErrorKind::Unavailable`].
pub fn remove_tree(
    parent: &Dir,
    _name: &[u8],
    _options: &RemoveOptions<'_>,
    _progress: &Progress,
) -> Result<Removed> {
    remove_contents(parent, _options, _progress)
}

/// Always fails: not supported on this system.
///
/// # Errors
///
/// Always [`ErrorKind::Unavailable`].
pub fn remove_contents(
    directory: &Dir,
    _options: &RemoveOptions<'_>,
    _progress: &Progress,
) -> Result<Removed> {
    Err(Error::new("remove", directory.path(), ErrorKind::Unavailable, "unavailable on this system"))
}
