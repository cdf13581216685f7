//! Names as bytes: on Unix the kernel's own, elsewhere WTF-8.
//!
//! WTF-8 is UTF-8 that may also hold unpaired surrogates, so that every name of Windows has exactly
//! one form as bytes. Reference: <https://simonsapin.github.io/wtf-8/>.

use std::borrow::Cow;
use std::ffi::OsStr;

/// Returns a name's bytes.
pub fn from_os(name: &OsStr) -> &[u8] {
    // On Unix these are the name's own bytes, on Windows its WTF-8.
    name.as_encoded_bytes()
}

/// Returns the name that bytes stand for.
///
/// # Errors
///
/// Off Unix, bytes that are not UTF-8: names with unpaired surrogates cannot be looked up by this
/// version there (they are listed unharmed).
pub fn to_os(name: &[u8]) -> crate::Result<Cow<'_, OsStr>> {
    #[cfg(unix)]
    {
        Ok(Cow::Borrowed(std::os::unix::ffi::OsStrExt::from_bytes(name)))
    }
    #[cfg(not(unix))]
    {
        match std::str::from_utf8(name) {
            Ok(name) => Ok(Cow::Borrowed(OsStr::new(name))),
            Err(_) => Err(crate::Error::new(
                "open",
                std::path::Path::new(&*String::from_utf8_lossy(name)),
                crate::ErrorKind::Unavailable,
                "a name with unpaired surrogates cannot be opened by this version",
            )),
        }
    }
}
