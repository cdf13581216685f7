//! Windows: directories and files by handle, and the four ways of reading a directory.
//!
//! * [`open`]: opening below an open directory, without following anything.
//! * [`enumerate`]: many entries a call, by handle: `GetFileInformationByHandleEx`, `NtQueryDirectoryFile`.
//! * [`find`]: an entry a call: `FindFirstFileExW`, `FindNextFileW`.
//! * [`facts`]: what the system tells of one file, and of the volume that it lies on.
//!
//! What older systems (and Wine 8) lack is looked for when it is called, so that programs start everywhere.

pub mod enumerate;
pub mod facts;
pub mod find;
pub mod open;

use std::io;

use windows_sys::Win32::Foundation::{NTSTATUS, RtlNtStatusToDosError};

/// `STATUS_DELETE_PENDING`: the file is being removed and cannot be opened any more.
const DELETE_PENDING: NTSTATUS = 0xc000_0056_u32 as NTSTATUS;

/// Returns the error of Win32 for a status; a file that is being removed counts as not found.
fn error_of(status: NTSTATUS) -> io::Error {
    if status == DELETE_PENDING {
        return io::Error::from_raw_os_error(windows_sys::Win32::Foundation::ERROR_FILE_NOT_FOUND as i32);
    }
    // SAFETY: looks a number up in a table and touches no memory of ours.
    let code = unsafe { RtlNtStatusToDosError(status) };
    io::Error::from_raw_os_error(code as i32)
}
