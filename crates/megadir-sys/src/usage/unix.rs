//! getrusage(2).

use super::Usage;
#[cfg(target_os = "linux")]
use super::Waits;

pub fn process_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_SELF is always valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    of_rusage(usage)
}

pub fn children_usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_CHILDREN is always
    // valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    of_rusage(usage)
}

/// Usage of the calling thread. Reading the thread's clock first updates values that are otherwise as old as
/// the last timer tick (`task_sched_runtime`); for a whole process getrusage does so itself.
#[cfg(target_os = "linux")]
pub fn thread_usage() -> Usage {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec, which the kernel fills; every thread has this clock.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_THREAD is always
    // valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    of_rusage(usage)
}

/// Returns the parts of the kernel's record that this module reports.
pub(crate) fn of_rusage(usage: libc::rusage) -> Usage {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    let read_bytes = cfg!(target_os = "linux").then_some(usage.ru_inblock as u64 * 512);
    Usage { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime), read_bytes }
}

#[cfg(target_os = "linux")]
pub fn thread_waits() -> Waits {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the type's size, which the kernel fills; RUSAGE_THREAD is always
    // valid.
    let _ = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    Waits { switches: usage.ru_nvcsw as u64, read_sectors: usage.ru_inblock as u64 }
}
