//! Removing trees and huge directories, relative to descriptors.
//!
//! ```text
//! remove_tree(parent, name) ----> worker: read a window -> unlinkat each -> directories wait -> descend, or share some
//! remove_contents(directory) -/                                   the worker that ends the last part removes the directory
//! ```
//!
//! Guarantees:
//!
//! * Every entry is reached by a single name relative to an open directory. No symbolic link is followed,
//!   whatever other processes rename. The way up (`..`) is used only if it leads back to the expected
//!   directory: same device, inode and mount.
//! * File systems mounted below are not entered unless [`RemoveOptions::cross_mounts`] is set. A directory of
//!   the same file system mounted elsewhere (bind mount) counts as mounted. btrfs subvolumes are not mounts:
//!   they are emptied and removed like directories (the kernel allows this since 4.18, for users with the mount
//!   option `user_subvol_rm_allowed`). In a read-only snapshot each entry is a failure.
//! * One `unlinkat` per file, without examining its inode. Only [`Conditions::older_than`],
//!   [`Conditions::types`], [`RemoveOptions::dry_run`] and unknown types cost a `statx` per entry, just before
//!   the removal: the listing may be outdated.
//! * One worker empties a directory (the kernel locks the directory for each removal); workers share the
//!   directories of a tree. No thread is started before there is a second directory to work on.
//! * Memory and descriptors are bounded for any tree. A worker has a window of names and a list of waiting
//!   directories, and keeps a few parent directories open. Each level of depth costs about 300 bytes. If
//!   descriptors run out (`EMFILE`), more parents are closed; two descriptors are enough.
//! * A failure at one entry is reported and the removal continues. Directories above it cannot become empty:
//!   they are counted ([`Counts::directories_kept`]) but are not failures of their own.
//! * A removal may be cancelled or killed at any moment. It leaves a smaller tree; run it again to continue.
//!
//! Linux and Windows share one engine; its system calls are in `engine/linux.rs` and `engine/windows.rs`. On
//! Windows:
//!
//! * An entry is opened relative to its directory and removed by its handle: three calls per file. Conditions
//!   are checked on that handle. With POSIX semantics (Windows 10 1607 and later, NTFS) the name is free at
//!   once; otherwise when the last handle is closed, which the engine waits for up to a second.
//! * Read-only entries are removed too. If the system refuses that, the attribute is cleared once the file is
//!   open for removal, and restored if the removal still fails.
//! * Reparse points (symbolic links, junctions, mount points, cloud folders) are removed themselves and never
//!   entered, so [`RemoveOptions::cross_mounts`] is refused. A directory is removed by its handle if it is the
//!   one that was emptied.
//! * Parent directories stay open: they cannot be reached from a handle. If a directory has more subdirectories
//!   than there is space for, it is read further through its own handle, 12 KiB at a time; this adds to the
//!   cost of a level.
//! * Wine follows symbolic links of the host system, so the real path of each entry is checked; an entry that
//!   is elsewhere is a failure and stays.
//!
//! [`policy`] has the removal order of a directory's entries. [`aside`] puts a directory aside before it is
//! removed.
//!
//! Reference: unlinkat(2), openat2(2), getdents(2); `FILE_DISPOSITION_INFORMATION_EX` in the documentation of the Windows driver kit.

#[cfg(any(target_os = "linux", windows))]
pub mod aside;
mod conditions;
#[cfg(any(target_os = "linux", windows))]
mod engine;
mod failures;
pub mod policy;
mod progress;
#[cfg(not(any(target_os = "linux", windows)))]
mod unavailable;

use std::num::NonZeroU32;

pub use self::conditions::{Conditions, NameCondition};
#[cfg(any(target_os = "linux", windows))]
pub use self::engine::{remove_contents, remove_tree};
pub use self::failures::Failures;
pub use self::policy::Order;
pub use self::progress::{Counts, Progress};
#[cfg(not(any(target_os = "linux", windows)))]
pub use self::unavailable::{remove_contents, remove_tree};
use crate::error::Error;

/// Maximum number of workers.
pub const WORKERS_MAX: usize = 256;

/// Options of a removal.
#[derive(Clone, Copy)]
pub struct RemoveOptions<'a> {
    /// Threads that remove, including the caller's: 1 to [`WORKERS_MAX`]. Started when there is work for them.
    pub workers: usize,
    /// Enter other file systems mounted below. The mount points themselves stay, as failures ("busy"). Refused
    /// on Windows.
    pub cross_mounts: bool,
    /// Entries to remove; [`Conditions::NONE`] for all.
    pub conditions: Conditions<'a>,
    /// Remove nothing; count the entries that would be removed, and their bytes. Errors of the system are not
    /// predicted.
    pub dry_run: bool,
    /// An entry directly below the directory that stays, with everything in it. Names are compared byte by
    /// byte, on Windows too.
    pub keep: Option<&'a [u8]>,
    /// Most entries removed per second, by all workers together and by all removals with the same [`Progress`].
    /// A dry run does not wait. Conditions are checked after the wait, and entries that stay do not count.
    pub entries_per_second_max: Option<NonZeroU32>,
    /// Order in which a directory's entries are removed; `None` for the order of the file system's row in
    /// [`policy::ROWS`].
    pub order: Option<Order>,
    /// Give each further worker its own descriptor table, if the system allows it, so that workers do not share
    /// its lock and counters. Refused on Windows, which has no such tables. Files that the process has open
    /// when a worker starts stay open until shortly after the removal has ended, even if other threads close
    /// them. [`NameCondition`] and `on_failure`, which workers call, cannot use descriptors opened later.
    pub own_tables: bool,
    /// Called with each failure, on the thread where it happens. [`Failures`] keeps a bounded number of them.
    pub on_failure: &'a (dyn Fn(Error) + Sync),
}

/// Result of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Counts of this call.
    pub counts: Counts,
    /// Everything requested is gone (with [`RemoveOptions::dry_run`]: would be, as far as is known). `false`
    /// after a failure or if cancelled. Entries kept by conditions or [`RemoveOptions::keep`] were not
    /// requested.
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
            .field("dry_run", &self.dry_run)
            .field("keep", &self.keep)
            .field("entries_per_second_max", &self.entries_per_second_max)
            .field("order", &self.order)
            .field("own_tables", &self.own_tables)
            .finish_non_exhaustive()
    }
}
