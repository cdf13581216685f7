//! Counts of a running removal for another thread to read, and the flag that cancels it.

#[cfg(any(target_os = "linux", windows))]
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
#[cfg(any(target_os = "linux", windows))]
use crate::pace::Slots;
use crate::threads::lock;

/// Counts of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries removed that are not directories (with `dry_run`: to be removed).
    pub entries: u64,
    /// Directories removed.
    pub directories: u64,
    /// Allocated size of the removed entries, bytes, if examined; else 0. Excludes files with other links.
    pub bytes: u64,
    /// Removed entries with other links, if examined.
    pub linked: u64,
    /// Entries that could not be removed; each was reported.
    pub failures: u64,
    /// Directories among these that are mount points and were not entered.
    pub mounts: u64,
    /// Directories that stay because an entry below could not be removed; no failures.
    pub directories_kept: u64,
    /// Directories that meet the conditions and stay because an entry below does not; no failures.
    pub directories_filled: u64,
}

#[cfg(any(target_os = "linux", windows))]
impl Counts {
    fn add(&mut self, more: &Self) {
        // A file that turns out to be kept by its server is subtracted.
        self.entries = self.entries.wrapping_add(more.entries);
        self.directories += more.directories;
        self.bytes += more.bytes;
        self.linked = self.linked.wrapping_add(more.linked);
        self.failures += more.failures;
        self.mounts += more.mounts;
        self.directories_kept += more.directories_kept;
        self.directories_filled += more.directories_filled;
    }
}

/// Counts of a running removal, and the flag that cancels it. One value may serve several removals, also at the same time.
#[derive(Debug, Default)]
pub struct Progress {
    counts: Mutex<Counts>,
    cancelled: Flag,
    #[cfg(any(target_os = "linux", windows))]
    pub(super) slots: Slots,
    #[cfg(test)]
    pub(super) meanwhile: tests::Meanwhile,
    #[cfg(any(target_os = "linux", windows))]
    pub(super) back_off: super::back_off::BackOff,
    /// Names that a dry run has met of files with several names; as many files as [`LINKED_MAX`].
    #[cfg(any(target_os = "linux", windows))]
    linked: Mutex<HashMap<FileId, u64>>,
    /// Hashes of the names that dry runs with [`RemoveOptions::counts_once`](super::RemoveOptions) have counted.
    #[cfg(any(target_os = "linux", windows))]
    counted: Mutex<HashSet<u64>>,
}

/// Device (major, minor) and inode.
#[cfg(any(target_os = "linux", windows))]
pub(super) type FileId = ((u32, u32), u64);

/// About 50 MB. Space of further files counts as kept by their other names.
#[cfg(any(target_os = "linux", windows))]
const LINKED_MAX: usize = 1_000_000;

/// About 300 MB. Further entries may count twice where trees lie in each other.
#[cfg(any(target_os = "linux", windows))]
const COUNTED_MAX: usize = 14_000_000;

/// File with several names.
#[cfg(any(target_os = "linux", windows))]
#[derive(Clone, Copy)]
pub(super) struct Linked {
    pub(super) file: FileId,
    pub(super) names: u64,
    pub(super) bytes: u64,
}

/// On its own cache line: every worker reads it at each entry.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Flag(AtomicBool);

impl Progress {
    /// Starts with all counts at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts so far; they lag by at most a few hundred entries per worker. Takes a lock, so a signal handler must
    /// not call it.
    pub fn counts(&self) -> Counts {
        let counts = *lock(&self.counts);
        // Less than nothing while another worker still holds what a file that is still open is subtracted from.
        let entries = if counts.entries.cast_signed() < 0 { 0 } else { counts.entries };
        Counts { entries, ..counts }
    }

    /// Cancels the removal: each worker stops at its next entry. Only sets a flag, so a signal handler may call it.
    pub fn cancel(&self) {
        self.cancelled.0.store(true, Ordering::Relaxed);
    }

    /// `true` if the removal was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.0.load(Ordering::Relaxed)
    }
}

/// Counts of one call, which its caller's [`Progress`] gets too.
#[cfg(any(target_os = "linux", windows))]
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) progress: &'a Progress,
    counts: Mutex<Counts>,
}

#[cfg(any(target_os = "linux", windows))]
impl<'a> Call<'a> {
    pub(super) fn new(progress: &'a Progress) -> Self {
        Self { progress, counts: Mutex::default() }
    }

    pub(super) fn counts(&self) -> Counts {
        *lock(&self.counts)
    }

    /// `true` if [`Call::note`] was called with this hash.
    pub(super) fn is_counted(&self, hash: u64) -> bool {
        lock(&self.progress.counted).contains(&hash)
    }

    pub(super) fn note(&self, hash: u64) {
        let mut counted = lock(&self.progress.counted);
        if counted.len() < COUNTED_MAX {
            counted.insert(hash);
        }
    }

    /// Counts one name of a file in a dry run. With the last one, the space is freed, and no name counts as linked.
    pub(super) fn unlink(&self, linked: Linked, counts: &mut Counts) {
        let mut met = lock(&self.progress.linked);
        let has_room = met.len() < LINKED_MAX;
        let Some(names) = met.get_mut(&linked.file) else {
            if has_room {
                met.insert(linked.file, 1);
            }
            return;
        };
        *names += 1;
        if *names == linked.names {
            counts.bytes += linked.bytes;
            // Other workers may still hold their part of these: the sum is right.
            counts.linked = counts.linked.wrapping_sub(linked.names);
            met.remove(&linked.file);
        }
    }

    pub(super) fn add(&self, counts: &Counts) {
        lock(&self.counts).add(counts);
        lock(&self.progress.counts).add(counts);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Progress;
    use std::fmt;
    use std::sync::Mutex;

    type Call = Box<dyn FnMut(&Progress) + Send>;

    #[derive(Default)]
    pub(in crate::remove) struct Meanwhile(pub(in crate::remove) Mutex<Option<Call>>);

    impl Meanwhile {
        pub(in crate::remove) fn happens(&self, progress: &Progress) {
            if let Some(call) = &mut *self.0.lock().unwrap() {
                call(progress);
            }
        }
    }

    impl fmt::Debug for Meanwhile {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Meanwhile")
        }
    }
}

/// Keeps the first failures and drops the rest ([`Counts::failures`](super::Counts) counts all). Messages have paths of at most 16 KiB.
#[derive(Debug)]
pub struct Failures {
    kept_max: usize,
    kept: Mutex<Vec<Error>>,
}

impl Failures {
    /// Creates a collector that keeps up to `kept_max` failures.
    pub fn new(kept_max: usize) -> Self {
        Self { kept_max, kept: Mutex::new(Vec::new()) }
    }

    /// Adds a failure; for [`RemoveOptions::on_failure`](super::RemoveOptions).
    pub fn add(&self, failure: Error) {
        let mut kept = lock(&self.kept);
        if kept.len() < self.kept_max {
            kept.push(failure);
        }
    }

    /// Takes the failures out of the collector, which then has space again.
    pub fn take(&self) -> Vec<Error> {
        std::mem::take(&mut *lock(&self.kept))
    }
}
