//! What the system tells of itself: its version, memory, processors, limits of the job, and whether it is Windows at all.

use std::ffi::CStr;

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::JobObjects::{
    JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP, JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectCpuRateControlInformation, JobObjectExtendedLimitInformation, QueryInformationJobObject,
};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Performance::QueryPerformanceFrequency;
use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW};
use windows_sys::Win32::System::Threading::GetSystemTimes;
use windows_sys::{s, w};

/// Returns the version of Wine, as `8.0`, where it stands in for Windows: then nothing that is measured tells of Windows.
pub fn wine_version() -> Option<String> {
    // SAFETY: the name ends with a NUL; a module that every process has is looked up.
    let ntdll = unsafe { GetModuleHandleW(w!("ntdll.dll")) };
    if ntdll.is_null() {
        return None;
    }
    // SAFETY: the module stays loaded as long as the process; the name ends with a NUL.
    let found = unsafe { GetProcAddress(ntdll, s!("wine_get_version")) }?;
    // SAFETY: Wine exports it as a function without arguments that returns a pointer to a string; Windows has no export of that name.
    let version = unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, extern "C" fn() -> *const core::ffi::c_char>(
            found,
        )
    }();
    if version.is_null() {
        return Some("of unknown version".to_owned());
    }
    // SAFETY: Wine returns a constant string that ends with a NUL.
    let version = unsafe { CStr::from_ptr(version) };
    Some(version.to_string_lossy().into_owned())
}

/// Returns the version of Windows as the kernel has it, whatever the program is made compatible with: major, minor, build.
pub fn version() -> Option<(u32, u32, u32)> {
    let mut told = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the system writes one such structure, whose size it is told.
    let status = unsafe { RtlGetVersion(&raw mut told) };
    (status == 0).then_some((told.dwMajorVersion, told.dwMinorVersion, told.dwBuildNumber))
}

/// Memory of the machine, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// In all, without what the hardware keeps for itself.
    pub total_bytes: u64,
    /// What could be used for something new without writing anything first.
    pub available_bytes: u64,
}

/// Returns the memory of the machine.
pub fn memory() -> Option<Memory> {
    let mut told =
        MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the system writes one such structure, whose size it is told.
    let succeeded = unsafe { GlobalMemoryStatusEx(&raw mut told) };
    (succeeded != 0).then_some(Memory { total_bytes: told.ullTotalPhys, available_bytes: told.ullAvailPhys })
}

/// Times of all processors together since the system was started, units of 100 ns; they move in ticks of 10 to 16 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// Doing nothing.
    pub idle: u64,
    /// Doing anything or nothing.
    pub all: u64,
}

/// Returns the times of all processors together.
pub fn processor_times() -> Option<ProcessorTimes> {
    let (mut idle, mut kernel, mut user) = (FILETIME::default(), FILETIME::default(), FILETIME::default());
    // SAFETY: the system writes one time to each.
    let succeeded = unsafe { GetSystemTimes(&raw mut idle, &raw mut kernel, &raw mut user) };
    // The kernel's time has the idle time in it.
    (succeeded != 0).then(|| ProcessorTimes { idle: units(idle), all: units(kernel) + units(user) })
}

/// Returns a time of the system in units of 100 ns.
pub(crate) fn units(time: FILETIME) -> u64 {
    (u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime)
}

/// Returns how often a second the performance counter, which is the monotonic clock, moves.
pub fn counter_hz() -> Option<u64> {
    let mut hz = 0_i64;
    // SAFETY: the system writes one number.
    let succeeded = unsafe { QueryPerformanceFrequency(&raw mut hz) };
    u64::try_from(hz).ok().filter(|hz| succeeded != 0 && *hz > 0)
}

/// Tells whether the machine runs on its battery; `None` where it is not known.
pub fn on_battery() -> Option<bool> {
    let mut told = SYSTEM_POWER_STATUS::default();
    // SAFETY: the system writes one such structure.
    let succeeded = unsafe { GetSystemPowerStatus(&raw mut told) };
    match told.ACLineStatus {
        0 if succeeded != 0 => Some(true),
        1 if succeeded != 0 => Some(false),
        _ => None,
    }
}

/// What the job that this process belongs to (as in a container) may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobLimits {
    /// Memory of the job, or of each of its processes, bytes.
    pub memory_bytes: Option<u64>,
    /// Share of the time of all processors, at most 1.
    pub processor_share: Option<f64>,
}

/// Returns the limits of the innermost job of this process.
pub fn job_limits() -> JobLimits {
    let mut limits = JobLimits::default();
    let mut told = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    // SAFETY: without a handle the process's own job is meant; the system writes at most as many bytes as the structure has.
    let succeeded = unsafe {
        QueryInformationJobObject(
            std::ptr::null_mut(),
            JobObjectExtendedLimitInformation,
            (&raw mut told).cast(),
            size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
            std::ptr::null_mut(),
        )
    };
    if succeeded != 0 {
        let flags = told.BasicLimitInformation.LimitFlags;
        let of = |flag, bytes: usize| (flags & flag != 0).then_some(bytes as u64);
        let job = of(JOB_OBJECT_LIMIT_JOB_MEMORY, told.JobMemoryLimit);
        let process = of(JOB_OBJECT_LIMIT_PROCESS_MEMORY, told.ProcessMemoryLimit);
        limits.memory_bytes = job.into_iter().chain(process).min();
    }
    // JOBOBJECT_CPU_RATE_CONTROL_INFORMATION: flags, and a union whose every meaning is a number.
    let mut rate = [0_u32; 2];
    // SAFETY: as above.
    let succeeded = unsafe {
        QueryInformationJobObject(
            std::ptr::null_mut(),
            JobObjectCpuRateControlInformation,
            (&raw mut rate).cast(),
            size_of_val(&rate) as u32,
            std::ptr::null_mut(),
        )
    };
    let capped = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    if succeeded != 0 && rate[0] & capped == capped {
        // Parts of 10 000.
        limits.processor_share = Some(f64::from(rate[1]) / 10_000.0).filter(|share| *share > 0.0);
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_of_itself() {
        let (major, _, build) = version().unwrap();
        assert!(major >= 6 && build > 0, "{major} {build}");
        let memory = memory().unwrap();
        assert!(memory.total_bytes > 1 << 28 && memory.available_bytes <= memory.total_bytes, "{memory:?}");
        assert!(counter_hz().unwrap() >= 1_000_000);
    }

    #[test]
    fn processors_are_idle_or_not() {
        let before = processor_times().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let after = processor_times().unwrap();
        assert!(after.all > before.all && after.idle >= before.idle, "{before:?} {after:?}");
        assert!(after.idle <= after.all, "{after:?}");
    }
}
