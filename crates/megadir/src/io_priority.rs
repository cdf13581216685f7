//! Letting others use the disk first.

use std::path::Path;

#[cfg(not(windows))]
use megadir_sys::io_priority;
#[cfg(windows)]
use megadir_sys::windows::io_priority;

use crate::error::{Error, Result};

/// Puts the calling thread, and those that it starts later, into the idle class of I/O priorities, as `ionice -c 3` does.
///
/// What that does depends on the disk's I/O scheduler: BFQ heeds it, mq-deadline since Linux 5.14 does, `none` does not.
///
/// On Windows the whole process gets the lowest I/O priority.
///
/// # Errors
///
/// What ioprio_set(2) gives; a container's filter may refuse it.
pub fn make_idle() -> Result<()> {
    let made = io_priority::make_idle();
    made.map_err(|error| Error::io("set the I/O priority to idle", Path::new(""), error))
}
