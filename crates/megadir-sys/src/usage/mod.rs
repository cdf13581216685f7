//! Processor time and waiting. Linux: getrusage(2), whose split into user and system may depend on timer ticks,
//! but not the sum. Windows: `GetProcessTimes`, `GetThreadTimes` with ticks of 10 to 16 ms, so short blocks
//! show nothing or one tick.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use unix::of_rusage;
#[cfg(unix)]
pub use unix::{children_usage, process_usage};
#[cfg(target_os = "linux")]
pub use unix::{thread_usage, thread_waits};
#[cfg(windows)]
pub use windows::{process_usage, thread_usage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// User mode, nanoseconds.
    pub user_ns: u64,
    /// Kernel mode, nanoseconds.
    pub system_ns: u64,
    /// Device reads, in units of 512 bytes; 0 if the kernel or the file system does not account for them.
    /// `None` on Windows, which counts requested bytes, cached or not.
    pub read_bytes: Option<u64>,
}

impl Usage {
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let bytes = self.read_bytes.zip(before.read_bytes);
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            read_bytes: bytes.map(|(after, before)| after.saturating_sub(before)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Voluntary context switches: for a lock, a device, or sleep.
    pub switches: u64,
    /// Device reads, in units of 512 bytes; 0 if the kernel does not account for them.
    pub read_sectors: u64,
}

#[cfg(test)]
mod tests {
    use super::process_usage;

    #[cfg(target_os = "linux")]
    #[test]
    fn sleeping_is_seen_as_waiting() {
        let before = super::thread_waits();
        // A sleep that is over before the thread gets to it on a busy machine is no waiting.
        let is_seen = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            super::thread_waits().switches >= before.switches + 5
        });
        assert!(is_seen);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_has_used_what_it_has_used_itself() {
        let before = super::thread_usage();
        std::thread::spawn(|| while super::thread_usage().user_ns < 20_000_000 {}).join().unwrap();
        assert!(super::thread_usage().user_ns < before.user_ns + 10_000_000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn less_than_a_tick_is_seen() {
        let whole = |usage: super::Usage| usage.user_ns + usage.system_ns;
        let before = whole(super::thread_usage());
        let mut steps = std::collections::BTreeSet::new();
        while whole(super::thread_usage()) < before + 2_000_000 {
            steps.insert(whole(super::thread_usage()));
        }
        assert!(steps.len() > 20, "{steps:?}");
    }

    #[cfg(windows)]
    #[test]
    fn a_thread_has_used_what_it_has_used_itself() {
        let before = super::thread_usage();
        std::thread::spawn(|| while super::thread_usage().user_ns < 50_000_000 {}).join().unwrap();
        assert!(super::thread_usage().user_ns < before.user_ns + 40_000_000);
    }

    #[test]
    fn work_is_seen() {
        let before = process_usage();
        let mut sum = 0_u64;
        while process_usage().user_ns < before.user_ns + 5_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(process_usage().user_ns > before.user_ns);
    }
}
