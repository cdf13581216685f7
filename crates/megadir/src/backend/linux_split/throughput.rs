//! Detects threads that only wait for each other. btrfs lists a directory changed since its inode was loaded
//! under an exclusive lock (`btrfs_readdir_get_delayed_items`), which only timing shows.

use std::time::Duration;

/// While threads start and touch memory for the first time.
const CALLS_SKIPPED: u32 = 4;
/// After these a thread decides, once.
const CALLS_TO_DECIDE: u32 = 12;
/// Factor over a call made alone.
const SLOWER_FROM: f64 = 1.6;

/// Duration of one thread's calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throughput {
    /// Nanoseconds per byte of a call made alone.
    alone_ns: f64,
    calls: u32,
    elapsed: Duration,
    bytes: usize,
}

impl Throughput {
    /// Takes a call made alone.
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
