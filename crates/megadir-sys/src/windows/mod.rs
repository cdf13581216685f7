//! Windows: directories and files by handle, and the four ways of reading a directory.
//!
//! * [`open`]: opening below an open directory, without following anything.
//! * [`enumerate`]: many entries a call, by handle: `GetFileInformationByHandleEx`, `NtQueryDirectoryFile`.
//! * [`find`]: an entry a call: `FindFirstFileExW`, `FindNextFileW`.
//! * [`facts`]: what the system tells of one file; [`volume`]: of the room on the volume that it lies on.
//! * [`volume_settings`]: what a volume was made and set to be; [`disk`]: what its device is.
//! * [`owner`]: whether a file is this user's; [`access_list`]: who may do what with it.
//! * [`change`]: removing and renaming by handle.
//! * [`process`]: processes that work together: handles handed over, a gate, none outlives its starter.
//! * [`file_cache`]: forgetting what is cached of files.
//! * [`io_priority`]: letting others use the disk first.
//! * [`mutex`]: names that one process holds at a time.
//! * [`console`]: who presses Ctrl-C or Ctrl-Break is told of.
//! * [`system`]: what the system tells of itself; [`service`]: whether services and drivers run.
//!
//! What older systems (and Wine 8) lack is looked for when it is called, so that programs start everywhere.

pub mod access_list;
pub mod change;
pub mod console;
pub mod disk;
pub mod enumerate;
pub mod facts;
pub mod file_cache;
pub mod find;
pub mod io_priority;
pub mod mutex;
pub mod open;
pub mod owner;
pub mod process;
pub mod service;
pub mod system;
pub mod volume;
pub mod volume_settings;

use std::io;

use windows_sys::Win32::Foundation::{
    ERROR_CALL_NOT_IMPLEMENTED, ERROR_DIRECTORY_NOT_SUPPORTED, ERROR_FILE_NOT_FOUND, ERROR_INVALID_FUNCTION,
    ERROR_INVALID_LEVEL, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, NTSTATUS, RtlNtStatusToDosError,
    STATUS_DELETE_PENDING, STATUS_FILE_DELETED, STATUS_FILE_IS_A_DIRECTORY, STATUS_INVALID_DEVICE_REQUEST,
    STATUS_INVALID_INFO_CLASS, STATUS_INVALID_PARAMETER, STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED,
};

/// Returns the error of Win32 for a status; a file that is being removed, or was while it was open, counts as not found, a directory where a file was
/// wanted as a directory (Win32 says "access denied" of both).
fn error_of(status: NTSTATUS) -> io::Error {
    match status {
        STATUS_DELETE_PENDING | STATUS_FILE_DELETED => {
            return io::Error::from_raw_os_error(ERROR_FILE_NOT_FOUND as i32);
        }
        STATUS_FILE_IS_A_DIRECTORY => {
            return io::Error::from_raw_os_error(ERROR_DIRECTORY_NOT_SUPPORTED as i32);
        }
        _ => {}
    }
    // SAFETY: looks a number up in a table and touches no memory of ours.
    let code = unsafe { RtlNtStatusToDosError(status) };
    io::Error::from_raw_os_error(code as i32)
}

/// Tells whether a status says that the system or the file system does not know what was asked.
fn is_unknown(status: NTSTATUS) -> bool {
    matches!(
        status,
        STATUS_INVALID_INFO_CLASS
            | STATUS_INVALID_PARAMETER
            | STATUS_INVALID_DEVICE_REQUEST
            | STATUS_NOT_SUPPORTED
            | STATUS_NOT_IMPLEMENTED
    )
}

/// Tells whether an error says that the system or the file system does not know what was asked for.
pub fn is_not_known(error: &io::Error) -> bool {
    let codes = [
        ERROR_INVALID_FUNCTION,
        ERROR_NOT_SUPPORTED,
        ERROR_INVALID_PARAMETER,
        ERROR_CALL_NOT_IMPLEMENTED,
        ERROR_INVALID_LEVEL,
    ];
    error.raw_os_error().is_some_and(|code| codes.contains(&code.cast_unsigned()))
}
