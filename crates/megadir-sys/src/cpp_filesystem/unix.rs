//! Paths, names and errors as C++ has them on Unix: bytes, and the system's own numbers.

use std::path::Path;

/// Tells why a directory cannot be listed: any can.
pub(super) fn refused(_directory: &Path) -> Option<&'static str> {
    None
}

#[cfg(megadir_cpp)]
pub(super) mod compiled {
    use std::borrow::Cow;
    use std::ffi::CString;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// A character of paths.
    pub(in super::super) type Unit = u8;

    /// Returns a path with its NUL.
    pub(in super::super) fn path(path: &Path) -> io::Result<Vec<Unit>> {
        Ok(CString::new(path.as_os_str().as_bytes())?.into_bytes_with_nul())
    }

    /// Returns a name as bytes.
    pub(in super::super) fn name(name: &[Unit]) -> Cow<'_, [u8]> {
        Cow::Borrowed(name)
    }

    /// Returns an error by its number.
    pub(in super::super) fn error(errno: i32) -> io::Error {
        io::Error::from_raw_os_error(errno)
    }
}
