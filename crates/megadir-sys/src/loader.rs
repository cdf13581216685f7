//! Libraries that are found when the program runs, so that it starts on machines without them.

use std::ffi::{CStr, c_void};
use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
pub(crate) fn load(path: &Path) -> io::Result<*mut c_void> {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name ends with NUL. Initialisers of the library run, as for any linked one. GLOBAL: plugins of
    // Open MPI look for symbols of the library that loads them.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() { Err(last_error()) } else { Ok(library) }
}

#[cfg(target_os = "linux")]
pub(crate) fn find(library: *mut c_void, symbol: &CStr) -> io::Result<*mut c_void> {
    // SAFETY: the library is open, and the name ends with NUL.
    let address = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    if address.is_null() { Err(last_error()) } else { Ok(address) }
}

#[cfg(target_os = "linux")]
fn last_error() -> io::Error {
    // SAFETY: the call has no condition.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return io::Error::other("unknown error of the loader");
    }
    // SAFETY: the text ends with NUL, and is valid until the next call of the loader in this thread.
    io::Error::other(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn load(_path: &Path) -> io::Result<*mut c_void> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn find(_library: *mut c_void, _symbol: &CStr) -> io::Result<*mut c_void> {
    Err(io::ErrorKind::Unsupported.into())
}
