//! Linux: the C library's directory stream, as most programs use it.

use std::io;

use megadir_sys::readdir::DirStream;

use crate::os::{Borrowed, Owned};

const KIND_DIRECTORY: u8 = 4;

pub(crate) struct Stream(DirStream);

/// Valid until the next entry.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) is_directory: bool,
}

impl Stream {
    pub(crate) fn open(directory: Owned) -> io::Result<Self> {
        DirStream::open(directory).map(Self)
    }

    #[inline]
    pub(crate) fn next_below(&mut self) -> io::Result<Option<(Borrowed<'_>, Entry<'_>)>> {
        let next = self.0.next_below()?;
        Ok(next.map(|(directory, entry)| {
            (directory, Entry { name: entry.name, is_directory: entry.kind == KIND_DIRECTORY })
        }))
    }
}
