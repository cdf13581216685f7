//! The I/O priority of the process.
//!
//! Win32 lowers it together with the processor's and the memory's (background mode), which keeps the process in 32 MiB; so the system is asked for it
//! alone. Reference: `NtSetInformationProcess`, `ProcessIoPriority`, `IO_PRIORITY_HINT` of the Windows driver kit.

use std::io;

use windows_sys::Wdk::System::Threading::{PROCESSINFOCLASS, ProcessIoPriority};
use windows_sys::Win32::Foundation::{HANDLE, NTSTATUS};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Threading::GetCurrentProcess;
use windows_sys::w;

/// `IoPriorityVeryLow`: what the system's own work in the background has.
static VERY_LOW: u32 = 0;

/// What `NtSetInformationProcess` is.
type NtSetInformationProcess =
    unsafe extern "system" fn(HANDLE, PROCESSINFOCLASS, *const core::ffi::c_void, u32) -> NTSTATUS;

/// Gives what the process reads and writes from now on the lowest priority.
///
/// # Errors
///
/// The system's; [`io::ErrorKind::Unsupported`] where it has no such call.
pub fn make_idle() -> io::Result<()> {
    // SAFETY: the name ends with a NUL; ntdll is in every process and never unloaded.
    let ntdll = unsafe { GetModuleHandleW(w!("ntdll.dll")) };
    // SAFETY: the module is there or null, which gives nothing; the name ends with a NUL.
    let found = unsafe { GetProcAddress(ntdll, c"NtSetInformationProcess".as_ptr().cast()) };
    let found = found.ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: both are pointers to functions of the system's calling convention, and the function of this name has this
    // signature by its documentation.
    let set = unsafe {
        std::mem::transmute::<unsafe extern "system" fn() -> isize, NtSetInformationProcess>(found)
    };
    // SAFETY: gives a number that stands for this process.
    let process = unsafe { GetCurrentProcess() };
    // SAFETY: the system reads one number, which lives until the call returns.
    let status = unsafe { set(process, ProcessIoPriority, (&raw const VERY_LOW).cast(), 4) };
    if status == 0 { Ok(()) } else { Err(super::error_of(status)) }
}
