//! Windows: drops caches and verifies the result. `data-cold` opens each file unbuffered, `vfs-cold` empties
//! the file cache of the machine (administrators), `fs-cold` is refused.
//!
//! Windows has no call that reports cached files, but volumes count the bytes read from them
//! (`IOCTL_DISK_PERFORMANCE`): after a drop a sample must be read from the volume, and is then dropped
//! again. If a volume does not count (Wine), no state can drop anything.
//!
//! ```text
//!  drop -> read the sample: the volume delivers it -> read it again: the volume delivers nothing -> drop again
//! ```
//!
//! The second reading proves that no other process was reading from the volume during the first. The
//! functions take the counter as `read_bytes`, so that they can be tested without a volume that counts.

use std::io::{self, Read};
use std::os::windows::io::AsHandle;

use megadir::{Dir, FileType};
use megadir_record::{CacheState, DataId};
use megadir_stats::permutation::SplitMix64;
use megadir_sys::windows::disk::{Counting, Disk};
use megadir_sys::windows::{facts, file_cache, volume};

use super::judge::{self, FileRead};
use super::tree::{Pass, Sampled, TreeEntry, are_there, each};
use super::{Directories, Set, refused};
use crate::control::{RunControl, WRITING_BACK, WorkError, marked, words};
use crate::os::{self, Access, At, Borrowed};

/// File systems with known caches: contents, names and attributes in the system's file cache.
const KNOWN: &[&str] = &["NTFS", "ReFS"];

/// Generator of the samples of files; independent of the plan's, since verification must not change other
/// choices.
#[derive(Clone, Debug)]
pub(super) struct System {
    random: SplitMix64,
}

impl Default for System {
    fn default() -> Self {
        Self { random: SplitMix64::new(0x7769_6e64_6f77) }
    }
}

impl System {
    pub(super) fn evict(
        &mut self,
        state: CacheState,
        (data, set): (DataId, &Set),
        directories: &mut dyn Directories,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let directory = directories.of(data).at();
        match state {
            CacheState::Warm | CacheState::Unseen => Ok(()),
            CacheState::DataCold => {
                let reads = counting(directory).map_err(|error| refused(state, not_counted(&error)))?;
                let read_bytes = &mut || reads.read_bytes();
                drop_contents(directory, set.deep, control, &mut self.random, read_bytes)
            }
            CacheState::VfsCold => drop_names(directory, &set.sample, control),
            CacheState::FsCold => Err(refused(state, NOT_OURS)),
        }
    }
}

/// Looks sampled names up before the run, as on Linux.
pub(super) fn verify_cold(
    state: CacheState,
    directory: Borrowed<'_>,
    sample: &[Sampled],
) -> Result<(), WorkError> {
    let reads = counting(directory).map_err(|error| refused(state, not_counted(&error)))?;
    verify_names(state, directory, sample, &mut || reads.read_bytes())
}

const NOT_OURS: &str =
    "only a volume created for the run could be dismounted, and no volume is created on Windows";

pub(super) fn refusals(directory: &Dir) -> impl Fn(CacheState) -> Option<String> {
    let unverified = why_unverified(directory.at());
    move |state| match state {
        CacheState::Warm | CacheState::Unseen => None,
        CacheState::DataCold => unverified.clone(),
        CacheState::VfsCold => unverified.clone().or_else(|| {
            let denied = |error| format!("emptying the file cache needs an administrator ({error})");
            file_cache::may_forget().map_err(denied).err()
        }),
        CacheState::FsCold => Some(NOT_OURS.to_owned()),
    }
}

/// Reason why a drop could not be verified in this directory. Such states are unavailable, not attempted.
fn why_unverified(directory: Borrowed<'_>) -> Option<String> {
    if facts::is_remote(directory) {
        return Some("the server has its own cache, which cannot be dropped from here".to_owned());
    }
    let kind =
        volume::of(directory).map_or_else(|_| "this file system".to_owned(), |volume| volume.file_system);
    if !KNOWN.contains(&kind.as_str()) {
        return Some(format!("it is unknown what {kind} has cached, so nothing could be verified"));
    }
    counting(directory).and_then(|reads| reads.read_bytes()).map_err(|error| not_counted(&error)).err()
}

fn not_counted(error: &io::Error) -> String {
    let words = words(error);
    format!("the volume does not report how much is read from it ({words}), so nothing could be verified")
}

/// Counter of bytes read from a volume by all processes. It costs time while it exists, so never during a block.
fn counting(directory: Borrowed<'_>) -> io::Result<Counting> {
    Disk::open(&volume::device(directory)?)?.counting()
}

/// Drops names, attributes and contents of the whole machine. Looking up sampled names must then read from the
/// volume; that caches them, so a second drop follows.
fn drop_names(directory: Borrowed<'_>, sample: &[Sampled], control: RunControl<'_>) -> Result<(), WorkError> {
    let refuse = |reason: String| refused(CacheState::VfsCold, reason);
    if sample.is_empty() {
        return Err(refuse("the data set is empty, so it has nothing to drop".to_owned()));
    }
    let reads = counting(directory).map_err(|error| refuse(not_counted(&error)))?;
    empty_file_cache(directory, control)?;
    verify_names(CacheState::VfsCold, directory, sample, &mut || reads.read_bytes())?;
    control.check()?;
    empty_file_cache(directory, control)?;
    touch_own_pages();
    Ok(())
}

fn empty_file_cache(directory: Borrowed<'_>, control: RunControl<'_>) -> Result<(), WorkError> {
    let forgotten = marked(control.heartbeat, WRITING_BACK, || {
        os::sync(directory)?;
        file_cache::may_forget()?;
        file_cache::forget()
    });
    forgotten.map_err(|error| {
        refused(CacheState::VfsCold, format!("the file cache could not be emptied: {error}"))
    })
}

/// Looks the names up twice, with the counter read before, between and after.
fn verify_names(
    state: CacheState,
    directory: Borrowed<'_>,
    sample: &[Sampled],
    read_bytes: &mut dyn FnMut() -> io::Result<u64>,
) -> Result<(), WorkError> {
    let mut count_read = || read_bytes().map_err(|error| refused(state, error.to_string()));
    let before = count_read()?;
    are_there(directory, sample)?;
    let between = count_read()?;
    are_there(directory, sample)?;
    let (given, again) = (between.saturating_sub(before), count_read()?.saturating_sub(between));
    judge::names(sample.len(), given, again).map_err(|reason| refused(state, reason))
}

/// Reads the program's file, so that no block pays for our page faults.
fn touch_own_pages() {
    if let Ok(path) = std::env::current_exe() {
        let _ = std::fs::read(path);
    }
}

/// Smaller files may be resident in the file table, which stays cached, bytes.
const OUTSIDE_BYTES_MIN: u64 = 4096;
/// The beginning of a file suffices as proof, and bounds the time of the verification.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Drops the contents of a data set's files, not names and attributes. An unbuffered open first writes dirty pages;
/// pages of a file that another process has open stay, which the verification detects.
fn drop_contents(
    top: Borrowed<'_>,
    deep: bool,
    control: RunControl<'_>,
    random: &mut SplitMix64,
    read_bytes: &mut dyn FnMut() -> io::Result<u64>,
) -> Result<(), WorkError> {
    let (mut pass, mut bytes) = (Pass::new(random), 0_u64);
    each(top, deep, control, &mut |found| {
        if found.kind != FileType::File {
            return Ok(());
        }
        let Some((size, allocated)) = forget(found)? else { return Ok(()) };
        bytes += size;
        // Reading a compressed or sparse file transfers fewer bytes than requested.
        if size < OUTSIDE_BYTES_MIN || allocated < size {
            return Ok(());
        }
        pass.draw(found);
        Ok(())
    })?;
    let drawn = pass.sample;
    if bytes == 0 {
        return Err(refuse("the files are empty, so they have no contents to drop"));
    }
    if drawn.is_empty() {
        return Err(refuse(format!(
            "all files are smaller than {OUTSIDE_BYTES_MIN} bytes, compressed or sparse, so it cannot be \
         verified that they are cold"
        )));
    }
    let read = read_all(top, &drawn, control, read_bytes)?;
    let again = read_all(top, &drawn, control, read_bytes)?.iter().map(|file| file.given).sum();
    judge::contents(&read, again).map_err(refuse)?;
    drawn.iter().try_for_each(|path| {
        let opened = os::if_there(os::open_uncached(top, path)).map(drop);
        opened.map_err(|error| because(&String::from_utf8_lossy(path), &error))
    })
}

/// Returns size and allocated size; `None` if the file is gone or no longer a file.
fn forget(found: &TreeEntry<'_>) -> Result<Option<(u64, u64)>, WorkError> {
    let is_missing =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory);
    let failed = |error: io::Error| because(&found.path(), &error);
    match os::open_uncached(found.parent, found.name) {
        Ok(file) => {
            let size = file.metadata().map_err(failed)?.len();
            Ok(Some((size, facts::space(file.as_handle()).map_err(failed)?.allocated_bytes)))
        }
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Reads the files one by one with the bytes that the volume delivered for each, since readahead of one
/// file could hide that another one was cached.
fn read_all(
    top: Borrowed<'_>,
    paths: &[Sampled],
    control: RunControl<'_>,
    read_bytes: &mut dyn FnMut() -> io::Result<u64>,
) -> Result<Vec<FileRead>, WorkError> {
    let mut count_read = || read_bytes().map_err(|error| refuse(error.to_string()));
    let mut read = Vec::with_capacity(paths.len());
    let mut content = Vec::with_capacity(READ_BYTES_MAX as usize);
    let mut before = count_read()?;
    for path in paths {
        control.check()?;
        content.clear();
        let failed = |error: io::Error| because(&String::from_utf8_lossy(path), &error);
        let opened = os::if_there(os::open_file(top, path, Access::Read)).map_err(failed)?;
        let Some(file) = opened else { continue };
        let wanted_bytes = file.take(READ_BYTES_MAX).read_to_end(&mut content).map_err(failed)? as u64;
        let after = count_read()?;
        read.push(FileRead { wanted_bytes, given: after.saturating_sub(before) });
        before = after;
    }
    Ok(read)
}

fn because(path: &str, error: &io::Error) -> WorkError {
    refuse(format!("'{path}': {error}"))
}

fn refuse(reason: impl Into<String>) -> WorkError {
    refused(CacheState::DataCold, reason)
}

#[cfg(test)]
mod tests;
