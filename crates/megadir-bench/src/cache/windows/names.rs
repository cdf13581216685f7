//! `vfs-cold`: drops names, attributes and contents of the whole machine. Looking up sampled names must then
//! read from the volume, which caches them, so a second drop follows.

use std::io;

use megadir_record::CacheState;
use megadir_sys::windows::file_cache;

use super::{Reads, not_counted};
use crate::cache::tree::{Sampled, are_there};
use crate::cache::{judge, refused};
use crate::control::{RunControl, WRITING_BACK, WorkError, marked};
use crate::os::{self, Borrowed};

/// Drops everything and verifies that names of a data set are gone.
pub(super) fn drop_all(
    directory: Borrowed<'_>,
    sample: &[Sampled],
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    let refuse = |reason: String| refused(CacheState::VfsCold, reason);
    if sample.is_empty() {
        return Err(refuse("the data set is empty, so it has nothing to drop".to_owned()));
    }
    let reads = Reads::of(directory).map_err(|error| refuse(not_counted(&error)))?;
    forget(directory, control)?;
    verify_cold(CacheState::VfsCold, directory, sample, &mut || reads.now())?;
    control.check()?;
    forget(directory, control)?;
    touch_own_pages();
    Ok(())
}

fn forget(directory: Borrowed<'_>, control: RunControl<'_>) -> Result<(), WorkError> {
    let forgotten = marked(control.heartbeat, WRITING_BACK, || {
        os::sync(directory)?;
        file_cache::may_forget()?;
        file_cache::forget()
    });
    forgotten.map_err(|error| {
        refused(CacheState::VfsCold, format!("the file cache could not be emptied: {error}"))
    })
}

/// Looks up the sampled names after a drop: the first pass must read from the volume, the second must not.
pub(super) fn verify_cold(
    state: CacheState,
    directory: Borrowed<'_>,
    sample: &[Sampled],
    read_bytes: &mut dyn FnMut() -> io::Result<u64>,
) -> Result<(), WorkError> {
    let mut told = || read_bytes().map_err(|error| refused(state, error.to_string()));
    let before = told()?;
    are_there(directory, sample)?;
    let between = told()?;
    are_there(directory, sample)?;
    let (given, again) = (between.saturating_sub(before), told()?.saturating_sub(between));
    judge::names(sample.len(), given, again).map_err(|reason| refused(state, reason))
}

/// Reads the program's file, so that no block pays for our page faults; pages in use by this process were not
/// dropped.
fn touch_own_pages() {
    if let Ok(path) = std::env::current_exe() {
        let _ = std::fs::read(path);
    }
}
