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

/// UTF-16 units.
const NAME_UNITS_MAX: usize = 255;

/// Best first. With POSIX semantics the name goes when this handle is closed, otherwise with the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Removes read-only files too (Windows 10 1809 and later).
    PosixMarked,
    Posix,
    /// Every system. Until the last handle is closed the name stays taken and its directory is not empty.
    AtLastClose,
}

const WAYS: [Way; 3] = [Way::PosixMarked, Way::Posix, Way::AtLastClose];

impl Way {
    fn remove(self, file: BorrowedHandle<'_>) -> NTSTATUS {
        let posix = FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS;
        let marked = FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE;
        match self {
            Self::PosixMarked => set(file, &(posix | marked), FileDispositionInformationEx),
            Self::Posix => set(file, &posix, FileDispositionInformationEx),
            Self::AtLastClose => set(file, &1_u8, FileDispositionInformation),
        }
    }
}

/// For a file or empty directory opened for [`super::open::Purpose::Remove`]. Without POSIX semantics the
/// name goes with the last handle, and read-only files are refused. Support depends on the file system, so
/// each file is tried: a failing call or two.
pub fn remove(file: BorrowedHandle<'_>) -> io::Result<()> {
    let mut status = 0;
    for way in WAYS {
        status = way.remove(file);
        if status == 0 {
            return Ok(());
        }
        if !super::is_unknown(status) {
            break;
        }
    }
    Err(super::error_of(status))
}

/// Times stay. The file must be opened for [`super::open::Purpose::RemoveMarked`].
pub fn set_attributes(file: BorrowedHandle<'_>, attributes: u32) -> io::Result<()> {
    // Times of 0 stay unchanged; so would attributes of 0.
    let attributes = if attributes == 0 { FILE_ATTRIBUTE_NORMAL } else { attributes };
    let told = FILE_BASIC_INFORMATION { FileAttributes: attributes, ..FILE_BASIC_INFORMATION::default() };
    super::checked(set(file, &told, FileBasicInformation))
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
    let mut told = Rename {
        replace: 0,
        directory: directory.as_raw_handle(),
        name_bytes: size_of_val(name) as u32,
        name: [0; NAME_UNITS_MAX],
    };
    told.name[..name.len()].copy_from_slice(name);
    super::checked(set(file, &told, FileRenameInformation))
}

fn set<T>(file: BorrowedHandle<'_>, told: &T, class: FILE_INFORMATION_CLASS) -> NTSTATUS {
    let mut io_status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open for the call, which only reads the structure's bytes; the status is written
    // before it returns.
    unsafe {
        NtSetInformationFile(
            file.as_raw_handle(),
            &raw mut io_status,
            (&raw const *told).cast(),
            size_of::<T>() as u32,
            class,
        )
    }
}
