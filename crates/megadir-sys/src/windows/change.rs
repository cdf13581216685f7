//! Removing and renaming what is open, by its handle: never another thing that has taken its name meanwhile.
//!
//! Reference: `FILE_DISPOSITION_INFORMATION_EX`, `FILE_RENAME_INFORMATION` in the documentation of the Windows driver kit.

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

/// The longest name of an entry, UTF-16 units.
const NAME_UNITS_MAX: usize = 255;

/// Ways of removing, the best first: with POSIX semantics the name goes when this handle is closed, else when the last one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Windows 10 1809 and later: what is marked as read-only goes too.
    PosixMarked,
    /// Windows 10 1607 and later.
    Posix,
    /// Every system; until the last who has it open closes it, nothing of that name can be made, and its directory is not empty.
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

/// Removes an open file or an empty directory, opened for [`super::open::Purpose::Remove`]: its name goes when the handle is closed, or,
/// where system or file system know no better, when the last handle is, and what is read-only is then refused.
///
/// What is lacking is found out anew for each file, since it is another for each file system: by a call or two that fail.
///
/// # Errors
///
/// The system's: access denied (also for what is read-only), a directory that is not empty.
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

/// Gives an open file or directory, opened for [`super::open::Purpose::RemoveMarked`], other attributes (`FILE_ATTRIBUTE_...` bits); its
/// times stay.
///
/// # Errors
///
/// The system's.
pub fn set_attributes(file: BorrowedHandle<'_>, attributes: u32) -> io::Result<()> {
    // Times of 0 are left as they are, and so would attributes of 0 be.
    let attributes = if attributes == 0 { FILE_ATTRIBUTE_NORMAL } else { attributes };
    let told = FILE_BASIC_INFORMATION { FileAttributes: attributes, ..FILE_BASIC_INFORMATION::default() };
    match set(file, &told, FileBasicInformation) {
        0 => Ok(()),
        status => Err(super::error_of(status)),
    }
}

/// `FILE_RENAME_INFORMATION` with room for one name.
#[repr(C)]
struct Rename {
    /// Whether what has the name is replaced.
    replace: u32,
    directory: HANDLE,
    name_bytes: u32,
    name: [u16; NAME_UNITS_MAX],
}

/// Gives an open file or directory, opened for [`super::open::Purpose::Remove`], a name in an open directory of the same volume;
/// nothing is replaced. A directory in which anything is open is refused.
///
/// # Errors
///
/// The system's: the name is taken, access denied; a name that is too long.
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
    match set(file, &told, FileRenameInformation) {
        0 => Ok(()),
        status => Err(super::error_of(status)),
    }
}

/// Sets one of the structures of `NtSetInformationFile`; returns the status.
fn set<T>(file: BorrowedHandle<'_>, told: &T, class: FILE_INFORMATION_CLASS) -> NTSTATUS {
    let mut io_status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open for the call, which only reads as many bytes as the structure has; the status is written before
    // it returns.
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
