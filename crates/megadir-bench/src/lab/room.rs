//! Checks free space for an image, and free memory for a file system in memory.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use megadir_lab::{LabError, Spec};

/// Reserve left to other programs, bytes.
const SPARE_BYTES: u64 = 64 << 20;

/// Refuses an image if writing `most` bytes of it could fill up the file system of `directory`: the image's
/// file system would see I/O errors, and other programs ENOSPC. Earlier sparse images may still grow too.
pub(super) fn for_image(
    spec: &Spec,
    path: &Path,
    directory: impl AsFd,
    bytes: u64,
    may_grow: u64,
) -> Result<(), LabError> {
    let space = rustix::fs::fstatvfs(directory).map_err(LabError::failed("query free space"))?;
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    check(spec, path, bytes.saturating_add(may_grow), free_bytes)
}

/// Refuses a file system in memory that could exhaust the memory.
pub(super) fn in_memory(spec: &Spec, bytes: u64) -> Result<(), LabError> {
    check(spec, Path::new("the memory"), bytes, crate::host::available_bytes().unwrap_or(u64::MAX))
}

fn check(spec: &Spec, path: &Path, needed_bytes: u64, free_bytes: u64) -> Result<(), LabError> {
    match needed_bytes.saturating_add(SPARE_BYTES) <= free_bytes {
        true => Ok(()),
        false => {
            Err(LabError::Room { path: path.to_owned(), name: spec.to_string(), needed_bytes, free_bytes })
        }
    }
}

/// Returns how many more bytes an image may still allocate, if at most `most` bytes of it are written.
pub(super) fn unwritten_bytes(image: &Arc<File>, most: u64) -> u64 {
    image.metadata().map_or(0, |status| most.saturating_sub(status.blocks() * 512))
}
