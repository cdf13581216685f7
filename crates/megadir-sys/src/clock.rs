//! Cycle counter (Intel SDM volume 3, "Time-Stamp Counter") and monotonic clock. A chained read of the cycle
//! counter is about 10 ns cheaper than the vDSO clock, so single cached operations are measurable.

use std::sync::OnceLock;
use std::time::Instant;

/// Cycle counter, or [`monotonic_ns`] on processors without one. Unfenced: the read may move by some tens of
/// cycles against its neighbours, but a system call in between keeps two reads apart.
#[inline]
pub fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the instruction and it touches no memory. (An operating system may
        // forbid it to user code; no supported system does.)
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        monotonic_ns()
    }
}

/// Since its first use in this process.
#[inline]
pub fn monotonic_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Nanoseconds since a moment shared by all processes of this boot (`CLOCK_MONOTONIC`).
#[cfg(unix)]
#[inline]
pub fn shared_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec, which the kernel fills; every Linux has this clock.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// `QueryPerformanceCounter`, with ticks of 100 ns on most machines.
#[cfg(windows)]
#[inline]
pub fn shared_ns() -> u64 {
    static TICKS_PER_S: OnceLock<u64> = OnceLock::new();
    let per_s = *TICKS_PER_S.get_or_init(|| crate::windows::system::counter_hz().unwrap_or(10_000_000));
    let mut ticks = 0;
    // SAFETY: the pointer is to a number, which the system writes; since Windows XP the call does not fail.
    let _ = unsafe { windows_sys::Win32::System::Performance::QueryPerformanceCounter(&raw mut ticks) };
    (u128::from(ticks.cast_unsigned()) * 1_000_000_000 / u128::from(per_s)) as u64
}

/// `true` if [`cycles`] has a constant rate in all processor states: one calibration serves a whole run.
pub fn invariant_counter() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        let highest = __cpuid(0x8000_0000).eax;
        // Leaf 0x8000_0007, EDX bit 8: invariant TSC.
        highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{cycles, monotonic_ns, shared_ns};

    #[test]
    fn the_clocks_move_forward() {
        let (c, m, s) = (cycles(), monotonic_ns(), shared_ns());
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(cycles() > c);
        assert!(monotonic_ns() >= m + 2_000_000);
        assert!(shared_ns() >= s + 2_000_000);
    }
}
