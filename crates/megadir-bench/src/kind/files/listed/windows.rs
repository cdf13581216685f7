//! Windows: the library's default way of listing, a buffer a call.

use std::io;
use std::sync::Arc;

use megadir::{Dir, FileType, ReadOptions, Reader};

use crate::os::{self, At, Borrowed, Owned};

/// What is listed in one call, bytes: as much as FindFirstFileExW asks for with `LARGE_FETCH`.
const BUFFER_BYTES: usize = 64 << 10;

/// A directory that is being listed.
pub(crate) struct Stream {
    directory: Arc<Dir>,
    reader: Box<dyn Reader>,
    /// The names of one buffer, one after the other.
    names: Vec<u8>,
    /// Where each name ends, and whether it is a directory's.
    entries: Vec<(usize, bool)>,
    /// The entry that comes next, and where its name begins.
    next: usize,
    begins: usize,
}

/// An entry, valid until the next one.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) is_directory: bool,
}

impl Stream {
    /// Takes an open directory.
    pub(crate) fn open(directory: Owned) -> io::Result<Self> {
        let directory = Arc::new(Dir::from_descriptor(directory, "."));
        let options = ReadOptions { buffer_bytes: BUFFER_BYTES, threads: 1, shares: 1, resolve_types: false };
        let reader = megadir::backend(os::LISTED_BY)?.open_once(&directory, &options)?;
        Ok(Self { directory, reader, names: Vec::new(), entries: Vec::new(), next: 0, begins: 0 })
    }

    /// Returns the next entry, and the directory that it is in.
    pub(crate) fn next_below(&mut self) -> io::Result<Option<(Borrowed<'_>, Entry<'_>)>> {
        while self.next == self.entries.len() {
            self.names.clear();
            self.entries.clear();
            (self.next, self.begins) = (0, 0);
            let Some(batch) = self.reader.next_batch()? else { return Ok(None) };
            for entry in batch.entries() {
                self.names.extend_from_slice(entry.name);
                self.entries.push((self.names.len(), entry.kind == FileType::Directory));
            }
        }
        let (ends, is_directory) = self.entries[self.next];
        let name = &self.names[self.begins..ends];
        (self.next, self.begins) = (self.next + 1, ends);
        Ok(Some(((*self.directory).at(), Entry { name, is_directory })))
    }
}
