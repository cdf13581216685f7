//! Replaces unknown types (`DT_UNKNOWN`), as on XFS without ftype and some FUSE and network file systems, by
//! the types in the inodes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::Reader;
use crate::batch::Batch;
use crate::decode;
use crate::dir::kind_of;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;

/// An entry whose type cannot be read keeps `FileType::Unknown`, as one that vanished.
pub(super) fn types(directory: BorrowedFd<'_>, bytes: &mut [u8]) {
    decode::resolve_types(bytes, |name| kind_of(directory, name).unwrap_or(FileType::Unknown).d_type());
}

/// Reader that looks up unknown types relative to a directory. An entry that vanished, or
/// whose inode may not be read, keeps `FileType::Unknown`.
#[derive(Debug)]
pub struct Resolving<R> {
    inner: R,
    directory: OwnedFd,
    buffer: Vec<u8>,
}

impl<R: Reader> Resolving<R> {
    /// Wraps a reader of `directory`.
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
        types(self.directory.as_fd(), &mut self.buffer);
        // The bytes were a valid batch, and type bytes do not affect validity.
        Batch::check(&self.buffer, batch.has_cookies()).map(Some).map_err(|malformed| {
            let reason = format!("malformed record at byte {} of a batch", malformed.at);
            Error::new("read", "".as_ref(), ErrorKind::Malformed, reason)
        })
    }

    fn calls(&self) -> Option<u64> {
        self.inner.calls()
    }
}
