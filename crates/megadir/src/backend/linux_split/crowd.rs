//! Whether threads that examine only crowd each other out: on XFS, uncached, they may.
//!
//! While a name is not cached, XFS looks it up in the directory's hash tree, holding the lock of the tree's root buffer,
//! which is exclusive for readers too (`xfs_da3_node_lookup_int` in `fs/xfs/libxfs/xfs_da_btree.c`). Two threads sleep
//! and are woken about every other name, and eight at each: together they are slower than one. Cached names need no such look-up.
//! A thread that is not the last one therefore watches how often it sleeps, and leaves where that is for locks.

use megadir_sys::usage::{Waits, thread_waits};

/// After so many entries a thread decides, once.
const ENTRIES_TO_TELL: usize = 4096;
/// A thread that sleeps more often than for one in so many entries is looked at.
const ENTRIES_A_SLEEP: u64 = 8;
/// A read from a device is of so many sectors at least, and explains one sleep.
const SECTORS_A_READ: u64 = 8;

/// What a thread has seen of its own waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    before: Option<Waits>,
    entries: usize,
    crowded: bool,
}

impl Crowd {
    pub(super) fn new() -> Self {
        Self { before: None, entries: 0, crowded: false }
    }

    /// Notes that the calling thread has examined so many entries.
    pub(super) fn note(&mut self, entries: usize) {
        if self.entries < ENTRIES_TO_TELL {
            self.note_waits(entries, thread_waits());
        }
    }

    fn note_waits(&mut self, entries: usize, now: Waits) {
        // The first batch is where the thread starts.
        let Some(before) = self.before else {
            self.before = Some(now);
            return;
        };
        self.entries += entries;
        if self.entries >= ENTRIES_TO_TELL {
            let sleeps = now.switches - before.switches;
            let reads = (now.read_sectors - before.read_sectors) / SECTORS_A_READ;
            self.crowded = sleeps * ENTRIES_A_SLEEP > self.entries as u64 && sleeps > 2 * reads;
        }
    }

    /// Tells whether the thread only makes others wait.
    pub(super) fn is_crowded(&self) -> bool {
        self.crowded
    }
}

#[cfg(test)]
mod tests {
    use super::Crowd;
    use megadir_sys::usage::Waits;

    /// Returns whether a thread leaves that sleeps and reads so often for each 1000 entries.
    fn crowded(sleeps: u64, reads: u64) -> bool {
        let mut crowd = Crowd::new();
        for round in 0..10 {
            let waits = Waits { switches: 7 + round * sleeps, read_sectors: 9 + round * reads * 32 };
            crowd.note_waits(1000, waits);
            assert!(!crowd.is_crowded() || round >= 5, "told too early");
        }
        crowd.is_crowded()
    }

    #[test]
    fn sleeping_for_locks_is_told_from_sleeping_for_the_disk() {
        // What was measured on XFS: one thread 42 a 1000 entries, two threads 440, with 44 reads.
        assert!(crowded(440, 44));
        assert!(!crowded(42, 44));
        assert!(!crowded(0, 0));
        // A disk that is read for every entry.
        assert!(!crowded(1000, 1000));
    }
}
