//! Reads many directory entries per call as raw records; `megadir::directory_information` decodes them.
//! `NtQueryDirectoryFileEx` needs Windows 10 1709.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::sync::OnceLock;

use windows_sys::Wdk::Storage::FileSystem::NtQueryDirectoryFile;
use windows_sys::Win32::Foundation::{
    ERROR_NO_MORE_FILES, HANDLE, NTSTATUS, STATUS_NO_MORE_FILES, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::GetFileInformationByHandleEx;
use windows_sys::Win32::System::IO::{IO_STATUS_BLOCK, PIO_APC_ROUTINE};

/// Aligned as the calls require.
#[derive(Debug)]
pub struct Buffer {
    words: Vec<u64>,
}

impl Buffer {
    /// `bytes` is rounded down to a multiple of 8.
    pub fn new(bytes: usize) -> Self {
        Self { words: vec![0; bytes / 8] }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised memory of that length, borrowed for as long as the slice; bytes
        // have no alignment and no invalid values.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), size_of_val(&self.words[..])) }
    }

    fn length(&self) -> u32 {
        u32::try_from(size_of_val(&self.words[..])).unwrap_or(!7)
    }
}

/// `GetFileInformationByHandleEx`; `false` at the end of the directory. `class` is a listing class of
/// `FILE_INFO_BY_HANDLE_CLASS` or its restarting twin; "invalid parameter" or "not supported" if unknown. The
/// number of bytes is not returned: the last record says that it is the last.
pub fn by_handle(directory: BorrowedHandle<'_>, class: i32, buffer: &mut Buffer) -> io::Result<bool> {
    let (to, length) = (buffer.words.as_mut_ptr().cast(), buffer.length());
    // SAFETY: the system writes at most `length` bytes to the buffer, which is borrowed exclusively for the
    // call and aligned to 8 bytes, and keeps no pointer to it: the directory is open for synchronous use.
    let result = unsafe { GetFileInformationByHandleEx(directory.as_raw_handle(), class, to, length) };
    match super::succeeded(result) {
        Err(error) if error.raw_os_error() == Some(ERROR_NO_MORE_FILES as i32) => Ok(false),
        result => result.map(|()| true),
    }
}

/// `NtQueryDirectoryFile`, from the start if `restart` is set. Returns the number of bytes, `None` at the end
/// of the directory. "Invalid parameter" or similar for an unknown class.
pub fn nt_query(
    directory: BorrowedHandle<'_>,
    class: i32,
    restart: bool,
    buffer: &mut Buffer,
) -> io::Result<Option<usize>> {
    let mut io_status = IO_STATUS_BLOCK::default();
    let (to, length) = (buffer.words.as_mut_ptr().cast(), buffer.length());
    // SAFETY: as in `by_handle`; the status block lives until the call returns, which is when it is done. There
    // is no event, no routine and no name.
    let status = unsafe {
        NtQueryDirectoryFile(
            directory.as_raw_handle(),
            std::ptr::null_mut(),
            None,
            std::ptr::null(),
            &raw mut io_status,
            to,
            length,
            class,
            false,
            std::ptr::null(),
            restart,
        )
    };
    filled(status, &io_status, buffer)
}

type NtQueryDirectoryFileEx = unsafe extern "system" fn(
    HANDLE,
    HANDLE,
    PIO_APC_ROUTINE,
    *const core::ffi::c_void,
    *mut IO_STATUS_BLOCK,
    *mut core::ffi::c_void,
    u32,
    i32,
    u32,
    *const UNICODE_STRING,
) -> NTSTATUS;

const RESTART_SCAN: u32 = 1;

pub fn has_nt_query_ex() -> bool {
    nt_query_directory_file_ex().is_some()
}

/// As [`nt_query`]; [`io::ErrorKind::Unsupported`] if the system lacks the call.
pub fn nt_query_ex(
    directory: BorrowedHandle<'_>,
    class: i32,
    restart: bool,
    buffer: &mut Buffer,
) -> io::Result<Option<usize>> {
    let Some(call) = nt_query_directory_file_ex() else { return Err(io::ErrorKind::Unsupported.into()) };
    let mut io_status = IO_STATUS_BLOCK::default();
    let (to, length) = (buffer.words.as_mut_ptr().cast(), buffer.length());
    // SAFETY: as in `nt_query`; the function of this name in the system has this documented signature.
    let status = unsafe {
        call(
            directory.as_raw_handle(),
            std::ptr::null_mut(),
            None,
            std::ptr::null(),
            &raw mut io_status,
            to,
            length,
            class,
            if restart { RESTART_SCAN } else { 0 },
            std::ptr::null(),
        )
    };
    filled(status, &io_status, buffer)
}

fn nt_query_directory_file_ex() -> Option<NtQueryDirectoryFileEx> {
    static FOUND: OnceLock<Option<NtQueryDirectoryFileEx>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let found = super::find_in_ntdll(c"NtQueryDirectoryFileEx")?;
        // SAFETY: both are pointers to functions of the system's calling convention, and the function of this
        // name has this documented signature.
        Some(unsafe {
            std::mem::transmute::<unsafe extern "system" fn() -> isize, NtQueryDirectoryFileEx>(found)
        })
    })
}

fn filled(status: NTSTATUS, io_status: &IO_STATUS_BLOCK, buffer: &Buffer) -> io::Result<Option<usize>> {
    match status {
        0 => Ok(Some(io_status.Information.min(buffer.length() as usize))),
        STATUS_NO_MORE_FILES => Ok(None),
        status => Err(super::error_of(status)),
    }
}
