//! Names that one process holds at a time; the system releases them when it ends for any reason. Reference: `CreateMutexW`.

use std::os::windows::io::{FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{ERROR_ALREADY_EXISTS, GetLastError};
use windows_sys::Win32::System::Threading::CreateMutexW;

/// `name` is `Global\...` for all sessions, without a NUL; held until the handle is closed. `None` if it exists
/// or cannot be created.
pub fn hold_new(name: &[u16]) -> Option<OwnedHandle> {
    let name = super::terminated(name.iter().copied());
    // SAFETY: the name ends with a NUL and lives until the call returns; there are no attributes.
    let made = unsafe { CreateMutexW(std::ptr::null(), 0, name.as_ptr()) };
    // SAFETY: reads a number of the calling thread, set by the call before.
    let told = unsafe { GetLastError() };
    if made.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so this is a handle that no other owner has.
    let made = unsafe { OwnedHandle::from_raw_handle(made) };
    (told != ERROR_ALREADY_EXISTS).then_some(made)
}
