//! Windows: directories and files by handle, the four ways of reading a directory, system properties.
//!
//! Calls that older systems (and Wine 8) lack are looked up at run time, so that programs start everywhere.

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

/// A file that is being removed counts as not found, and a directory in place of a file as a directory (Win32
/// reports "access denied" for both).
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
    // SAFETY: looks up a number in a table and touches no memory of ours.
    let code = unsafe { RtlNtStatusToDosError(status) };
    io::Error::from_raw_os_error(code as i32)
}

/// `true` if the system or the file system does not know the request.
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
