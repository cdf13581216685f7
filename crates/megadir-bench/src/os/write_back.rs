//! Waits until written data are on the disk, so that the next measurement does not pay for them. On Windows
//! this requires an administrator; otherwise the record says so.

use std::io::{self, ErrorKind};
use std::sync::atomic::AtomicU64;

use crate::control::{WRITING_BACK, marked};
use crate::os::{self, At};

/// Writes back the file system of a directory; returns `false` if the system did not let this process wait for
/// it.
pub(crate) fn write_back(directory: &impl At, heartbeat: &AtomicU64) -> io::Result<bool> {
    match marked(heartbeat, WRITING_BACK, || os::sync(directory.at())) {
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
