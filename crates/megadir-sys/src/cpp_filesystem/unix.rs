//! Paths, names and errors of C++ on Unix: bytes and errno values.

use std::path::Path;

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

    pub(in super::super) type Unit = u8;

    pub(in super::super) fn path(path: &Path) -> io::Result<Vec<Unit>> {
        Ok(CString::new(path.as_os_str().as_bytes())?.into_bytes_with_nul())
    }

    pub(in super::super) fn name(name: &[Unit]) -> Cow<'_, [u8]> {
        Cow::Borrowed(name)
    }

    pub(in super::super) fn error(errno: i32) -> io::Error {
        io::Error::from_raw_os_error(errno)
    }
}
