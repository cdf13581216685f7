//! Fills in types that a directory does not tell (`DT_UNKNOWN`), by asking the inodes.
//!
//! Some file systems never tell (XFS without ftype, several over FUSE, some network file systems).
//! Batches that tell all types pass through untouched.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::AtFlags;

use crate::backend::Reader;
use crate::batch::Batch;
use crate::decode;
use crate::error::Result;
use crate::file_type::FileType;

/// A reader whose unknown types are asked of the inodes, relative to a directory.
///
/// An entry that has vanished in the meantime keeps [`FileType::Unknown`].
#[derive(Debug)]
pub struct Resolving<R> {
    inner: R,
    directory: OwnedFd,
    buffer: Vec<u8>,
}

impl<R: Reader> Resolving<R> {
    /// Wraps a reader of the directory that `directory` is open on.
    pub fn new(inner: R, directory: OwnedFd) -> Self {
        Self { inner, directory, buffer: Vec::new() }
    }
}

impl<R: Reader> Reader for Resolving<R> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        if batch.unknown_types() == 0 {
            return Ok(Some(batch));
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(batch.bytes());
        decode::resolve_types(&mut self.buffer, |name| kind_of(self.directory.as_fd(), name).d_type());
        // The bytes were a batch before, and a type byte cannot make them malformed.
        Ok(Batch::check(&self.buffer, batch.has_cookies()).ok())
    }

    fn calls(&self) -> Option<u64> {
        self.inner.calls()
    }
}

/// Returns the type of an entry by asking its inode, following nothing.
pub(crate) fn kind_of(directory: std::os::fd::BorrowedFd<'_>, name: &[u8]) -> FileType {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    match rustix::fs::statat(directory, std::ffi::OsStr::from_bytes(name), flags) {
        Ok(status) => rustix::fs::FileType::from_raw_mode(status.st_mode).into(),
        Err(_) => FileType::Unknown,
    }
}
