//! `data-cold`: drops the contents of a data set's files, but not names and inodes. Dirty pages are written
//! first (fdatasync). Pages mapped by some process stay, which the verification detects.

use std::os::fd::{AsFd, BorrowedFd};

use megadir_record::CacheState;
use megadir_sys::page_cache::{Resident, resident};
use rustix::fs::{Advice, FileType, Mode, OFlags, fadvise, fdatasync, fstat, openat};
use rustix::io::Errno;

use crate::cache::refused;
use crate::cache::tree::{Found, each};
use crate::control::{RunControl, WRITING_BACK, WorkError, marked};

/// Largest share of the pages that may be left.
const LEFT_MAX: f64 = 0.01;

/// Drops the contents of every regular file of a data set and verifies that they are gone.
pub(super) fn drop_all(top: BorrowedFd<'_>, deep: bool, control: RunControl<'_>) -> Result<(), WorkError> {
    let (mut pages, mut left, mut holder) = (0_u64, 0_u64, None);
    each(top, deep, control, &mut |found| {
        if found.kind != megadir::FileType::File {
            return Ok(());
        }
        let Some(after) = drop_one(found, control).map_err(|error| because(found, &error))? else {
            return Ok(());
        };
        pages += after.pages;
        left += after.cached;
        if after.cached > 0 && holder.is_none() {
            holder = Some(found.path());
        }
        Ok(())
    })?;
    if pages == 0 {
        return Err(refused(CacheState::DataCold, "the files are empty, so they have no contents to drop"));
    }
    if left as f64 > LEFT_MAX * pages as f64 {
        let holder = holder.unwrap_or_default();
        let reason = format!(
            "{left} of {pages} pages stay in the cache, first of '{holder}': another process has them mapped"
        );
        return Err(refused(CacheState::DataCold, reason));
    }
    Ok(())
}

/// Drops the pages of one file and returns the resident rest; `None` if it is gone or no longer a regular file.
fn drop_one(found: &Found<'_>, control: RunControl<'_>) -> std::io::Result<Option<Resident>> {
    // NONBLOCK: opening must not hang if the file was replaced by a FIFO.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(found.parent, found.name, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
        opened => opened?,
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let before = resident(file.as_fd())?;
    // Even without dirty pages, fdatasync on some file systems would flush the device's cache for every file.
    if before.unwritten != Some(0) {
        marked(control.heartbeat, WRITING_BACK, || fdatasync(&file))?;
    }
    fadvise(&file, 0, None, Advice::DontNeed)?;
    resident(file.as_fd()).map(Some)
}

fn because(found: &Found<'_>, error: &std::io::Error) -> WorkError {
    refused(CacheState::DataCold, format!("'{}': {error}", found.path()))
}
