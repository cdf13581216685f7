//! Systems on which nothing is found out yet.

use super::answer::Limits;
use super::asked::Asked;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};

const REASON: &str = "not available on this system";

/// Refuses to tell how many entries fit a directory.
///
/// # Errors
///
/// Always [`ErrorKind::Unavailable`].
pub fn limits(directory: &Dir, _asked: &Asked<'_>) -> Result<Limits> {
    Err(Error::new("limits", directory.path(), ErrorKind::Unavailable, REASON))
}
