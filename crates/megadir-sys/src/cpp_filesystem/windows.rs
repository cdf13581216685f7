//! Paths, names and errors of C++ on Windows: UTF-16, and the C library's error numbers.

use std::os::windows::ffi::OsStrExt;
use std::path::Path;

/// Longest directory, UTF-16 units; the rest of the C library's 259 is for names.
const UNITS_MAX: usize = 200;

/// Refuses wildcards and long paths, which the C library below libstdc++ rejects.
pub(super) fn refused(directory: &Path) -> Option<&'static str> {
    let wildcard = |unit: u16| unit == u16::from(b'?') || unit == u16::from(b'*');
    let full = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    if directory.as_os_str().encode_wide().any(wildcard) {
        return Some(
            "C++'s std::filesystem, as mingw has it, takes no path with `?`, such as \\\\?\\C:\\folder",
        );
    }
    let long = full.as_os_str().encode_wide().count() > UNITS_MAX;
    long.then_some("C++'s std::filesystem, as mingw has it, takes no long paths")
}

#[cfg(megadir_cpp)]
pub(super) mod compiled {
    use std::borrow::Cow;
    use std::ffi::OsString;
    use std::io;
    use std::os::windows::ffi::{OsStrExt, OsStringExt};
    use std::path::Path;

    pub(in super::super) type Unit = u16;

    /// Error numbers of the C library and of Windows.
    const ERRORS: [(i32, i32); 5] = [
        (2, 2),    // ENOENT, ERROR_FILE_NOT_FOUND
        (12, 8),   // ENOMEM, ERROR_NOT_ENOUGH_MEMORY
        (13, 5),   // EACCES, ERROR_ACCESS_DENIED
        (20, 267), // ENOTDIR, ERROR_DIRECTORY
        (22, 123), // EINVAL, ERROR_INVALID_NAME
    ];

    pub(in super::super) fn path(path: &Path) -> io::Result<Vec<Unit>> {
        let mut units: Vec<Unit> = path.as_os_str().encode_wide().collect();
        if units.contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path with a NUL in it"));
        }
        units.push(0);
        Ok(units)
    }

    pub(in super::super) fn name(name: &[Unit]) -> Cow<'_, [u8]> {
        Cow::Owned(OsString::from_wide(name).into_encoded_bytes())
    }

    pub(in super::super) fn error(errno: i32) -> io::Error {
        match ERRORS.iter().find(|(of_c, _)| *of_c == errno) {
            Some((_, of_system)) => io::Error::from_raw_os_error(*of_system),
            None => io::Error::other(format!("std::filesystem failed: errno {errno}")),
        }
    }
}
