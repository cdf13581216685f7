//! Reads directories by handle.

use std::io;
use std::os::windows::io::AsHandle;

use megadir_sys::windows::enumerate::{Buffer, nt_query};
use megadir_sys::windows::is_not_known;

use super::Directory;
use crate::directory_information::{Layout, Records};
use crate::error::OfSystem;
use crate::{decode, names};

pub(in crate::remove::engine) const CALL_BYTES: usize = LARGE_BYTES / 2 * 3;

/// Records of 80 bytes plus two per character become at most 27 plus three.
const LARGE_BYTES: usize = 64 << 10;
pub(super) const SMALL_BYTES: usize = 8 << 10;

/// The two buffers are for calls with much and with little space: records grow when their names are encoded, and what
/// does not fit cannot be read again, because a handle on Windows does not return to a position. `class` falls back
/// to records without file IDs on the first file system that has none.
pub(in crate::remove::engine) struct Reader {
    large: Buffer,
    small: Buffer,
    encoded: Vec<u8>,
    name: Vec<u8>,
    class: Class,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("class", &self.class).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
struct Class {
    number: i32,
    layout: Layout,
}

/// `FileIdFullDirectoryInformation`, with file IDs.
const NUMBERED: Class = Class { number: 38, layout: Layout::IdFull };
/// `FileFullDirectoryInformation`, on every file system.
const PLAIN: Class = Class { number: 2, layout: Layout::Full };

impl Reader {
    pub(in crate::remove::engine) fn new() -> Self {
        Self {
            large: Buffer::new(LARGE_BYTES),
            small: Buffer::new(SMALL_BYTES),
            encoded: Vec::new(),
            name: Vec::new(),
            class: NUMBERED,
        }
    }

    /// From the start if any position is given; returns the number of bytes, 0 at the end. `to` has
    /// [`CALL_BYTES`], or at least 3/2 of [`SMALL_BYTES`].
    pub(in crate::remove::engine) fn read(
        &mut self,
        directory: &Directory,
        from: Option<u64>,
        to: &mut [u8],
    ) -> io::Result<usize> {
        let buffer = if to.len() < CALL_BYTES { &mut self.small } else { &mut self.large };
        let filled = match nt_query(directory.as_handle(), self.class.number, from.is_some(), buffer) {
            Err(error) if is_not_known(&error) => {
                self.class = PLAIN;
                nt_query(directory.as_handle(), self.class.number, from.is_some(), buffer)?
            }
            filled => filled?,
        };
        self.encoded.clear();
        let malformed =
            || io::Error::new(io::ErrorKind::InvalidData, "the system returned a malformed record");
        for record in Records::new(&buffer.bytes()[..filled.unwrap_or(0)], self.class.layout) {
            let record = record.map_err(|_| malformed())?;
            self.name.clear();
            names::push_wide(&mut self.name, record.name());
            let (inode, kind) = (record.found.file_id, record.found.kind().d_type());
            if self.name.contains(&0) || !decode::encode(&mut self.encoded, inode, 0, kind, &self.name) {
                return Err(malformed());
            }
        }
        to.get_mut(..self.encoded.len()).ok_or_else(malformed)?.copy_from_slice(&self.encoded);
        Ok(self.encoded.len())
    }
}

/// A Win32 error number, under the Linux name if the engine uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::remove) struct Errno(i32);

impl Errno {
    pub(in crate::remove) const NOENT: Self = Self(2); // ERROR_FILE_NOT_FOUND
    pub(in crate::remove) const MFILE: Self = Self(4); // ERROR_TOO_MANY_OPEN_FILES
    pub(in crate::remove) const PERM: Self = Self(5); // ERROR_ACCESS_DENIED
    pub(in crate::remove) const XDEV: Self = Self(17); // ERROR_NOT_SAME_DEVICE
    pub(in crate::remove) const BUSY: Self = Self(170); // ERROR_BUSY
    pub(super) const INVALID_NAME: Self = Self(123); // ERROR_INVALID_NAME
    pub(in crate::remove) const NOTEMPTY: Self = Self(145); // ERROR_DIR_NOT_EMPTY
    pub(in crate::remove) const EXIST: Self = Self(183); // ERROR_ALREADY_EXISTS
    pub(in crate::remove) const NOTDIR: Self = Self(267); // ERROR_DIRECTORY
    pub(in crate::remove) const ISDIR: Self = Self(336); // ERROR_DIRECTORY_NOT_SUPPORTED
    pub(in crate::remove) const NFILE: Self = Self(1450); // ERROR_NO_SYSTEM_RESOURCES
    pub(in crate::remove) const LOOP: Self = Self(4395); // ERROR_REPARSE_POINT_ENCOUNTERED
    /// Wine has followed a link.
    pub(super) const LED_AWAY: Self = Self(-1);
    /// The file system cannot distinguish a directory from another with its name.
    pub(super) const NO_IDENTITY: Self = Self(-2);
    pub(super) const LIES_ELSEWHERE: Self = Self(-3);

    pub(in crate::remove) fn raw_os_error(self) -> i32 {
        self.0
    }
}

impl OfSystem for Errno {}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(3) => Self::NOENT, // ERROR_PATH_NOT_FOUND
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
