//! Removing trees and huge directories, relative to descriptors.
//!
//! ```text
//! remove_tree(parent, name) ----> worker: read a window -> unlinkat each -> directories wait -> go down, or give some away
//! remove_contents(directory) -/                                   a directory is removed by whoever finishes its last part
//! ```
//!
//! What is promised:
//!
//! * Every entry is reached by one name below an open directory. No symbolic link is followed, whoever swaps what meanwhile;
//!   the way up (`..`) is believed only when it leads to the directory that was come from: same device, inode and mount.
//! * Whatever is mounted below is not entered unless [`RemoveOptions::cross_mounts`] says so; a directory of the same file system
//!   mounted elsewhere (bind mount) counts as mounted. btrfs subvolumes are no mounts: they are emptied and removed like
//!   directories (which the kernel allows since 4.18, to users by the mount option `user_subvol_rm_allowed`); a read-only
//!   snapshot is a failure at each of its entries.
//! * One `unlinkat` a file, no look at its inode. Only [`Conditions::older_than`], [`Conditions::types`], [`RemoveOptions::dry_run`] and
//!   types that a directory does not tell cost a `statx` an entry, just before it goes: what was listed may be another by then.
//! * One directory is emptied by one worker (the kernel locks it for each removal); workers share the directories of a tree.
//!   No thread is started before there is a second directory to work on.
//! * Memory and descriptors are bounded, whatever is removed: a worker has a window of names and directories that wait, and keeps
//!   few of the directories above it open. Some 300 bytes a level are all that depth costs. Too few descriptors (`EMFILE`)
//!   close more of those above; the removal goes on with two.
//! * A failure at one entry is told and the rest goes on. Directories above it cannot become empty: they are counted
//!   ([`Counts::directories_kept`]), not told as failures of their own.
//! * It may be cancelled or killed at any moment; what is left is a smaller tree, and removing it again goes on.
//!
//! Linux and Windows have one engine; what it asks of the system is in `engine/linux.rs` and `engine/windows.rs`. On Windows:
//!
//! * An entry is opened below its directory and removed by its handle: three calls a file. Where there are conditions it is that handle
//!   that is held against them. With POSIX semantics (Windows 10 1607 and
//!   later, NTFS) its name is free then; elsewhere when the last has closed it, which is waited for a second.
//! * What is read-only goes too. Where the system does not do that by itself, the mark is taken away only once the file is open to be
//!   removed, and put back if it is refused all the same.
//! * Reparse points (symbolic links, junctions, mount points, folders that lie elsewhere) go themselves and are never entered, so that
//!   [`RemoveOptions::cross_mounts`] is refused. A directory is removed by its handle if it is the one that was emptied.
//! * Directories above stay open: nothing leads up from a handle. A directory that has more directories than there is room for is read on
//!   by its own handle, in pieces of 12 KiB; so much more a level of depth may cost.
//! * Under Wine, which follows the symbolic links of the system below it, what a name has led to is held against the path that it
//!   should have; what lies elsewhere is a failure and stays.
//!
//! The order in which a directory's entries go is in [`policy`]. [`aside`] puts a directory aside before it is removed.
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

/// The most workers that can be asked for.
pub const WORKERS_MAX: usize = 256;

/// How something is removed.
#[derive(Clone, Copy)]
pub struct RemoveOptions<'a> {
    /// Threads that remove, the caller's among them: 1 to [`WORKERS_MAX`]. They are started when there is work for them.
    pub workers: usize,
    /// Enter other file systems mounted below. The mount points themselves stay, as failures ("busy"). Refused on Windows.
    pub cross_mounts: bool,
    /// Which entries go; [`Conditions::NONE`] for all.
    pub conditions: Conditions<'a>,
    /// Remove nothing, and count what would go, with bytes. What the system would refuse is not foreseen.
    pub dry_run: bool,
    /// An entry directly below the directory that stays, with all that it holds. Its name is compared byte by byte, on
    /// Windows too.
    pub keep: Option<&'a [u8]>,
    /// The most entries that are removed a second, by all workers together, and by all removals that have the same [`Progress`].
    /// A dry run does not wait. What conditions look at is looked at after the wait, and what they keep takes no place.
    pub entries_per_second_max: Option<NonZeroU32>,
    /// The order in which a directory's entries go; `None` for that of the file system's row in [`policy::ROWS`].
    pub order: Option<Order>,
    /// Give each further worker a table of descriptors of its own, where the system allows it, so that workers do not share
    /// its lock and counters. Refused on Windows, which has no such tables. What the process has open when one starts stays open until a moment after the
    /// removal has ended, whoever closes it; and [`NameCondition`] and `on_failure`, which workers call, find no descriptor there that was opened later.
    pub own_tables: bool,
    /// Is told of each failure, by the thread that meets it. [`Failures`] keeps a bounded number of them.
    pub on_failure: &'a (dyn Fn(Error) + Sync),
}

/// What a call has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// What was removed and what was not, by this call.
    pub counts: Counts,
    /// Everything that was asked for is gone (with [`RemoveOptions::dry_run`]: would be, as far as is known). Not so after a
    /// failure, nor when it was cancelled. What conditions or [`RemoveOptions::keep`] keep was not asked for.
    pub complete: bool,
    /// [`Progress::cancel`] ended it.
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
