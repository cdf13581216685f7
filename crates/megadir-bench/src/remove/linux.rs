//! Linux: relative to descriptors, with as few calls as it takes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::{Beat, DEPTH_MAX, PASSES_MAX};

const BUFFER_BYTES: usize = 64 << 10;

/// Removes everything in `directory` but the entry called `keep`.
pub(crate) fn remove_content(directory: BorrowedFd<'_>, keep: &[u8], beat: &Beat) -> io::Result<()> {
    remove_below(directory, keep, 0, beat)
}

fn remove_below(directory: BorrowedFd<'_>, keep: &[u8], depth: u32, beat: &Beat) -> io::Result<()> {
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
                    remove_tree(directory, entry.file_name(), depth + 1, beat)?;
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

/// Removes a directory below `parent` with everything in it.
pub(crate) fn remove_directory(parent: BorrowedFd<'_>, name: &str, beat: &Beat) -> io::Result<()> {
    remove_tree(parent, name, 0, beat)
}

fn remove_tree(parent: BorrowedFd<'_>, name: impl Arg + Copy, depth: u32, beat: &Beat) -> io::Result<()> {
    let directory = match open_on_this_mount(parent, name) {
        Ok(directory) => directory,
        Err(Errno::XDEV) => return Err(io::Error::other("something else is mounted in it")),
        Err(error) => return Err(error.into()),
    };
    remove_below(directory.as_fd(), b"", depth, beat)?;
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory below `parent`, through no link; `XDEV` when anything is mounted there, be it a directory
/// of the same file system, or when that cannot be known.
pub(crate) fn open_on_this_mount(parent: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve) {
        // Linux before 5.6, or a container's filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_and_compare(parent, name, flags),
        opened => opened,
    }
}

/// As [`open_on_this_mount`], by what the system tells of the two directories once both are open.
fn open_and_compare(parent: BorrowedFd<'_>, name: impl Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let same_device = rustix::fs::fstat(&directory)?.st_dev == rustix::fs::fstat(parent)?.st_dev;
    let same_mount = mount_id(parent).is_some_and(|mount| mount_id(directory.as_fd()) == Some(mount));
    if same_device && same_mount { Ok(directory) } else { Err(Errno::XDEV) }
}

/// Returns the number of the mount that a directory was opened on: by statx (Linux 5.8), else by /proc.
fn mount_id(directory: BorrowedFd<'_>) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    if let Ok(status) = rustix::fs::statx(directory, "", flags, StatxFlags::MNT_ID)
        && StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::MNT_ID)
    {
        return Some(status.stx_mnt_id);
    }
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", directory.as_raw_fd())).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
