//! Names that one process holds at a time, and nobody any more once it has ended, however that comes.
//!
//! Reference: `CreateMutexW`.

use std::os::windows::io::{FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{ERROR_ALREADY_EXISTS, GetLastError};
use windows_sys::Win32::System::Threading::CreateMutexW;

/// Makes a mutex with a name (`Global\...` for all sessions), given without a NUL; nothing where there is one, or where its like cannot be
/// made. It is there until the handle is closed.
pub fn hold_new(name: &[u16]) -> Option<OwnedHandle> {
    let name: Vec<u16> = name.iter().copied().filter(|unit| *unit != 0).chain([0]).collect();
    // SAFETY: the name ends with a NUL and lives until the call returns; there are no attributes.
    let made = unsafe { CreateMutexW(std::ptr::null(), 0, name.as_ptr()) };
    // SAFETY: reads a number of the calling thread, set by the call before.
    let told = unsafe { GetLastError() };
    if made.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so this is a handle that nobody else has.
    let made = unsafe { OwnedHandle::from_raw_handle(made) };
    (told != ERROR_ALREADY_EXISTS).then_some(made)
}
