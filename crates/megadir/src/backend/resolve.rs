//! Replaces unknown types (`DT_UNKNOWN`), as on XFS without ftype and some FUSE and network file systems, by the types in the inodes.
//!
//! There are two places for this, so that the common case costs nothing in either: the backend that owns its buffer
//! (getdents) replaces types in place, and this reader wraps all others. A walk that examines every entry anyway does not ask
//! for it: its batches take the types from the attributes (`OwnedBatch::take_types`).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::Reader;
use crate::batch::Batch;
use crate::decode;
#[cfg(target_os = "linux")]
use crate::dir::Dir;
use crate::dir::kind_of;
#[cfg(target_os = "linux")]
use crate::error::At;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
#[cfg(target_os = "linux")]
use crate::options::ReadOptions;

/// An entry whose type cannot be read keeps `FileType::Unknown`, as one that vanished.
pub(super) fn types(directory: BorrowedFd<'_>, bytes: &mut [u8]) {
    decode::resolve_types(bytes, |_, name| kind_of(directory, name).unwrap_or(FileType::Unknown).d_type());
}

/// Has the types looked up that a reader of the directory does not know, if the options demand it.
#[cfg(target_os = "linux")]
pub(super) fn resolving(
    reader: impl Reader + 'static,
    directory: &Dir,
    options: &ReadOptions,
) -> Result<Box<dyn Reader>> {
    if !options.resolve_types {
        return Ok(Box::new(reader));
    }
    let descriptor = directory.as_fd().try_clone_to_owned().at("open", directory.dir_path())?;
    Ok(Box::new(Resolving::new(reader, descriptor)))
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
        let checked = decode::check(&self.buffer).map_err(|malformed| {
            let reason = format!("malformed record at byte {} of a batch", malformed.at);
            Error::new("read", "".as_ref(), ErrorKind::Malformed, reason)
        })?;
        Ok(Some(Batch::from_checked(&self.buffer, checked, batch.has_cookies())))
    }

    fn calls(&self) -> Option<u64> {
        self.inner.calls()
    }
}
