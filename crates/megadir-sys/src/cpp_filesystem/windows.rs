//! Paths, names and errors as C++ has them on Windows: UTF-16, and the C library's numbers.

use std::os::windows::ffi::OsStrExt;
use std::path::Path;

/// The longest path of a directory, UTF-16 units: of the 259 that the C library takes, so many are left for names.
const UNITS_MAX: usize = 200;

/// Tells why a directory cannot be listed: the C library, which libstdc++ asks, takes no wildcards and no long paths.
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

    /// A character of paths.
    pub(in super::super) type Unit = u16;

    /// The C library's numbers of errors beside the system's.
    const ERRORS: [(i32, i32); 5] = [
        (2, 2),    // ENOENT, ERROR_FILE_NOT_FOUND
        (12, 8),   // ENOMEM, ERROR_NOT_ENOUGH_MEMORY
        (13, 5),   // EACCES, ERROR_ACCESS_DENIED
        (20, 267), // ENOTDIR, ERROR_DIRECTORY
        (22, 123), // EINVAL, ERROR_INVALID_NAME
    ];

    /// Returns a path with its NUL.
    pub(in super::super) fn path(path: &Path) -> io::Result<Vec<Unit>> {
        let mut units: Vec<Unit> = path.as_os_str().encode_wide().collect();
        if units.contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path with a NUL in it"));
        }
        units.push(0);
        Ok(units)
    }

    /// Returns a name as WTF-8.
    pub(in super::super) fn name(name: &[Unit]) -> Cow<'_, [u8]> {
        Cow::Owned(OsString::from_wide(name).into_encoded_bytes())
    }

    /// Returns an error by its number.
    pub(in super::super) fn error(errno: i32) -> io::Error {
        match ERRORS.iter().find(|(of_c, _)| *of_c == errno) {
            Some((_, of_system)) => io::Error::from_raw_os_error(*of_system),
            None => io::Error::other(format!("std::filesystem failed: errno {errno}")),
        }
    }
}
