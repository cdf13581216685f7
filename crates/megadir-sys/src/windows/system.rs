//! Version, memory, processor times and job limits of the system.

use std::ffi::CStr;

use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::JobObjects::{
    JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP, JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectCpuRateControlInformation, JobObjectExtendedLimitInformation, QueryInformationJobObject,
};
use windows_sys::Win32::System::Performance::QueryPerformanceFrequency;
use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW};
use windows_sys::Win32::System::Threading::GetSystemTimes;

use super::units;

/// Version of Wine, such as `8.0`; measurements then say nothing about Windows.
pub fn wine_version() -> Option<String> {
    let found = super::find_in_ntdll(c"wine_get_version")?;
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

/// Kernel version, regardless of compatibility settings: major, minor, build.
pub fn version() -> Option<(u32, u32, u32)> {
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the system writes one such structure, whose size it is given.
    let status = unsafe { RtlGetVersion(&raw mut version) };
    (status == 0).then_some((version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Without memory reserved by the hardware.
    pub total_bytes: u64,
    /// Available without writing anything out first.
    pub available_bytes: u64,
}

pub fn memory() -> Option<Memory> {
    let mut status =
        MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
    // SAFETY: the system writes one such structure, whose size it is given.
    let succeeded = unsafe { GlobalMemoryStatusEx(&raw mut status) };
    (succeeded != 0)
        .then_some(Memory { total_bytes: status.ullTotalPhys, available_bytes: status.ullAvailPhys })
}

/// All processors together since boot, in units of 100 ns; advances in ticks of 10 to 16 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTimes {
    pub idle: u64,
    pub all: u64,
}

pub fn processor_times() -> Option<ProcessorTimes> {
    let (mut idle, mut kernel, mut user) = (FILETIME::default(), FILETIME::default(), FILETIME::default());
    // SAFETY: the system writes one time to each.
    let succeeded = unsafe { GetSystemTimes(&raw mut idle, &raw mut kernel, &raw mut user) };
    // Kernel time includes idle time.
    (succeeded != 0).then(|| ProcessorTimes { idle: units(idle), all: units(kernel) + units(user) })
}

pub fn counter_hz() -> Option<u64> {
    let mut hz = 0_i64;
    // SAFETY: the system writes one number.
    let succeeded = unsafe { QueryPerformanceFrequency(&raw mut hz) };
    u64::try_from(hz).ok().filter(|hz| succeeded != 0 && *hz > 0)
}

pub fn on_battery() -> Option<bool> {
    let mut status = SYSTEM_POWER_STATUS::default();
    // SAFETY: the system writes one such structure.
    let succeeded = unsafe { GetSystemPowerStatus(&raw mut status) };
    match status.ACLineStatus {
        0 if succeeded != 0 => Some(true),
        1 if succeeded != 0 => Some(false),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobLimits {
    /// Limit of the job or of each process, bytes.
    pub memory_bytes: Option<u64>,
    /// Share of all processors' time, at most 1.
    pub processor_share: Option<f64>,
}

pub fn job_limits() -> JobLimits {
    let mut limits = JobLimits::default();
    if let Some(extended) = of_job::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>(JobObjectExtendedLimitInformation)
    {
        let flags = extended.BasicLimitInformation.LimitFlags;
        let of = |flag, bytes: usize| (flags & flag != 0).then_some(bytes as u64);
        let job = of(JOB_OBJECT_LIMIT_JOB_MEMORY, extended.JobMemoryLimit);
        let process = of(JOB_OBJECT_LIMIT_PROCESS_MEMORY, extended.ProcessMemoryLimit);
        limits.memory_bytes = job.into_iter().chain(process).min();
    }
    // JOBOBJECT_CPU_RATE_CONTROL_INFORMATION: flags, and a union of numbers.
    let rate: Option<[u32; 2]> = of_job(JobObjectCpuRateControlInformation);
    let capped = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
    if let Some([flags, rate]) = rate
        && flags & capped == capped
    {
        // In units of 1/10 000.
        limits.processor_share = Some(f64::from(rate) / 10_000.0).filter(|share| *share > 0.0);
    }
    limits
}

/// `T` must consist of numbers.
fn of_job<T: Default>(class: i32) -> Option<T> {
    let mut info = T::default();
    let (to, length, none) = ((&raw mut info).cast(), size_of::<T>() as u32, std::ptr::null_mut());
    // SAFETY: a null handle means the process's own job; the system writes at most the structure's bytes, and any bytes are a valid `T`.
    let succeeded = unsafe { QueryInformationJobObject(none, class, to, length, std::ptr::null_mut()) };
    (succeeded != 0).then_some(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_description_is_read() {
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
