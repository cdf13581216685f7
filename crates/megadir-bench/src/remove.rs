//! Removing the content of a directory of the run's own: relative to descriptors, never through links, never across mounts.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, SeekFrom};
use rustix::io::Errno;

/// The deepest tree that is removed; the engine makes one level.
const DEPTH_MAX: u32 = 64;
/// A directory is read again from its start at most this often, for names that came while it was read.
const PASSES_MAX: u32 = 1_000;
const BUFFER_BYTES: usize = 64 << 10;

/// The sign of life that long work gives, so that a watcher can tell work from a hang.
pub(crate) type Beat = AtomicU64;

/// Removes everything in `directory` but the entry called `keep`.
pub(crate) fn remove_content(directory: BorrowedFd<'_>, keep: &[u8], beat: &Beat) -> io::Result<()> {
    let device = rustix::fs::fstat(directory)?.st_dev;
    remove_below(directory, keep, device, 0, beat)
}

fn remove_below(
    directory: BorrowedFd<'_>,
    keep: &[u8],
    device: u64,
    depth: u32,
    beat: &Beat,
) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other("directories are nested deeper than this program makes them"));
    }
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    for _ in 0..PASSES_MAX {
        rustix::fs::seek(directory, SeekFrom::Start(0))?;
        let mut found = false;
        let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || name == keep {
                continue;
            }
            found = true;
            beat.fetch_add(1, Ordering::Relaxed);
            match rustix::fs::unlinkat(directory, entry.file_name(), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR | Errno::PERM) => {
                    remove_directory(directory, entry.file_name(), device, depth, beat)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if !found {
            return Ok(());
        }
    }
    Err(io::Error::other("something keeps making files in the directory"))
}

fn remove_directory(
    parent: BorrowedFd<'_>,
    name: &std::ffi::CStr,
    device: u64,
    depth: u32,
    beat: &Beat,
) -> io::Result<()> {
    use std::os::fd::AsFd;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    if rustix::fs::fstat(&directory)?.st_dev != device {
        return Err(io::Error::other("another file system is mounted in it"));
    }
    remove_below(directory.as_fd(), b"", device, depth + 1, beat)?;
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
