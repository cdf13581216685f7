//! Reads the blocks of a directory ahead, so that listing an uncached directory waits for its device once.
//!
//! ext4 lists in the order of its index, which is random on the device, and reads one block at a time (`ext4_htree_fill_tree`).
//! Its blocks are pages of the device's cache, so advice on the device reads them; XFS and btrfs have caches of their own.
//!
//! The work begins when the first batch was full, which small directories never reach: FIEMAP returns the blocks of the
//! directory, cachestat(2) on the device samples which of them are cached, and advice on the device reads the rest.
//! `getdents` and `split` call it. A failure changes nothing but the time.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use megadir_sys::extents::{Part, extents};
use megadir_sys::page_cache::resident_in;
use rustix::fs::fstat;

use crate::block_device::{block_device, read_soon};
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::options::ReadAhead;

/// Sampling the cache takes too large a part of listing a smaller directory that is cached.
const DIRECTORY_BYTES_MIN: u64 = 4 << 20;
/// The same of one whose first blocks the device had to read: it is hardly cached, and each block of it takes a request.
const WAITED_BYTES_MIN: u64 = 128 << 10;
/// Ranges in which cached pages are counted, and their size.
const SAMPLES: usize = 32;
const SAMPLE_BYTES: u64 = 64 << 10;
/// The blocks must stay until they are listed.
const MEMORY_ONE_IN: u64 = 4;

/// Refuses [`ReadAhead::Always`] where it is impossible, with [`ErrorKind::Unavailable`].
pub(crate) fn check(directory: &Dir, read_ahead: ReadAhead) -> Result<()> {
    if read_ahead != ReadAhead::Always {
        return Ok(());
    }
    let refuse =
        |reason: String| Err(Error::new("read ahead", directory.path(), ErrorKind::Unavailable, reason));
    let file_system = directory.file_system();
    if file_system != FileSystem::Ext4 {
        return refuse(format!(
            "{file_system} does not keep its directories in the device's cache; ext2, ext3 and ext4 do"
        ));
    }
    match Blocks::of(directory.as_fd()) {
        Ok(_) => Ok(()),
        Err(error) => refuse(format!("the device cannot be read: {error}")),
    }
}

/// For a large directory whose first entries have been read, where possible and useful. `has_waited`: for the device.
pub(crate) fn start(directory: BorrowedFd<'_>, read_ahead: ReadAhead, has_waited: bool) {
    if read_ahead == ReadAhead::Never {
        return;
    }
    let Ok(status) = fstat(directory) else { return };
    let bytes = u64::try_from(status.st_size).unwrap_or(0);
    let demanded = read_ahead == ReadAhead::Always;
    let bytes_min = if has_waited { WAITED_BYTES_MIN } else { DIRECTORY_BYTES_MIN };
    if (bytes < bytes_min && !demanded) || FileSystem::of(directory) != FileSystem::Ext4 {
        return;
    }
    let Ok(blocks) = Blocks::of(directory) else { return };
    if demanded || (blocks.are_mostly_uncached() && fits_into_memory(bytes)) {
        let _ = blocks.read(directory);
    }
}

struct Blocks {
    device: File,
    first: Part,
}

impl Blocks {
    fn of(directory: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { device: block_device(directory)?, first: extents(directory, 0)? })
    }

    fn are_mostly_uncached(&self) -> bool {
        let all: u64 = self.first.extents.iter().map(|extent| extent.bytes).sum();
        let step = (all / SAMPLES as u64).max(1);
        let (mut cached, mut pages, mut next, mut before) = (0, 0, 0, 0);
        for extent in &self.first.extents {
            while next < before + extent.bytes {
                let page = rustix::param::page_size() as u64;
                let offset = (extent.offset + (next - before)) / page * page;
                let bytes = (extent.offset + extent.bytes - offset).min(SAMPLE_BYTES).next_multiple_of(page);
                let Ok(found) = resident_in(self.device.as_fd(), offset, bytes) else { return false };
                cached += found;
                pages += bytes / page;
                next += step;
            }
            before += extent.bytes;
        }
        cached * 2 < pages
    }

    /// Waits only while the device's queue is full.
    fn read(self, directory: BorrowedFd<'_>) -> io::Result<()> {
        let mut part = self.first;
        loop {
            for extent in &part.extents {
                read_soon(&self.device, extent.offset..extent.offset + extent.bytes)?;
            }
            let Some(next) = part.next else { return Ok(()) };
            part = extents(directory, next)?;
        }
    }
}

fn fits_into_memory(bytes: u64) -> bool {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = available.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.is_some_and(|kilobytes| bytes <= kilobytes * 1024 / MEMORY_ONE_IN)
}
