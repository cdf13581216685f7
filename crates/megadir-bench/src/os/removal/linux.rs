//! Linux: relative to descriptors, with as few calls as possible.
//!
//! ```text
//!  remove_content: the directory stays        remove_directory: it goes too, after its content
//!    remove_below: list -> unlinkat each -> EISDIR or EPERM -> remove_tree -> remove_below ...
//! ```
//!
//! `unlinkat` of a directory fails with `EISDIR` on Linux and with `EPERM` by POSIX; both are tried as a
//! directory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{AtFlags, RawDir};
use rustix::io::Errno;
use rustix::path::Arg;

use super::{Beat, DEPTH_MAX, PASSES_MAX};
use crate::os::{again, open_same_mount};

const BUFFER_BYTES: usize = 64 << 10;

pub(crate) fn remove_content(directory: BorrowedFd<'_>, keep: &[u8], heartbeat: &Beat) -> io::Result<()> {
    remove_below(directory, keep, 0, heartbeat)
}

/// Entries are removed while they are listed, and some file systems skip entries then, so the directory is
/// listed again until a pass finds none. A file costs one call, since `unlinkat` itself reports that the
/// entry is a directory. An entry that vanished is no error. `keep` is the marker, which must outlive
/// everything else.
fn remove_below(directory: BorrowedFd<'_>, keep: &[u8], depth: u32, heartbeat: &Beat) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other("directories are nested deeper than this program creates them"));
    }
    let mut buffer = Vec::with_capacity(BUFFER_BYTES);
    for _ in 0..PASSES_MAX {
        // Not rewound: a rewound handle of sshfs lists nothing, and makes the directory look empty to all programs for 20 seconds.
        let opened = again(directory)?;
        let mut found = false;
        let mut entries = RawDir::new(&opened, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || name == keep {
                continue;
            }
            found = true;
            heartbeat.fetch_add(1, Ordering::Relaxed);
            match rustix::fs::unlinkat(directory, entry.file_name(), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR | Errno::PERM) => {
                    remove_tree(directory, entry.file_name(), depth + 1, heartbeat)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if !found {
            return Ok(());
        }
    }
    Err(io::Error::other("another process keeps creating files in the directory"))
}

pub(crate) fn remove_directory(parent: BorrowedFd<'_>, name: &str, heartbeat: &Beat) -> io::Result<()> {
    remove_tree(parent, name, 0, heartbeat)
}

/// Removes a directory with its content. It is opened on the parent's mount without following links, so a
/// mount or a link in its place ends the removal.
fn remove_tree(
    parent: BorrowedFd<'_>,
    name: impl Arg + Copy,
    depth: u32,
    heartbeat: &Beat,
) -> io::Result<()> {
    let directory = match open_same_mount(parent, name) {
        Ok(directory) => directory,
        Err(Errno::XDEV) => return Err(io::Error::other("something else is mounted in it")),
        Err(error) => return Err(error.into()),
    };
    remove_below(directory.as_fd(), b"", depth, heartbeat)?;
    match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
