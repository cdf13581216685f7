//! Detects threads that slow each other down while they read attributes: XFS looks up uncached names under an exclusive lock
//! (`xfs_da3_node_lookup_int`), where eight threads are slower than one. A thread leaves if locks make it sleep; one always stays.
//!
//! btrfs lists a recently changed directory under an exclusive lock: there the other threads leave too, and the
//! caller's thread continues alone.

use std::time::Duration;

use megadir_sys::usage::{Waits, thread_waits};

/// After these a thread decides, once.
const ENTRIES_TO_DECIDE: usize = 4096;
/// More sleeps may be contention.
const ENTRIES_A_SLEEP: u64 = 8;
/// A device read of at least this size explains one sleep.
const SECTORS_A_READ: u64 = 8;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contention {
    before: Option<Waits>,
    entries: usize,
    pub(super) is_contended: bool,
}

impl Contention {
    pub(super) fn note(&mut self, entries: usize) {
        if self.entries < ENTRIES_TO_DECIDE {
            self.note_waits(entries, thread_waits());
        }
    }

    fn note_waits(&mut self, entries: usize, now: Waits) {
        let Some(before) = self.before else {
            self.before = Some(now);
            return;
        };
        self.entries += entries;
        if self.entries >= ENTRIES_TO_DECIDE {
            let sleeps = now.switches - before.switches;
            let reads = (now.read_sectors - before.read_sectors) / SECTORS_A_READ;
            self.is_contended = sleeps * ENTRIES_A_SLEEP > self.entries as u64 && sleeps > 2 * reads;
        }
    }
}

// Detects threads that only wait for each other: btrfs lists a changed directory under an exclusive lock
// (`btrfs_readdir_get_delayed_items`), which only timing shows.

/// While threads start and touch memory for the first time.
const CALLS_SKIPPED: u32 = 4;
const CALLS_TO_DECIDE: u32 = 12;
/// Factor over a call made alone.
const SLOWER_FROM: f64 = 1.6;

#[derive(Clone, Copy, Debug)]
pub(super) struct Throughput {
    alone_ns: f64,
    calls: u32,
    elapsed: Duration,
    bytes: usize,
}

impl Throughput {
    pub(super) fn new(bytes: usize, elapsed: Duration) -> Self {
        let alone_ns = elapsed.as_nanos() as f64 / bytes.max(1) as f64;
        Self { alone_ns, calls: 0, elapsed: Duration::ZERO, bytes: 0 }
    }

    pub(super) fn note(&mut self, bytes: usize, elapsed: Duration) {
        self.calls += 1;
        if self.calls > CALLS_SKIPPED {
            self.elapsed += elapsed;
            self.bytes += bytes;
        }
    }

    /// Only at the deciding call.
    pub(super) fn is_useless(&self) -> bool {
        let together_ns = self.elapsed.as_nanos() as f64 / self.bytes.max(1) as f64;
        self.calls == CALLS_TO_DECIDE && together_ns > self.alone_ns * SLOWER_FROM
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use megadir_sys::usage::Waits;

    use super::{Contention, Throughput};

    /// Simulates a thread with this many sleeps and reads per 1000 entries; `true` if it leaves.
    fn contended(sleeps: u64, reads: u64) -> bool {
        let mut contention = Contention::default();
        for round in 0..10 {
            let waits = Waits { switches: 7 + round * sleeps, read_sectors: 9 + round * reads * 32 };
            contention.note_waits(1000, waits);
            assert!(!contention.is_contended || round >= 5, "decided too early");
        }
        contention.is_contended
    }

    #[test]
    fn waiting_for_locks_is_distinguished_from_waiting_for_the_disk() {
        // Measured on XFS, sleeps per 1000 entries: 42 with one thread, 440 with two, and 44 reads.
        assert!(contended(440, 44));
        assert!(!contended(42, 44));
        assert!(!contended(0, 0));
        // Each entry needs a read from the disk.
        assert!(!contended(1000, 1000));
    }

    fn useless_after(each: Duration) -> Option<u32> {
        let mut throughput = Throughput::new(100_000, Duration::from_micros(200));
        (1..100).find(|_| {
            throughput.note(100_000, each);
            throughput.is_useless()
        })
    }

    #[test]
    fn threads_that_wait_for_each_other_are_distinguished() {
        assert_eq!(useless_after(Duration::from_micros(400)), Some(12));
        assert_eq!(useless_after(Duration::from_micros(260)), None);
    }
}
