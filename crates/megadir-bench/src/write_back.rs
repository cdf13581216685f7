//! Having what was written reach the disk, so that what is measured next does not pay for it.
//!
//! On Windows that takes an administrator, and a volume that can; without, the run goes on, and its record says so.

use std::io::{self, ErrorKind};
use std::sync::atomic::AtomicU64;

use crate::at::{self, At};
use crate::control::{WRITING_BACK, marked};

/// Writes back what was written to the file system of a directory; tells whether the system let this process wait for it.
pub(crate) fn write_back(directory: &impl At, heartbeat: &AtomicU64) -> io::Result<bool> {
    match marked(heartbeat, WRITING_BACK, || at::sync(directory.at())) {
        Ok(()) => Ok(true),
        Err(error)
            if cfg!(windows)
                && matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
