//! Windows: the library's default backend, one buffer per call.

use std::io;
use std::sync::Arc;

use megadir::{Dir, FileType, ReadOptions, Reader};

use crate::os::{self, At, Borrowed, Owned};

/// Buffer of one call, bytes; FindFirstFileExW with `LARGE_FETCH` uses the same.
const BUFFER_BYTES: usize = 64 << 10;

pub(crate) struct Stream {
    directory: Arc<Dir>,
    reader: Box<dyn Reader>,
    names: Vec<u8>,
    /// End of each name, and `true` for a directory.
    entries: Vec<(usize, bool)>,
    next: usize,
    begins: usize,
}

impl Stream {
    pub(crate) fn open(directory: Owned) -> io::Result<Self> {
        let directory = Arc::new(Dir::from_descriptor(directory, "."));
        let options = ReadOptions::serial(BUFFER_BYTES);
        let reader = megadir::backend(os::LISTED_BY)?.open_once(&directory, &options)?;
        Ok(Self { directory, reader, names: Vec::new(), entries: Vec::new(), next: 0, begins: 0 })
    }

    pub(crate) fn next_below(&mut self) -> io::Result<Option<(Borrowed<'_>, &[u8], bool)>> {
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
        Ok(Some(((*self.directory).at(), name, is_directory)))
    }
}
