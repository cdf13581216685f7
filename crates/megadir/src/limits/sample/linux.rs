//! Content size of a sampled entry on Linux.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags, statx};

use crate::dir::Dir;
use crate::limits::facts::Space;

pub(super) const BACKEND: &str = "getdents";
const STAT_BLOCK_BYTES: u64 = 512;

/// 0 if the contents fit in the inode.
pub(in crate::limits) fn allocated(bytes: u64, space: &Space) -> u64 {
    match bytes {
        _ if bytes <= space.inline_bytes_max => 0,
        _ if bytes <= space.packed_bytes_max => bytes,
        _ => bytes.next_multiple_of(space.unit_bytes.max(1)),
    }
}

/// Space of an entry's contents, bytes, divided by the file's number of links. `None` if the entry has
/// vanished.
pub(super) fn content_bytes(directory: &Dir, name: &[u8], space: &Space) -> Option<f64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let want = StatxFlags::BLOCKS | StatxFlags::SIZE | StatxFlags::NLINK | StatxFlags::TYPE;
    let status = statx(directory.as_fd(), name, flags, want).ok()?;
    let kind = rustix::fs::FileType::from_raw_mode(u32::from(status.stx_mode));
    let links = if kind.is_dir() { 1 } else { status.stx_nlink.max(1) };
    let bytes = match status.stx_blocks {
        // A file not yet written back has a size but no blocks.
        0 if kind.is_file() => allocated(status.stx_size, space),
        _ if kind.is_file() && status.stx_size <= space.packed_bytes_max => status.stx_size,
        blocks => blocks * STAT_BLOCK_BYTES,
    };
    Some(bytes as f64 / f64::from(links))
}
