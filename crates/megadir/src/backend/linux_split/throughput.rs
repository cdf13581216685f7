//! Detects threads that only wait for each other, as on btrfs.
//!
//! A directory that was changed since its inode was loaded has a "delayed node" and is listed under an
//! exclusive lock (`btrfs_readdir_get_delayed_items` in `fs/btrfs/delayed-inode.c`). Only timing shows this
//! from user space: with two threads a call takes twice as long.

use std::time::Duration;

/// Calls that are ignored while threads start and touch memory for the first time.
const CALLS_SKIPPED: u32 = 4;
/// Number of calls after which a thread decides, once.
const CALLS_TO_DECIDE: u32 = 12;
/// A thread leaves if its calls take this many times as long as a call made alone.
const SLOWER_FROM: f64 = 1.6;

/// Duration of one thread's calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throughput {
    /// Time per byte of records in a call made alone, nanoseconds.
    alone_ns: f64,
    calls: u32,
    elapsed: Duration,
    bytes: usize,
}

impl Throughput {
    /// Takes the bytes and the duration of a call made alone.
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

    /// `true`, at the deciding call, if the thread only makes others wait.
    pub(super) fn is_useless(&self) -> bool {
        let together_ns = self.elapsed.as_nanos() as f64 / self.bytes.max(1) as f64;
        self.calls == CALLS_TO_DECIDE && together_ns > self.alone_ns * SLOWER_FROM
    }
}

#[cfg(test)]
mod tests {
    use super::Throughput;
    use std::time::Duration;

    fn useless_after(each: Duration) -> Option<u32> {
        let mut throughput = Throughput::new(100_000, Duration::from_micros(200));
        (1..100).find(|_| {
            throughput.note(100_000, each);
            throughput.is_useless()
        })
    }

    #[test]
    fn threads_that_wait_for_each_other_are_told_from_those_that_do_not() {
        assert_eq!(useless_after(Duration::from_micros(400)), Some(12));
        assert_eq!(useless_after(Duration::from_micros(260)), None);
    }
}
