//! Operations relative to an open directory: one API for Linux and Windows, one or two system calls each,
//! inlined because measured code calls them.
//!
//! Paths are bytes (WTF-8 on Windows) with `/`; none leads out of the directory, and a link as the last component is not
//! followed. Errors are the system's: `CrossesDevices` is a mount point, `NotADirectory` also a link where a directory is needed.
//!
//! | file | subject |
//! |---|---|
//! | `linux.rs`, `windows.rs` | the same functions for each system, chosen once |
//! | `removal/` | removal of the run's own directories |
//!
//! Relative operations have two reasons: nothing can be redirected by renaming a directory above, and the
//! measured calls do not pay for the length of the path.

#[cfg(target_os = "linux")]
mod linux;
pub(crate) mod removal;
#[cfg(windows)]
mod windows;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::AtomicU64;

use megadir::{Dir, FileType};

use crate::control::{RunControl, WRITING_BACK, WorkError, marked};

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

const BUFFER_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    ReadWrite,
}

/// Attributes that decisions about a file depend on, the same on both systems. `identity` is the volume and
/// the file number, which identifies an opened file as the one that was examined. `owner` is `None`
/// where owners are no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) kind: FileType,
    pub(crate) size_bytes: u64,
    /// 0 for an unlinked file that is still open.
    pub(crate) links: u64,
    pub(crate) identity: (u64, u64),
    pub(crate) owner: Option<u32>,
    /// Must not be written whatever the permissions: read-only on Windows, or a reparse point, opened here without its filter.
    pub(crate) guarded: bool,
}

/// Room of a file system in bytes and inodes. `free_` is what this user may take, and `all_free_` what
/// exists; their difference is the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) block_bytes: u64,
    pub(crate) bytes: u64,
    pub(crate) free_bytes: u64,
    /// Including root's reserve.
    pub(crate) all_free_bytes: u64,
    /// 0 if inodes are allocated dynamically.
    pub(crate) inodes: u64,
    pub(crate) free_inodes: u64,
    pub(crate) all_free_inodes: u64,
}

/// Omits `.` and `..`; an error of `each` ends the listing.
pub(crate) fn each_entry(
    directory: Borrowed<'_>,
    each: &mut dyn FnMut(&[u8], FileType) -> io::Result<()>,
) -> io::Result<()> {
    each_listed(directory, &mut |entry| each(entry.name, entry.kind))
}

/// As [`each_entry`], with all that the listing has.
pub(crate) fn each_listed(
    directory: Borrowed<'_>,
    each: &mut dyn FnMut(&megadir::Entry<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let own = Dir::from_descriptor(again(directory)?, Path::new("."));
    let options = megadir::ReadOptions { resolve_types: true, ..megadir::ReadOptions::serial(BUFFER_BYTES) };
    let mut reader = megadir::backend(LISTED_BY)?.open(&own, &options)?;
    while let Some(batch) = reader.next_batch()? {
        for entry in batch.entries() {
            each(&entry)?;
        }
    }
    Ok(())
}

/// Like [`each_entry`], with regular checks whether the run is to end; `stage` names the step in errors of
/// the listing.
pub(crate) fn each_entry_of_run(
    directory: Borrowed<'_>,
    (stage, control): (&'static str, RunControl<'_>),
    each: &mut impl FnMut(&[u8], FileType) -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    let (mut seen, mut ended) = (0_u64, None);
    let listed = each_entry(directory, &mut |name, kind| {
        let checked = control.check_every(256, seen).map_err(WorkError::from);
        seen += 1;
        checked.and_then(|()| each(name, kind)).map_err(|error| {
            ended = Some(error);
            ErrorKind::Interrupted.into()
        })
    });
    ended.map_or_else(|| listed.map_err(WorkError::at(stage)), Err)
}

pub(crate) fn status_of(open: &impl At) -> io::Result<Status> {
    use_of(open).map(|(status, _)| status)
}

/// `None` for a missing entry: another process, or a killed run, may have removed it.
pub(crate) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// `false` if it was there already.
#[inline]
pub(crate) fn is_new(made: io::Result<()>) -> io::Result<bool> {
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true),
    }
}

/// Returns `false` if this process may not wait for the write-back.
pub(crate) fn write_back(directory: &impl At, heartbeat: &AtomicU64) -> io::Result<bool> {
    let may_not = |error: &io::Error| {
        cfg!(windows) && matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported)
    };
    match marked(heartbeat, WRITING_BACK, || sync(directory.at())) {
        Err(error) if may_not(&error) => Ok(false),
        written => written.map(|()| true),
    }
}

#[cfg(test)]
mod tests;
