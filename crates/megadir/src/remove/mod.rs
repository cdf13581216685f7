//! Removing trees and huge directories, relative to descriptors.
//!
//! ```text
//! remove_tree, remove_contents -> worker: read a window -> unlinkat each -> directories wait -> descend or share
//!                                 the worker that ends the last part removes the directory
//! ```
//!
//! Guarantees:
//!
//! * Every entry is reached by a single name relative to an open directory, and no symbolic link is followed,
//!   whatever other processes rename. `..` is used only if it leads back to the expected directory.
//! * File systems mounted below (bind mounts included) are not entered unless [`RemoveOptions::cross_mounts`] is set. btrfs
//!   subvolumes are removed like directories (Linux 4.18 and later, for users with the mount option `user_subvol_rm_allowed`).
//! * One `unlinkat` per file. Only conditions on types, times, sizes and owners, [`RemoveOptions::dry_run`]
//!   and unknown types cost a `statx` per entry, just before the removal.
//! * One worker empties a directory, because the kernel locks it for each removal; workers share the directories of a tree.
//! * Memory is bounded for any tree except for about 300 bytes per level of depth; two descriptors are enough.
//! * A failure at one entry is reported and the removal continues. Directories above it count in
//!   [`Counts::directories_kept`].
//! * A removal may be cancelled or killed at any moment; run it again to continue.
//!
//! On Windows:
//!
//! * An entry is opened relative to its directory, checked, and removed by its handle. With POSIX semantics (Windows 10 1607
//!   and later, NTFS) the name is free at once, otherwise with the last handle; the engine waits up to a second.
//! * Read-only entries are removed too; if that still fails, the attribute is restored.
//! * Reparse points (symbolic links, junctions, mount points, cloud folders) are removed themselves and never
//!   entered, so [`RemoveOptions::cross_mounts`] is refused.
//! * Parent directories stay open. A directory with too many subdirectories is read further through its own handle.
//! * Under Wine, which follows symbolic links of the host, an entry whose real path is elsewhere is a failure.
//!
//! [`budget`] selects the files that have to go from a cache. [`single`] removes entries by their paths, each compared by the caller. [`policy`] has the order of removal. [`aside`] puts a directory aside first. [`target`] resolves the path
//! of an entry and refuses protected ones.

#[cfg(any(target_os = "linux", windows))]
pub mod aside;
#[cfg(any(target_os = "linux", windows))]
mod back_off;
#[cfg(target_os = "linux")]
pub mod budget;
#[cfg(any(target_os = "linux", windows))]
mod engine;
pub mod policy;
mod progress;
#[cfg(target_os = "linux")]
pub mod single;
#[cfg(any(target_os = "linux", windows))]
pub mod target;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

#[cfg(any(target_os = "linux", windows))]
pub use self::engine::{remove_contents, remove_tree};
pub use self::policy::Order;
pub use self::progress::{Counts, Progress};
#[cfg(not(any(target_os = "linux", windows)))]
pub use self::unavailable::{remove_contents, remove_tree};
#[cfg(any(target_os = "linux", windows))]
use crate::attributes::{Attributes, StatMask};
use crate::conditions::Conditions;
#[cfg(any(target_os = "linux", windows))]
use crate::conditions::{Place, TimeKind};
use crate::error::Error;
use crate::file_type::FileType;
pub use progress::Failures;

/// Callback with the path and type of an entry, see [`RemoveOptions::on_removal`].
pub type RemovalObserver<'a> = &'a (dyn Fn(&Path, FileType) -> bool + Sync);

/// Callback with the path of an entry and the reason why it stays, see [`RemoveOptions::on_stay`].
pub type StayObserver<'a> = &'a (dyn Fn(&Path, &str) + Sync);

/// Predicate on an entry's name.
pub type NameCondition<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// Maximum number of workers.
pub const WORKERS_MAX: usize = 256;

/// Options of a removal.
#[derive(Clone, Copy)]
pub struct RemoveOptions<'a> {
    /// Threads that remove, including the caller's: 1 to [`WORKERS_MAX`]; `None` for
    /// [`policy::processors`](crate::policy::processors), at most the `workers_max` of the row of the root's file system in
    /// [`policy::ROWS`]; a dry run, which only reads, is not limited by the row.
    pub workers: Option<usize>,
    /// Enter other file systems mounted below. Mount points themselves stay, as failures ("busy"). Refused on Windows.
    pub cross_mounts: bool,
    /// Selects the entries to remove; `None` for all. A directory is removed if it meets the conditions (by its attributes
    /// before the removal) and is empty by then; others are entered too, except excluded ones. With any condition, the
    /// directory named in the call stays. The path of an entry named in the call is its name.
    pub conditions: Option<&'a Conditions>,
    /// Only entries whose name, without path, this predicate accepts too.
    pub name: Option<NameCondition<'a>>,
    /// In each directory, this many of the entries that meet the other conditions and are no directories
    /// stay: those with the latest [`Conditions::by`], and all with the same time as the last of them.
    /// Conditions on times do not count. Reads directories and attributes twice. Refused on Windows.
    pub keep_newest: Option<NonZeroUsize>,
    /// Remove nothing; count entries and their bytes. Errors of the system are not predicted.
    pub dry_run: bool,
    /// In a dry run, entries that an earlier call with the same [`Progress`] has counted do not count again: for trees that lie
    /// in each other. Takes about 20 bytes per entry counted, for up to 14 million entries; further ones may count twice.
    pub counts_once: bool,
    /// Entry directly below the directory that stays, with everything in it. Names are compared byte by byte, on Windows too.
    pub keep: Option<&'a [u8]>,
    /// Most entries removed per second, by all removals with the same [`Progress`] together. Dry runs and
    /// entries that stay do not count. Conditions are checked after the wait.
    pub entries_per_second_max: Option<NonZeroU32>,
    /// Pause when removing calls take longer than in the first minute: from 1.5 times their mean over a second, pauses double,
    /// up to 63 times the time of the calls; below 1.2 times they shrink by a fifth each second.
    pub back_off: bool,
    /// Order of removal; `None` for the file system's row in [`policy::ROWS`].
    pub order: Option<Order>,
    /// Called on the removing thread just before an entry is removed (in a dry run: when it is counted). The
    /// entry may then turn out to stay. `false` ends the removal, and the entry stays.
    pub on_removal: Option<RemovalObserver<'a>>,
    /// Called with the path of an entry that stays although [`Self::on_removal`] was called with it, and with the reason: it was used, or
    /// another process has removed it. Failures are not among these.
    pub on_stay: Option<StayObserver<'a>>,
    /// Called with each failure, on the thread where it happens. [`Failures`] keeps a bounded number of them.
    pub on_failure: &'a (dyn Fn(Error) + Sync),
}

impl<'a> RemoveOptions<'a> {
    /// Removes everything on one file system, in the policy's order.
    pub fn new(workers: impl Into<Option<usize>>, on_failure: &'a (dyn Fn(Error) + Sync)) -> Self {
        Self {
            workers: workers.into(),
            cross_mounts: false,
            conditions: None,
            name: None,
            keep_newest: None,
            dry_run: false,
            counts_once: false,
            keep: None,
            entries_per_second_max: None,
            back_off: false,
            order: None,
            on_removal: None,
            on_stay: None,
            on_failure,
        }
    }
}

#[cfg(any(target_os = "linux", windows))]
impl RemoveOptions<'_> {
    fn removes_all(&self) -> bool {
        self.name.is_none() && self.keep_newest.is_none() && self.conditions.is_none_or(Conditions::is_none)
    }

    /// Takes back the announcement of an entry that is not removed.
    fn take_back(&self, path: impl FnOnce() -> std::path::PathBuf, why: &str) {
        if let Some(on_stay) = self.on_stay.filter(|_| self.on_removal.is_some()) {
            on_stay(&path(), why);
        }
    }

    fn accepts_name(&self, place: &Place, name: &[u8]) -> bool {
        self.conditions.is_none_or(|conditions| conditions.accepts_name(place, name))
            && self.name.is_none_or(|accepts| accepts(name))
    }

    fn accepts_type(&self, kind: FileType) -> bool {
        self.conditions.is_none_or(|conditions| conditions.accepts_type(kind))
    }

    fn want(&self) -> StatMask {
        let newest = if self.keep_newest.is_some() { self.by().want() } else { StatMask::NOTHING };
        newest | self.conditions.map_or(StatMask::NOTHING, Conditions::want)
    }

    fn by(&self) -> TimeKind {
        self.conditions.map_or_else(TimeKind::default, |conditions| conditions.by)
    }

    /// An attribute or the type is queried just before the removal.
    fn needs_look(&self) -> bool {
        self.want() != StatMask::NOTHING
            || self.conditions.is_some_and(|conditions| !conditions.types.is_empty())
    }

    /// Unknown attributes are not accepted.
    fn accepts_facts(&self, facts: &Attributes) -> bool {
        self.conditions.is_none_or(|conditions| {
            conditions.accepts_type(facts.kind) && conditions.accepts_attributes(facts)
        })
    }

    fn sees_below(&self, place: &Place) -> bool {
        self.conditions.is_none_or(|conditions| !conditions.hides_all(place))
    }

    /// At the greatest depth only to see if the directory is empty.
    fn opens(&self, place: &Place, name: &[u8]) -> bool {
        self.conditions.is_none_or(|conditions| conditions.sees(place, name))
    }
}

/// Result of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Counts of this call.
    pub counts: Counts,
    /// Everything requested is gone (in a dry run: would be). `false` after a failure or if cancelled.
    /// Entries kept by conditions or [`RemoveOptions::keep`] were not requested.
    pub complete: bool,
    /// [`Progress::cancel`] ended the removal.
    pub cancelled: bool,
}

impl std::fmt::Debug for RemoveOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoveOptions")
            .field("workers", &self.workers)
            .field("cross_mounts", &self.cross_mounts)
            .field("conditions", &self.conditions)
            .field("name", &self.name.map(|_| ".."))
            .field("dry_run", &self.dry_run)
            .field("counts_once", &self.counts_once)
            .field("keep", &self.keep)
            .field("entries_per_second_max", &self.entries_per_second_max)
            .field("keep_newest", &self.keep_newest)
            .field("back_off", &self.back_off)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
mod unavailable {

    use super::{Progress, RemoveOptions, Removed};
    use crate::dir::Dir;
    use crate::error::{Error, ErrorKind, Result};

    /// Always fails with [`ErrorKind::Unavailable`]: not supported on this system.
    pub fn remove_tree(
        parent: &Dir,
        _name: &[u8],
        _options: &RemoveOptions<'_>,
        _progress: &Progress,
    ) -> Result<Removed> {
        remove_contents(parent, _options, _progress)
    }

    /// Always fails with [`ErrorKind::Unavailable`]: not supported on this system.
    pub fn remove_contents(
        directory: &Dir,
        _options: &RemoveOptions<'_>,
        _progress: &Progress,
    ) -> Result<Removed> {
        Err(Error::new("remove", directory.path(), ErrorKind::Unavailable, "unavailable on this system"))
    }
}
