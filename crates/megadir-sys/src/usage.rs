//! Processor time and waiting. Linux: getrusage(2), whose split into user and system may depend on timer
//! ticks, but not the sum. Windows: `GetProcessTimes`, `GetThreadTimes` with ticks of 10 to 16 ms.

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
    pub user_ns: u64,
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

/// `read_bytes` is `None` if one is.
impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self { user_ns: 0, system_ns: 0, read_bytes: Some(0) }, |sum, usage| Self {
            user_ns: sum.user_ns + usage.user_ns,
            system_ns: sum.system_ns + usage.system_ns,
            read_bytes: sum.read_bytes.zip(usage.read_bytes).map(|(sum, bytes)| sum + bytes),
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Voluntary context switches: for a lock, a device, or sleep.
    pub switches: u64,
    /// Device reads, in units of 512 bytes; 0 if the kernel does not account for them.
    pub read_sectors: u64,
}

impl Waits {
    /// The thread slept and read from a device since `before`. A lock or an idle queue also makes a thread sleep, and
    /// reading ahead alone does not.
    #[must_use]
    pub fn waited_for_device_since(self, before: Self) -> bool {
        self.switches > before.switches && self.read_sectors > before.read_sectors
    }
}

#[cfg(unix)]
mod unix {
    //! getrusage(2).

    use super::Usage;
    #[cfg(target_os = "linux")]
    use super::Waits;

    pub fn process_usage() -> Usage {
        of_rusage(rusage(libc::RUSAGE_SELF))
    }

    pub fn children_usage() -> Usage {
        of_rusage(rusage(libc::RUSAGE_CHILDREN))
    }

    /// All 0 if the kernel does not know `who`.
    fn rusage(who: libc::c_int) -> libc::rusage {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to memory of the type's size, which the kernel fills.
        let _ = unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
        // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
        unsafe { usage.assume_init() }
    }

    /// Usage of the calling thread. Reading the thread's clock first updates values that are otherwise as old as
    /// the last timer tick (`task_sched_runtime`); for a whole process getrusage does so itself.
    #[cfg(target_os = "linux")]
    pub fn thread_usage() -> Usage {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a timespec, which the kernel fills; every thread has this clock.
        let _ = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
        of_rusage(rusage(libc::RUSAGE_THREAD))
    }

    pub(crate) fn of_rusage(usage: libc::rusage) -> Usage {
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        let read_bytes = cfg!(target_os = "linux").then_some(usage.ru_inblock as u64 * 512);
        Usage { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime), read_bytes }
    }

    #[cfg(target_os = "linux")]
    pub fn thread_waits() -> Waits {
        let usage = rusage(libc::RUSAGE_THREAD);
        Waits { switches: usage.ru_nvcsw as u64, read_sectors: usage.ru_inblock as u64 }
    }
}

#[cfg(windows)]
mod windows {
    //! `GetProcessTimes` and `GetThreadTimes`. (`GetProcessIoCounters` counts requested bytes instead of device reads.)

    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::System::Threading::{GetCurrentThread, GetProcessTimes, GetThreadTimes};
    use windows_sys::core::BOOL;

    use super::Usage;
    use crate::windows::{this_process, units};

    pub fn process_usage() -> Usage {
        let process = this_process();
        // SAFETY: the handle stands for this process, and the system writes one time to each of the four.
        usage_of(|[made, ended, system, user]| unsafe { GetProcessTimes(process, made, ended, system, user) })
    }

    pub fn thread_usage() -> Usage {
        // SAFETY: returns a constant that stands for the thread itself.
        let thread = unsafe { GetCurrentThread() };
        // SAFETY: the handle stands for the calling thread, and the system writes one time to each of the four.
        usage_of(|[made, ended, system, user]| unsafe { GetThreadTimes(thread, made, ended, system, user) })
    }

    /// 0 if the system does not answer.
    fn usage_of(query: impl FnOnce(&mut [FILETIME; 4]) -> BOOL) -> Usage {
        let mut times = [FILETIME::default(); 4];
        if query(&mut times) == 0 {
            times = [FILETIME::default(); 4];
        }
        let [_made, _ended, system, user] = times;
        Usage { user_ns: units(user) * 100, system_ns: units(system) * 100, read_bytes: None }
    }
}

#[cfg(test)]
mod tests {
    use super::{Waits, process_usage};

    #[test]
    fn only_sleeping_with_device_reads_is_waiting_for_a_device() {
        let before = Waits { switches: 5, read_sectors: 80 };
        let after = |switches, read_sectors| Waits { switches, read_sectors }.waited_for_device_since(before);
        assert!(after(6, 88));
        assert!(!after(6, 80), "a lock");
        assert!(!after(5, 88), "read ahead");
        assert!(!after(5, 80));
    }

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
    fn thread_usage_covers_that_thread_only() {
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
    fn thread_usage_covers_that_thread_only() {
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
