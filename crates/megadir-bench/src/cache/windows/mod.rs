//! Windows: drops caches and verifies the result. `data-cold` opens each file unbuffered; `vfs-cold` empties
//! the file cache of the machine (administrators); `fs-cold` is refused.
//!
//! Windows does not report what is cached, but volumes count the bytes read from them
//! (`IOCTL_DISK_PERFORMANCE`): after a drop a sample must be read from the volume, and is then dropped again.
//! If a volume does not count (Wine), every state that drops something is refused.

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

/// File systems with known caches: contents, names and attributes in the system's file cache.
const KNOWN: &[&str] = &["NTFS", "ReFS"];

/// Knowledge about the machine's caches from earlier drops.
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
    /// Drops the parts of the cache that are cold in this state, and verifies that they are gone.
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

/// Looks up the sample after a drop: this must read from the volume.
pub(super) fn verify_cold(
    state: CacheState,
    directory: Borrowed<'_>,
    sample: &[Sampled],
) -> Result<(), WorkError> {
    let reads = Reads::of(directory).map_err(|error| refused(state, not_counted(&error)))?;
    names::verify_cold(state, directory, sample, &mut || reads.now())
}

/// Reason for not dismounting anything.
const NOT_OURS: &str =
    "only a volume created for the run could be dismounted, and no volume is created on Windows";

/// Returns a function from a state to the reason if it is unavailable on `directory`.
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

/// Returns the reason if no state can be verified on a volume.
fn why_unverified(directory: Borrowed<'_>) -> Option<String> {
    if facts::is_remote(directory) {
        return Some("the server has its own cache, which cannot be dropped from here".to_owned());
    }
    let kind = volume_settings::volume(directory)
        .map_or_else(|_| "this file system".to_owned(), |volume| volume.file_system);
    if !KNOWN.contains(&kind.as_str()) {
        return Some(format!("it is unknown what {kind} has cached, so nothing could be verified"));
    }
    Reads::of(directory).and_then(|reads| reads.now()).map_err(|error| not_counted(&error)).err()
}

fn not_counted(error: &io::Error) -> String {
    let words = words(error);
    format!("the volume does not report how much is read from it ({words}), so nothing could be verified")
}

/// Counter of bytes read from a volume by all processes. The volume counts while this exists, so never during a
/// block.
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
