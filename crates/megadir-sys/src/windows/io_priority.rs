//! I/O priority of the process. Win32's background mode would also lower processor and memory priority, which
//! limits the process to 32 MiB, so `NtSetInformationProcess` sets it alone.

use std::io;

use windows_sys::Wdk::System::Threading::{PROCESSINFOCLASS, ProcessIoPriority};
use windows_sys::Win32::Foundation::{HANDLE, NTSTATUS};

/// `IoPriorityVeryLow`: the priority of the system's background work.
static VERY_LOW: u32 = 0;

type NtSetInformationProcess =
    unsafe extern "system" fn(HANDLE, PROCESSINFOCLASS, *const core::ffi::c_void, u32) -> NTSTATUS;

/// Fails with [`io::ErrorKind::Unsupported`] if the system lacks the call.
pub fn make_idle() -> io::Result<()> {
    let found = super::find_in_ntdll(c"NtSetInformationProcess").ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: both are pointers to functions of the system's calling convention, and the function of this name
    // has this documented signature.
    let set = unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, NtSetInformationProcess>(found)
    };
    // SAFETY: the system reads one number, which lives until the call returns.
    super::checked(unsafe { set(super::this_process(), ProcessIoPriority, (&raw const VERY_LOW).cast(), 4) })
}
