//! The processor time that this process has used, divided into user and system time.
//!
//! Reference: getrusage(2). The kernel's division may rest on its timer's ticks, the sum does not.

/// Processor time of a process since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Time in user mode, nanoseconds.
    pub user_ns: u64,
    /// Time in the kernel, nanoseconds.
    pub system_ns: u64,
}

/// Returns what this process, all its threads together, has used.
#[cfg(unix)]
pub fn process_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_SELF is always valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Usage { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::process_usage;

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
