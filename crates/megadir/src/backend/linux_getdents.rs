//! Backend `getdents`: getdents64 into a buffer of the reader's own, decoded in place.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use megadir_sys::readdir::getdents64;
use megadir_sys::usage::thread_waits;

use super::{Backend, Reader, resolve};
use crate::batch::Batch;
use crate::decode::{self, Checked, Malformed};
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::options::{RECORD_BYTES_MAX, ReadAhead, ReadOptions};
use crate::read_ahead;

pub(crate) struct Getdents;

impl Backend for Getdents {
    fn name(&self) -> &'static str {
        "getdents"
    }

    fn about(&self) -> &'static str {
        "getdents64 into a buffer of 4 KiB to 16 MiB, decoded in place, one thread"
    }

    fn uses_buffer(&self) -> bool {
        true
    }

    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        self.open_once(&Arc::new(directory.again_for_reader()?), options)
    }

    fn open_again(
        &self,
        directory: &Arc<Dir>,
        options: &ReadOptions,
        mut buffer: Vec<u8>,
    ) -> Result<Box<dyn Reader>> {
        options.check_serial(self.name(), directory.dir_path())?;
        read_ahead::check(directory, options.read_ahead)?;
        // Zeroing takes as long as a large part of a call.
        if buffer.len() != options.buffer_bytes {
            buffer = vec![0; options.buffer_bytes];
        }
        Ok(Box::new(GetdentsReader {
            directory: Arc::clone(directory),
            buffer,
            resolve_types: options.resolve_types,
            read_ahead: options.read_ahead,
            ended: false,
            calls: 0,
            is_large: false,
        }))
    }
}

/// The kernel keeps the position in the open directory, so the reader has no state of the listing but
/// `ended`. Batches borrow `buffer` and are valid until the next call. `is_large` is known after the first
/// call only, and decides whether reading ahead is worth its system calls.
struct GetdentsReader {
    directory: Arc<Dir>,
    buffer: Vec<u8>,
    resolve_types: bool,
    read_ahead: ReadAhead,
    ended: bool,
    calls: u64,
    /// The first call filled the buffer.
    is_large: bool,
}

impl Reader for GetdentsReader {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        if self.ended {
            return Ok(None);
        }
        self.calls += 1;
        self.ended = true;
        let directory = &*self.directory;
        let before = (self.calls == 2 && self.is_large).then(thread_waits);
        let filled = read(directory.as_fd(), &mut self.buffer, directory.dir_path())?;
        let has_waited = before.is_some_and(|before| thread_waits().waited_for_device_since(before));
        if filled == 0 {
            return Ok(None);
        }
        // Space for another record nearly always means the end of the directory.
        if self.calls == 1 && filled + RECORD_BYTES_MAX > self.buffer.len() {
            self.is_large = true;
            read_ahead::start(directory.as_fd(), self.read_ahead, false);
        } else if has_waited {
            read_ahead::start(directory.as_fd(), self.read_ahead, true);
        }
        let bytes = &mut self.buffer[..filled];
        let mut checked = check(bytes, directory.dir_path())?;
        if self.resolve_types && checked.unknown_types > 0 {
            resolve::types(directory.as_fd(), bytes);
            checked = check(bytes, directory.dir_path())?;
        }
        let batch = Batch::from_checked(bytes, checked, true);
        self.ended = false;
        Ok(Some(batch))
    }

    fn calls(&self) -> Option<u64> {
        Some(self.calls)
    }

    fn into_buffer(self: Box<Self>) -> Vec<u8> {
        self.buffer
    }
}

/// Returns the number of bytes read, 0 at the end. The path is built only for an error.
pub(crate) fn read(
    directory: BorrowedFd<'_>,
    buffer: &mut [u8],
    path: &(impl AsRef<Path> + ?Sized),
) -> Result<usize> {
    getdents64(directory, buffer).at("read", path)
}

pub(crate) fn check(bytes: &[u8], path: &(impl AsRef<Path> + ?Sized)) -> Result<Checked> {
    decode::check(bytes).map_err(|bad| malformed(path.as_ref(), bad))
}

pub(crate) fn malformed(path: &Path, malformed: Malformed) -> Error {
    let reason = format!("the kernel returned a malformed record at byte {} of a buffer", malformed.at);
    Error::new("read", path, ErrorKind::Malformed, reason)
}

#[cfg(test)]
mod tests {
    use super::{Backend, Getdents};
    use crate::dir::Dir;
    use crate::options::ReadOptions;
    use std::sync::Arc;

    #[test]
    fn reading_builds_no_path() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        let below = Arc::new(Dir::open(scratch.path()).unwrap().open_below(b"a").unwrap());
        let mut reader = Getdents.open_again(&below, &ReadOptions::serial(4096), Vec::new()).unwrap();
        assert_eq!(reader.next_batch().unwrap().unwrap().entries().count(), 1);
        assert!(reader.next_batch().unwrap().is_none());
        assert!(!below.dir_path().is_built());
    }

    #[test]
    fn old_buffer_contents_are_ignored_and_memory_is_reused() {
        let scratch = tempfile::tempdir().unwrap();
        let mut expected: Vec<Vec<u8>> = (0..50).map(|index| format!("{index}").into_bytes()).collect();
        for name in &expected {
            std::fs::write(scratch.path().join(crate::names::to_os(name).unwrap()), "").unwrap();
        }
        expected.sort_unstable();
        let options = ReadOptions { resolve_types: true, ..ReadOptions::serial(4096) };
        // No buffer, a recycled one of the same size, and recycled ones of other sizes.
        let buffers = [Vec::new(), vec![0xff; 4096], vec![b'n'; 100], vec![b'n'; 8192]];
        for buffer in buffers {
            let (length, place) = (buffer.len(), buffer.as_ptr());
            let directory = Arc::new(Dir::open(scratch.path()).unwrap());
            let mut reader = Getdents.open_again(&directory, &options, buffer).unwrap();
            let mut names = Vec::new();
            while let Some(batch) = reader.next_batch().unwrap() {
                names.extend(batch.entries().map(|entry| entry.name.to_vec()));
            }
            names.sort_unstable();
            assert_eq!(names, expected);
            let left = reader.into_buffer();
            assert_eq!((left.len(), left.as_ptr() == place), (4096, length == 4096));
        }
    }
}
