//! Detects threads that slow each other down while they read attributes: XFS looks up uncached names under an
//! exclusive lock (`xfs_da3_node_lookup_int`), where eight threads are slower than one. Each thread except the
//! last counts its sleeps and leaves if locks cause them.

use megadir_sys::usage::{Waits, thread_waits};

/// After these a thread decides, once.
const ENTRIES_TO_DECIDE: usize = 4096;
/// More than one sleep per this many entries may be contention.
const ENTRIES_A_SLEEP: u64 = 8;
/// A device read of at least this size explains one sleep.
const SECTORS_A_READ: u64 = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Contention {
    before: Option<Waits>,
    entries: usize,
    contended: bool,
}

impl Contention {
    pub(super) fn new() -> Self {
        Self { before: None, entries: 0, contended: false }
    }

    /// Records that the calling thread has read the attributes of `entries` entries.
    pub(super) fn note(&mut self, entries: usize) {
        if self.entries < ENTRIES_TO_DECIDE {
            self.note_waits(entries, thread_waits());
        }
    }

    fn note_waits(&mut self, entries: usize, now: Waits) {
        // The first batch is the thread's baseline.
        let Some(before) = self.before else {
            self.before = Some(now);
            return;
        };
        self.entries += entries;
        if self.entries >= ENTRIES_TO_DECIDE {
            let sleeps = now.switches - before.switches;
            let reads = (now.read_sectors - before.read_sectors) / SECTORS_A_READ;
            self.contended = sleeps * ENTRIES_A_SLEEP > self.entries as u64 && sleeps > 2 * reads;
        }
    }

    pub(super) fn is_contended(&self) -> bool {
        self.contended
    }
}

#[cfg(test)]
mod tests {
    use super::Contention;
    use megadir_sys::usage::Waits;

    /// Simulates a thread with this many sleeps and reads per 1000 entries; `true` if it leaves.
    fn contended(sleeps: u64, reads: u64) -> bool {
        let mut contention = Contention::new();
        for round in 0..10 {
            let waits = Waits { switches: 7 + round * sleeps, read_sectors: 9 + round * reads * 32 };
            contention.note_waits(1000, waits);
            assert!(!contention.is_contended() || round >= 5, "decided too early");
        }
        contention.is_contended()
    }

    #[test]
    fn sleeping_for_locks_is_told_from_sleeping_for_the_disk() {
        // Measured on XFS, sleeps per 1000 entries: 42 with one thread, 440 with two, and 44 reads.
        assert!(contended(440, 44));
        assert!(!contended(42, 44));
        assert!(!contended(0, 0));
        // Each entry needs a read from the disk.
        assert!(!contended(1000, 1000));
    }
}
