//! What has been removed so far, for another thread to look at, and its way to end the removal.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What was removed and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries removed that are no directories (with `dry_run`: that would be).
    pub entries: u64,
    /// Directories removed.
    pub directories: u64,
    /// Space on the disk of what was removed, bytes, as far as it was looked at: with `dry_run` or `older_than`, else 0. Files with
    /// other links are not in it, since their space may stay in use.
    pub bytes: u64,
    /// Entries removed that had other links, where they were looked at.
    pub linked: u64,
    /// Entries that could not be removed; each has been told.
    pub failures: u64,
    /// Of these, directories on which another file system is mounted, not entered.
    pub mounts: u64,
    /// Directories that stay because something below them could not be removed; not among the failures.
    pub directories_kept: u64,
}

/// The counts of a removal while it runs, and the flag that ends it. One value may serve several removals, one after another.
#[derive(Debug, Default)]
pub struct Progress {
    counters: Counters,
    cancelled: Flag,
    /// When entries may go, where a rate is to be kept.
    #[cfg(any(target_os = "linux", windows))]
    pub(super) places: super::engine::Places,
}

/// On a cache line of its own: every worker reads it at each entry.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Flag(AtomicBool);

#[derive(Debug, Default)]
struct Counters {
    entries: AtomicU64,
    directories: AtomicU64,
    bytes: AtomicU64,
    linked: AtomicU64,
    failures: AtomicU64,
    mounts: AtomicU64,
    directories_kept: AtomicU64,
}

impl Progress {
    /// Starts at nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts so far; they follow what is done by some hundred entries a worker at most.
    pub fn counts(&self) -> Counts {
        let counters = &self.counters;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            entries: load(&counters.entries),
            directories: load(&counters.directories),
            bytes: load(&counters.bytes),
            linked: load(&counters.linked),
            failures: load(&counters.failures),
            mounts: load(&counters.mounts),
            directories_kept: load(&counters.directories_kept),
        }
    }

    /// Ends the removal: each worker stops at its next entry.
    ///
    /// Only sets a flag, so a signal handler may call it.
    pub fn cancel(&self) {
        self.cancelled.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the removal is to end.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.0.load(Ordering::Relaxed)
    }

    /// Adds what a worker has counted for itself.
    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn add(&self, counts: &Counts) {
        let counters = &self.counters;
        let add = |counter: &AtomicU64, more: u64| {
            if more > 0 {
                counter.fetch_add(more, Ordering::Relaxed);
            }
        };
        add(&counters.entries, counts.entries);
        add(&counters.directories, counts.directories);
        add(&counters.bytes, counts.bytes);
        add(&counters.linked, counts.linked);
        add(&counters.failures, counts.failures);
        add(&counters.mounts, counts.mounts);
        add(&counters.directories_kept, counts.directories_kept);
    }
}

#[cfg(any(target_os = "linux", windows))]
impl Counts {
    /// Returns what has been added since.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            entries: self.entries - before.entries,
            directories: self.directories - before.directories,
            bytes: self.bytes - before.bytes,
            linked: self.linked - before.linked,
            failures: self.failures - before.failures,
            mounts: self.mounts - before.mounts,
            directories_kept: self.directories_kept - before.directories_kept,
        }
    }
}
