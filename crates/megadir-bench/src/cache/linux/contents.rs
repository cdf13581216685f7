//! `data-cold`: what the files of a data set contain is dropped, their names and inodes are not.
//!
//! What is not written yet is written first (fdatasync), since the kernel drops no page that differs from what is stored.
//! Pages that some process has mapped stay: that is what verifying is for.

use std::os::fd::{AsFd, BorrowedFd};

use megadir_record::CacheState;
use megadir_sys::page_cache::{Resident, resident};
use rustix::fs::{Advice, FileType, Mode, OFlags, fadvise, fdatasync, fstat, openat};
use rustix::io::Errno;

use crate::cache::refused;
use crate::cache::tree::{Found, each};
use crate::control::{RunControl, WRITING_BACK, WorkError, marked};

/// At most this part of the pages may be left.
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
        return Err(refused(
            CacheState::DataCold,
            "the files are empty: there is nothing in them to be cold",
        ));
    }
    if left as f64 > LEFT_MAX * pages as f64 {
        let holder = holder.unwrap_or_default();
        let reason = format!(
            "{left} of {pages} pages stay in the cache, of '{holder}' first: some process has them mapped"
        );
        return Err(refused(CacheState::DataCold, reason));
    }
    Ok(())
}

/// Drops the pages of one file and returns what is left; `None` if it is gone or no regular file any more.
fn drop_one(found: &Found<'_>, control: RunControl<'_>) -> std::io::Result<Option<Resident>> {
    // Not blocking: what became a pipe meanwhile must not be waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(found.parent, found.name, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
        opened => opened?,
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let before = resident(file.as_fd())?;
    // With nothing unwritten fdatasync would still flush the device's own cache on some file systems, for every file.
    if before.unwritten != Some(0) {
        marked(control.heartbeat, WRITING_BACK, || fdatasync(&file))?;
    }
    fadvise(&file, 0, None, Advice::DontNeed)?;
    resident(file.as_fd()).map(Some)
}

fn because(found: &Found<'_>, error: &std::io::Error) -> WorkError {
    refused(CacheState::DataCold, format!("'{}': {error}", found.path()))
}
