//! Letting others use the disk first.

use std::path::Path;

use crate::error::{Error, Result};

/// Puts the calling thread, and those that it starts later, into the idle class of I/O priorities, as `ionice -c 3` does.
///
/// What that does depends on the disk's I/O scheduler: BFQ heeds it, mq-deadline since Linux 5.14 does, `none` does not.
///
/// # Errors
///
/// What ioprio_set(2) gives; a container's filter may refuse it.
pub fn make_idle() -> Result<()> {
    let made = megadir_sys::io_priority::make_idle();
    made.map_err(|error| Error::io("set the I/O priority to idle", Path::new(""), error))
}
