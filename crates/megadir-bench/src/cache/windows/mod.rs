//! Windows: how caches are dropped, and how that is verified.
//!
//! | state | how |
//! |---|---|
//! | `data-cold` | each file is opened past the cache, which has the system write and forget what it has cached of it, unless others have it open |
//! | `vfs-cold` | the file cache of the whole machine is emptied (administrators); the file table of NTFS is cached like contents |
//! | `fs-cold` | refused: nothing is mounted for a run |
//!
//! Windows has no call that tells what is cached, but volumes count what is read from them (`IOCTL_DISK_PERFORMANCE`). So what was drawn from a
//! data set is asked for after a drop and must come from the volume; then it is dropped again. Where a volume does not count, as under Wine,
//! nothing can be verified, and every state that drops something is refused.

mod contents;
mod names;

use std::io;

use megadir::Dir;
use megadir_record::CacheState;
use megadir_stats::permutation::SplitMix64;
use megadir_sys::windows::disk::{Counting, Disk};
use megadir_sys::windows::{facts, file_cache, volume_settings};

use super::tree::Sampled;
use super::{ColdTarget, Directories, refused};
use crate::control::{RunControl, WorkError, words};
use crate::os::{At, Borrowed};

/// File systems whose caches are known: contents, names and attributes in the system's file cache.
const KNOWN: &[&str] = &["NTFS", "ReFS"];

/// Knowledge of the machine's caches from earlier drops.
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
    /// Drops what a state does not have in the cache, and verifies that it is gone.
    pub(super) fn evict(
        &mut self,
        state: CacheState,
        of: &ColdTarget<'_>,
        directories: &mut dyn Directories,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let directory = directories.of(of.data).at();
        match state {
            CacheState::Warm | CacheState::Unseen => Ok(()),
            CacheState::DataCold => {
                let reads = Reads::of(directory).map_err(|error| refused(state, not_counted(&error)))?;
                let told = &mut || reads.now();
                contents::drop_all(directory, of.deep, control, &mut self.random, told)
            }
            CacheState::VfsCold => names::drop_all(directory, of.sample, control),
            CacheState::FsCold => Err(refused(state, NOT_OURS)),
        }
    }
}

/// Asks about the sample after a drop: the volume must have been read.
pub(super) fn verify_cold(
    state: CacheState,
    directory: Borrowed<'_>,
    sample: &[Sampled],
) -> Result<(), WorkError> {
    let reads = Reads::of(directory).map_err(|error| refused(state, not_counted(&error)))?;
    names::verify_cold(state, directory, sample, &mut || reads.now())
}

/// Reason why nothing is dismounted.
const NOT_OURS: &str = "only a volume that is made for the run could be dismounted, and none is on Windows";

/// Returns a function from a state to the reason why it is unavailable on `directory`.
pub(super) fn refusals(directory: &Dir) -> impl Fn(CacheState) -> Option<String> {
    let unverified = why_unverified(directory.at());
    move |state| match state {
        CacheState::Warm | CacheState::Unseen => None,
        CacheState::DataCold => unverified.clone(),
        CacheState::VfsCold => unverified.clone().or_else(|| {
            let denied = |error| format!("only an administrator may empty the file cache ({error})");
            file_cache::may_forget().map_err(denied).err()
        }),
        CacheState::FsCold => Some(NOT_OURS.to_owned()),
    }
}

/// Says why no state could be verified on a volume, if none could.
fn why_unverified(directory: Borrowed<'_>) -> Option<String> {
    if facts::is_remote(directory) {
        return Some(
            "the machine that shares it has a cache of its own, which cannot be dropped from here".to_owned(),
        );
    }
    let kind = volume_settings::volume(directory)
        .map_or_else(|_| "this file system".to_owned(), |volume| volume.file_system);
    if !KNOWN.contains(&kind.as_str()) {
        return Some(format!("what {kind} has cached is not known, so nothing could be verified"));
    }
    Reads::of(directory).and_then(|reads| reads.now()).map_err(|error| not_counted(&error)).err()
}

fn not_counted(error: &io::Error) -> String {
    let words = words(error);
    format!("the volume does not tell how much is read from it ({words}), so nothing could be verified")
}

/// The count of bytes that anybody has read from a volume; it counts as long as this is there, so never during a block.
struct Reads(Counting);

impl Reads {
    fn of(directory: Borrowed<'_>) -> io::Result<Self> {
        Disk::open(&volume_settings::device(directory)?)?.counting().map(Self)
    }

    fn now(&self) -> io::Result<u64> {
        self.0.read_bytes()
    }
}

#[cfg(test)]
mod tests;
