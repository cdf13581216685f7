//! I/O priority: lets other processes use the disk first.

#[cfg(not(windows))]
use megadir_sys::process;
#[cfg(windows)]
use megadir_sys::windows::process;

use crate::error::{At, Result};

/// Sets the idle I/O class for the calling thread and threads it starts later, as `ionice -c 3` does. Effective with BFQ and,
/// since Linux 5.14, mq-deadline, but not with the scheduler `none`. On Windows the whole process gets the lowest I/O priority.
/// Errors: as ioprio_set(2); a container's seccomp filter may refuse the call.
pub fn make_idle() -> Result<()> {
    process::make_idle().at("set the I/O priority to idle", "")
}
