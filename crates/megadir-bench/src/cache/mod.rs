//! States of the cache: had before a block, proven, and given back to arms that need it warm.
//!
//! ```text
//! cold arm:  the work gets ready -> drop -> verify -> touch our own pages again -> measure
//! warm arm:  something was dropped since? one pass over the data set, one over the arm's own work -> ready -> measure
//! ```
//!
//! None of it is timed. A state that cannot be had or verified is an error with its reason, never another state. Knows
//! nothing of clocks, records or reports.
//!
//! `caches` is what the runner uses, the same on every system; what a system drops and how that is verified is in a directory of its
//! own, with the same names in each: `System`, `refusals`, `verify_cold`.

mod caches;
#[cfg(any(windows, test))]
mod judge;
#[cfg(target_os = "linux")]
mod linux;
mod tree;
#[cfg(windows)]
mod windows;

use std::io;

use megadir::Dir;
use megadir_record::{CacheState, DataId};

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

use self::tree::Sampled;
use crate::control::WorkError;
use crate::host;
use crate::request::CacheFact;

pub(crate) use caches::{Before, Caches};
#[cfg(target_os = "linux")]
pub(crate) use system::is_memory;

/// Returns every state of the cache with its name in reports, and the reason if it is unavailable on `directory`.
///
/// In a virtual machine cold states are named `guest-...`: the host's cache stays warm. Nothing is dropped.
pub fn cache_facts(directory: &Dir) -> Vec<CacheFact> {
    let unavailable = system::refusals(directory);
    let guest = if host::is_virtual() { "guest-" } else { "" };
    let facts = CacheState::ALL.into_iter().map(|state| CacheFact {
        state,
        name: if state.drops() { format!("{guest}{}", state.name()) } else { state.name().to_owned() },
        unavailable: if state.drops() { unavailable(state) } else { None },
    });
    facts.collect()
}

/// A data set that is to become cold.
#[cfg_attr(windows, expect(dead_code, reason = "only Linux tells what of how many is cached"))]
struct ColdTarget<'a> {
    data: DataId,
    /// `true` if subdirectories belong to it.
    deep: bool,
    entries: u64,
    /// Names that were drawn from it.
    sample: &'a [Sampled],
    /// The type of the file system that it is on.
    file_system: &'a str,
}

/// The directories of the data sets, which are opened again where their file system is mounted again.
pub(crate) trait Directories {
    /// Returns the directory of a data set.
    fn of(&self, data: DataId) -> &Dir;

    /// Unmounts the file system of a data set, proves that it is gone, and mounts it again.
    fn remount(&mut self, data: DataId) -> Result<(), WorkError>;

    /// Removes the files of a data set and makes them again, the same ones, on the disk.
    fn recreate_files(&mut self, data: DataId) -> Result<(), WorkError>;
}

/// Returns the error for a state that is unavailable or not verified.
fn refused(state: CacheState, reason: impl Into<String>) -> WorkError {
    WorkError::Stage { stage: state.name(), source: io::Error::other(reason.into()) }
}
