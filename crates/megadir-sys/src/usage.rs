//! The processor time that this process has used, divided into user and system time, and what a thread waited for.
//!
//! Reference: getrusage(2). The kernel's division may rest on its timer's ticks, the sum does not.

/// Processor time of a process or a thread since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Time in user mode, nanoseconds.
    pub user_ns: u64,
    /// Time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// Bytes that it had read from devices, in units of 512; `None` on systems that count something else. 0 throughout where
    /// the kernel does not account for it, and on file systems without a device.
    pub read_bytes: Option<u64>,
}

impl Usage {
    /// Returns what was used since an earlier look.
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

/// Returns what this process, all its threads together, has used.
#[cfg(unix)]
pub fn process_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_SELF is always valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    told(usage)
}

/// Returns what the children of this process have used that have ended and been waited for.
#[cfg(unix)]
pub fn children_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_CHILDREN is always valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    told(usage)
}

/// Returns what the calling thread has used.
///
/// The thread's own clock is read first: the kernel then brings up to date what it otherwise knows as of the last timer's
/// tick (`task_sched_runtime`; for a whole process getrusage does that itself).
#[cfg(target_os = "linux")]
pub fn thread_usage() -> Usage {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec, which the kernel fills; every thread has this clock.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_THREAD is always valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    told(usage)
}

#[cfg(unix)]
fn told(usage: libc::rusage) -> Usage {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    let read_bytes = cfg!(target_os = "linux").then_some(usage.ru_inblock as u64 * 512);
    Usage { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime), read_bytes }
}

/// What a thread has waited for since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// How often it gave up the processor by itself: for a lock, for a device, or to sleep.
    pub switches: u64,
    /// What it had read from devices, units of 512 bytes; 0 throughout where the kernel does not account for it.
    pub read_sectors: u64,
}

/// Returns what the calling thread has waited for.
#[cfg(target_os = "linux")]
pub fn thread_waits() -> Waits {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_THREAD is always valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    Waits { switches: usage.ru_nvcsw as u64, read_sectors: usage.ru_inblock as u64 }
}

#[cfg(all(test, unix))]
mod tests {
    use super::process_usage;

    #[cfg(target_os = "linux")]
    #[test]
    fn sleeping_is_seen_as_waiting() {
        let before = super::thread_waits();
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(super::thread_waits().switches >= before.switches + 5);
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
