//! Windows errors under the Linux names that the engine uses.

use std::io;

/// A Win32 error number, under the Linux name if the engine uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::remove) struct Errno(i32);

impl Errno {
    /// `ERROR_FILE_NOT_FOUND`.
    pub(in crate::remove) const NOENT: Self = Self(2);
    /// `ERROR_TOO_MANY_OPEN_FILES`.
    pub(in crate::remove) const MFILE: Self = Self(4);
    /// `ERROR_ACCESS_DENIED`.
    pub(in crate::remove) const PERM: Self = Self(5);
    /// `ERROR_NOT_SAME_DEVICE`.
    pub(in crate::remove) const XDEV: Self = Self(17);
    /// `ERROR_INVALID_NAME`.
    pub(super) const INVALID_NAME: Self = Self(123);
    /// `ERROR_DIR_NOT_EMPTY`.
    pub(in crate::remove) const NOTEMPTY: Self = Self(145);
    /// `ERROR_ALREADY_EXISTS`.
    pub(in crate::remove) const EXIST: Self = Self(183);
    /// `ERROR_DIRECTORY`.
    pub(in crate::remove) const NOTDIR: Self = Self(267);
    /// `ERROR_DIRECTORY_NOT_SUPPORTED`.
    pub(in crate::remove) const ISDIR: Self = Self(336);
    /// `ERROR_NO_SYSTEM_RESOURCES`.
    pub(in crate::remove) const NFILE: Self = Self(1450);
    /// `ERROR_REPARSE_POINT_ENCOUNTERED`.
    pub(in crate::remove) const LOOP: Self = Self(4395);
    /// Wine has followed a link.
    pub(super) const LED_AWAY: Self = Self(-1);
    /// The file system does not distinguish this directory from one that takes its name.
    pub(super) const NO_IDENTITY: Self = Self(-2);
    /// The contents of a folder are elsewhere.
    pub(super) const LIES_ELSEWHERE: Self = Self(-3);

    pub(in crate::remove) fn raw_os_error(self) -> i32 {
        self.0
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            // `ERROR_PATH_NOT_FOUND`.
            Some(3) => Self::NOENT,
            Some(code) => Self(code),
            None => Self::INVALID_NAME,
        }
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> Self {
        match error {
            Errno::LED_AWAY => Self::other("Wine would follow this symbolic link, so it is not touched"),
            Errno::NO_IDENTITY => {
                Self::other("this file system has no file IDs, so nothing is removed by name")
            }
            Errno::LIES_ELSEWHERE => Self::other("its contents are elsewhere (cloud storage) and unknown"),
            Errno(code) => Self::from_raw_os_error(code),
        }
    }
}
