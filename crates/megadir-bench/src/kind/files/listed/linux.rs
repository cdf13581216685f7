//! Linux: the C library's stream, as programs list a directory.

use std::io;

use megadir_sys::readdir::DirStream;

use crate::os::{Borrowed, Owned};

/// The type byte of a directory (`DT_DIR`).
const KIND_DIRECTORY: u8 = 4;

/// A directory that is being listed.
pub(crate) struct Stream(DirStream);

/// An entry, valid until the next one.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) is_directory: bool,
}

impl Stream {
    /// Takes an open directory.
    pub(crate) fn open(directory: Owned) -> io::Result<Self> {
        DirStream::open(directory).map(Self)
    }

    /// Returns the next entry, and the directory that it is in.
    #[inline]
    pub(crate) fn next_below(&mut self) -> io::Result<Option<(Borrowed<'_>, Entry<'_>)>> {
        let next = self.0.next_below()?;
        Ok(next.map(|(directory, entry)| {
            (directory, Entry { name: entry.name, is_directory: entry.kind == KIND_DIRECTORY })
        }))
    }
}
