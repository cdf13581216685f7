//! Windows: directories and files by handle, the four ways of reading a directory, system properties.
//!
//! Calls that older systems (and Wine 8) lack are looked up at run time, so that programs start everywhere.

pub mod access_list;
pub mod change;
pub mod console;
pub mod disk;
pub mod enumerate;
pub mod facts;
pub mod file_cache;
pub mod find;
pub mod open;
pub mod owner;
pub mod process;
pub mod service;
pub mod system;
pub mod volume;

use std::ffi::CStr;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Win32::Foundation::{
    ERROR_CALL_NOT_IMPLEMENTED, ERROR_DIRECTORY_NOT_SUPPORTED, ERROR_FILE_NOT_FOUND, ERROR_INVALID_FUNCTION,
    ERROR_INVALID_LEVEL, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, FILETIME, HANDLE, NTSTATUS,
    RtlNtStatusToDosError, STATUS_DELETE_PENDING, STATUS_FILE_DELETED, STATUS_FILE_IS_A_DIRECTORY,
    STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_INFO_CLASS, STATUS_INVALID_PARAMETER,
    STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED,
};
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Threading::GetCurrentProcess;
use windows_sys::core::BOOL;
use windows_sys::w;

fn succeeded(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn checked(status: NTSTATUS) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(error_of(status)) }
}

fn find_in_ntdll(name: &CStr) -> Option<unsafe extern "system" fn() -> isize> {
    // SAFETY: the name ends with a NUL; ntdll is in every process and never unloaded.
    let ntdll = unsafe { GetModuleHandleW(w!("ntdll.dll")) };
    // SAFETY: the module is loaded or null, for which the result is null; the name ends with a NUL.
    unsafe { GetProcAddress(ntdll, name.as_ptr().cast()) }
}

/// Sends a request to a device or volume. Returns the number of bytes that it wrote to `output`.
///
/// # Safety
///
/// The device is open for synchronous use. `input` has no padding, and `output` is valid with any bytes.
unsafe fn control<A: ?Sized, T: ?Sized>(
    device: BorrowedHandle<'_>,
    code: u32,
    input: &A,
    output: &mut T,
) -> io::Result<usize> {
    let (input_bytes, output_bytes, mut returned) = (size_of_val(input), size_of_val(output), 0_u32);
    // SAFETY: the system reads and writes at most the bytes of the two, and keeps no pointer after a synchronous call, as
    // the caller makes sure.
    let result = unsafe {
        DeviceIoControl(
            device.as_raw_handle(),
            code,
            (&raw const *input).cast(),
            input_bytes as u32,
            (&raw mut *output).cast(),
            output_bytes as u32,
            &raw mut returned,
            std::ptr::null_mut(),
        )
    };
    succeeded(result).map(|()| returned as usize)
}

/// Text with a NUL at its end and nowhere else.
fn terminated(text: impl IntoIterator<Item = u16>) -> Vec<u16> {
    text.into_iter().filter(|unit| *unit != 0).chain([0]).collect()
}

pub(crate) fn this_process() -> HANDLE {
    // SAFETY: returns a constant that stands for the process itself.
    unsafe { GetCurrentProcess() }
}

fn wide(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

/// Units of 100 ns.
pub(crate) fn units(time: FILETIME) -> u64 {
    wide(time.dwHighDateTime, time.dwLowDateTime)
}

/// A file that is being removed counts as not found, and a directory in place of a file as a directory (Win32
/// reports "access denied" for both).
fn error_of(status: NTSTATUS) -> io::Error {
    match status {
        STATUS_DELETE_PENDING | STATUS_FILE_DELETED => {
            return io::Error::from_raw_os_error(ERROR_FILE_NOT_FOUND as i32);
        }
        STATUS_FILE_IS_A_DIRECTORY => {
            return io::Error::from_raw_os_error(ERROR_DIRECTORY_NOT_SUPPORTED as i32);
        }
        _ => {}
    }
    // SAFETY: looks up a number in a table and touches no memory of ours.
    let code = unsafe { RtlNtStatusToDosError(status) };
    io::Error::from_raw_os_error(code as i32)
}

fn is_unknown(status: NTSTATUS) -> bool {
    matches!(
        status,
        STATUS_INVALID_INFO_CLASS
            | STATUS_INVALID_PARAMETER
            | STATUS_INVALID_DEVICE_REQUEST
            | STATUS_NOT_SUPPORTED
            | STATUS_NOT_IMPLEMENTED
    )
}

pub fn is_not_known(error: &io::Error) -> bool {
    let codes = [
        ERROR_INVALID_FUNCTION,
        ERROR_NOT_SUPPORTED,
        ERROR_INVALID_PARAMETER,
        ERROR_CALL_NOT_IMPLEMENTED,
        ERROR_INVALID_LEVEL,
    ];
    error.raw_os_error().is_some_and(|code| codes.contains(&code.cast_unsigned()))
}
