//! Systems on which limits are not supported.

use super::answer::Asked;
use super::answer::Limits;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};

const REASON: &str = "not available on this system";

/// Always fails with [`ErrorKind::Unavailable`]: not supported on this system.
pub fn limits(directory: &Dir, _asked: &Asked<'_>) -> Result<Limits> {
    Err(Error::new("limits", directory.path(), ErrorKind::Unavailable, REASON))
}
