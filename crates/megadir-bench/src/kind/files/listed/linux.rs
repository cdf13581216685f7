//! Linux: the C library's directory stream, as most programs use it.

use std::io;

use megadir_sys::readdir::DirStream;

use crate::os::{Borrowed, Owned};

const KIND_DIRECTORY: u8 = 4;

pub(crate) struct Stream(DirStream);

impl Stream {
    pub(crate) fn open(directory: Owned) -> io::Result<Self> {
        DirStream::open(directory).map(Self)
    }

    /// Name of the next entry, and `true` for a directory.
    #[inline]
    pub(crate) fn next_below(&mut self) -> io::Result<Option<(Borrowed<'_>, &[u8], bool)>> {
        let next = self.0.next_below()?;
        Ok(next.map(|(directory, entry)| (directory, entry.name, entry.kind == KIND_DIRECTORY)))
    }
}
