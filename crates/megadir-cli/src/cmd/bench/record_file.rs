//! The file of a record while a run writes it: others may read it meanwhile, and nobody else goes on with it.
//!
//! On Linux it is locked, which readers do not ask for. A lock of Windows would keep them from reading, so there the file is opened in a way
//! that lets nobody else write.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

const TAKEN: &str = "another run is writing it";

/// Makes the file, which must be new.
pub(super) fn create(path: &Path) -> io::Result<File> {
    alone(path, File::options().write(true).create_new(true))
}

/// Opens a file that is there, to go on with it.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // Appending alone would not let Windows cut a line off.
    alone(path, File::options().read(true).write(true).append(cfg!(unix)))
}

/// Opens a file that nobody else writes; file systems without locks are taken as they are.
#[cfg(unix)]
fn alone(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(io::Error::other(TAKEN)),
        Err(std::fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Opens a file that nobody else writes.
#[cfg(windows)]
fn alone(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    /// `FILE_SHARE_READ`
    const SHARE_READ: u32 = 1;
    /// `ERROR_SHARING_VIOLATION`
    const SHARING_VIOLATION: i32 = 32;
    options.share_mode(SHARE_READ).open(path).map_err(|error| match error.raw_os_error() {
        Some(SHARING_VIOLATION) => io::Error::other(TAKEN),
        _ => error,
    })
}
