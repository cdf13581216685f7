//! One entry per call (`FindFirstFileExW`, `FindNextFileW`), as most programs list a directory.

use std::io;

use windows_sys::Win32::Foundation::{ERROR_NO_MORE_FILES, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    FIND_FIRST_EX_LARGE_FETCH, FindClose, FindExInfoBasic, FindExInfoStandard, FindExSearchNameMatch,
    FindFirstFileExW, FindNextFileW, WIN32_FIND_DATAW,
};

use super::facts::{Facts, REPARSE_POINT, time};

pub struct Search {
    handle: HANDLE,
    data: Box<WIN32_FIND_DATAW>,
    first: bool,
}

// SAFETY: a search handle belongs to the process, not to the thread that opened it, and one thread at a time uses it.
unsafe impl Send for Search {}

#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Without links and file ID, which are not listed, and times other than of creation and writing.
    pub facts: Facts,
    /// May have unpaired surrogates.
    pub name: &'a [u16],
}

impl Search {
    /// `pattern` is like `C:\folder\*`, without a NUL. `basic` omits short names (8.3); `large_fetch` requests
    /// larger internal buffers. "Not found" if nothing matches.
    pub fn open(pattern: &[u16], basic: bool, large_fetch: bool) -> io::Result<Self> {
        let pattern = super::terminated(pattern.iter().copied());
        let mut data = Box::<WIN32_FIND_DATAW>::default();
        // SAFETY: the pattern ends with a NUL, and the system writes one entry to `data`; both live until the call returns.
        let handle = unsafe {
            FindFirstFileExW(
                pattern.as_ptr(),
                if basic { FindExInfoBasic } else { FindExInfoStandard },
                (&raw mut *data).cast(),
                FindExSearchNameMatch,
                std::ptr::null(),
                if large_fetch { FIND_FIRST_EX_LARGE_FETCH } else { 0 },
            )
        };
        if handle == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { handle, data, first: true })
    }

    /// Next entry, including `.` and `..`; `None` at the end.
    pub fn next_entry(&mut self) -> io::Result<Option<Found<'_>>> {
        if !std::mem::take(&mut self.first) {
            // SAFETY: the search is open, and the system writes one entry to `data`.
            match super::succeeded(unsafe { FindNextFileW(self.handle, &raw mut *self.data) }) {
                Err(error) if error.raw_os_error() == Some(ERROR_NO_MORE_FILES as i32) => return Ok(None),
                found => found?,
            }
        }
        let data = &*self.data;
        let length = data.cFileName.iter().position(|unit| *unit == 0).unwrap_or(data.cFileName.len());
        let is_reparse_point = data.dwFileAttributes & REPARSE_POINT != 0;
        let facts = Facts {
            attributes: data.dwFileAttributes,
            reparse_tag: if is_reparse_point { data.dwReserved0 } else { 0 },
            created: time(data.ftCreationTime),
            written: time(data.ftLastWriteTime),
            size_bytes: super::wide(data.nFileSizeHigh, data.nFileSizeLow),
            ..Facts::default()
        };
        Ok(Some(Found { facts, name: &data.cFileName[..length] }))
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        // SAFETY: the search is open and has no other owner.
        unsafe { FindClose(self.handle) };
    }
}
