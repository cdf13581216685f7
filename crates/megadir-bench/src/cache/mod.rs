//! Cache states: established before a block, verified, and restored for arms that need a warm cache; never part
//! of a measured time.
//!
//! ```text
//! cold arm:  the work gets ready -> drop -> verify -> touch our own pages again -> measure
//! warm arm:  anything dropped since? a pass over the data set, one over the arm's work -> ready -> measure
//! ```
//!
//! A state that is unavailable or cannot be verified is an error, never silently another state.

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

/// Every cache state with its name in reports, and the reason if it is unavailable on `directory`. In a virtual
/// machine cold states are named `guest-...`: the host's cache stays warm.
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
#[cfg_attr(windows, expect(dead_code, reason = "only Linux reports cached objects"))]
struct ColdTarget<'a> {
    data: DataId,
    /// `true` if subdirectories belong to it.
    deep: bool,
    entries: u64,
    sample: &'a [Sampled],
    file_system: &'a str,
}

/// The directories of the data sets; a remount opens them again.
pub(crate) trait Directories {
    fn of(&self, data: DataId) -> &Dir;

    /// Unmounts the file system of a data set, verifies that it is gone, and mounts it again.
    fn remount(&mut self, data: DataId) -> Result<(), WorkError>;

    /// Removes the files of a data set and makes identical ones, written to disk.
    fn recreate_files(&mut self, data: DataId) -> Result<(), WorkError>;
}

fn refused(state: CacheState, reason: impl Into<String>) -> WorkError {
    WorkError::Stage { stage: state.name(), source: io::Error::other(reason.into()) }
}
