//! Removes and renames an open file by its handle, so that a file that has taken its name meanwhile is never
//! affected (`FILE_DISPOSITION_INFORMATION_EX`, `FILE_RENAME_INFORMATION`).

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Wdk::Storage::FileSystem::{
    FILE_BASIC_INFORMATION, FILE_INFORMATION_CLASS, FileBasicInformation, FileDispositionInformation,
    FileDispositionInformationEx, FileRenameInformation, NtSetInformationFile,
};
use windows_sys::Win32::Foundation::{HANDLE, NTSTATUS};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_NORMAL, FILE_DISPOSITION_FLAG_DELETE, FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE,
    FILE_DISPOSITION_FLAG_POSIX_SEMANTICS,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

const NAME_UNITS_MAX: usize = 255;

/// For a file or empty directory opened for [`super::open::Purpose::Remove`]. Without POSIX semantics the name goes with the last
/// handle, and read-only files are refused. Support depends on the file system, so each file is tried: a failing call or two.
pub fn remove(file: BorrowedHandle<'_>) -> io::Result<()> {
    // The name goes when this handle is closed. Read-only files need Windows 10 1809 or later.
    let posix = FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS;
    let marked = posix | FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE;
    let mut status = set(file, &marked, FileDispositionInformationEx);
    if super::is_unknown(status) {
        status = set(file, &posix, FileDispositionInformationEx);
    }
    if super::is_unknown(status) {
        // Until the last handle is closed the name stays taken and its directory is not empty.
        status = set(file, &1_u8, FileDispositionInformation);
    }
    super::checked(status)
}

/// Times stay. The file must be opened for [`super::open::Purpose::RemoveMarked`].
pub fn set_attributes(file: BorrowedHandle<'_>, attributes: u32) -> io::Result<()> {
    // Times of 0 stay unchanged; so would attributes of 0.
    let attributes = if attributes == 0 { FILE_ATTRIBUTE_NORMAL } else { attributes };
    let info = FILE_BASIC_INFORMATION { FileAttributes: attributes, ..FILE_BASIC_INFORMATION::default() };
    super::checked(set(file, &info, FileBasicInformation))
}

#[repr(C)]
struct Rename {
    replace: u32,
    directory: HANDLE,
    name_bytes: u32,
    name: [u16; NAME_UNITS_MAX],
}

/// Renames an entry opened for [`super::open::Purpose::Remove`] within the volume and replaces nothing. "Access
/// denied" also for a directory that contains open files.
pub fn rename_new(file: BorrowedHandle<'_>, directory: BorrowedHandle<'_>, name: &[u16]) -> io::Result<()> {
    if name.len() > NAME_UNITS_MAX {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    let mut info = Rename {
        replace: 0,
        directory: directory.as_raw_handle(),
        name_bytes: size_of_val(name) as u32,
        name: [0; NAME_UNITS_MAX],
    };
    info.name[..name.len()].copy_from_slice(name);
    super::checked(set(file, &info, FileRenameInformation))
}

fn set<T>(file: BorrowedHandle<'_>, info: &T, class: FILE_INFORMATION_CLASS) -> NTSTATUS {
    let mut io_status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open for the call, which only reads the structure's bytes; the status is written before it returns.
    unsafe {
        NtSetInformationFile(
            file.as_raw_handle(),
            &raw mut io_status,
            (&raw const *info).cast(),
            size_of::<T>() as u32,
            class,
        )
    }
}
