//! Opens entries below an open directory by `NtCreateFile`, which follows no reparse point; Win32 has no such call.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_NO_INTERMEDIATE_BUFFERING, FILE_NON_DIRECTORY_FILE, FILE_OPEN,
    FILE_OPEN_FOR_BACKUP_INTENT, FILE_OPEN_REPARSE_POINT, FILE_SYNCHRONOUS_IO_NONALERT, NtCreateFile,
};
use windows_sys::Win32::Foundation::{HANDLE, UNICODE_STRING};
use windows_sys::Win32::Storage::FileSystem::{
    DELETE, FILE_APPEND_DATA, FILE_ATTRIBUTE_NORMAL, FILE_LIST_DIRECTORY, FILE_READ_ATTRIBUTES,
    FILE_READ_DATA, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES,
    FILE_WRITE_DATA, READ_CONTROL, SYNCHRONIZE,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    List,
    Query,
    Remove,
    /// Refuses directories and junctions.
    RemoveFile,
    /// As [`Purpose::Remove`], after setting attributes.
    RemoveMarked,
    /// Refuses anything but a directory.
    RemoveDirectory,
    Read,
    /// Bypasses the cache. If no other process has the file open, the system writes back and drops its cached pages.
    ReadUncached,
    /// Read, write, set attributes, query the owner; refuses a directory.
    Write,
    CreateFile,
    CreateDirectory,
}

struct Parameters {
    access: u32,
    options: u32,
    disposition: u32,
}

impl Purpose {
    const fn parameters(self) -> Parameters {
        const QUERY: u32 = FILE_READ_ATTRIBUTES | SYNCHRONIZE;
        const WRITE: u32 = FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_ATTRIBUTES;
        let (access, options, disposition) = match self {
            Self::List => (FILE_LIST_DIRECTORY, FILE_DIRECTORY_FILE, FILE_OPEN),
            Self::Query => (0, 0, FILE_OPEN),
            Self::Remove => (DELETE, 0, FILE_OPEN),
            Self::RemoveFile => (DELETE, FILE_NON_DIRECTORY_FILE, FILE_OPEN),
            Self::RemoveMarked => (DELETE | FILE_WRITE_ATTRIBUTES, 0, FILE_OPEN),
            Self::RemoveDirectory => (DELETE, FILE_DIRECTORY_FILE, FILE_OPEN),
            Self::Read => (FILE_READ_DATA, FILE_NON_DIRECTORY_FILE, FILE_OPEN),
            Self::ReadUncached => {
                (FILE_READ_DATA, FILE_NON_DIRECTORY_FILE | FILE_NO_INTERMEDIATE_BUFFERING, FILE_OPEN)
            }
            Self::Write => (READ_CONTROL | FILE_READ_DATA | WRITE, FILE_NON_DIRECTORY_FILE, FILE_OPEN),
            Self::CreateFile => (FILE_READ_DATA | WRITE, FILE_NON_DIRECTORY_FILE, FILE_CREATE),
            Self::CreateDirectory => (FILE_LIST_DIRECTORY, FILE_DIRECTORY_FILE, FILE_CREATE),
        };
        Parameters { access: access | QUERY, options, disposition }
    }
}

/// `name` may have components separated by `\`; an empty one reopens the directory itself. Only the last component is opened
/// without following a reparse point. Other processes may read, write, rename and remove the file.
pub fn below(directory: BorrowedHandle<'_>, name: &[u16], purpose: Purpose) -> io::Result<OwnedHandle> {
    let Parameters { access, options, disposition } = purpose.parameters();
    let name = unicode_string(name)?;
    let attributes = named(directory, &name);
    let mut opened: HANDLE = std::ptr::null_mut();
    let mut io_status = IO_STATUS_BLOCK::default();
    // SAFETY: every pointer is to memory that lives until the call returns, which is when it is done: the file
    // is opened for synchronous use. The name is only read within its length.
    super::checked(unsafe {
        NtCreateFile(
            &raw mut opened,
            access,
            &raw const attributes,
            &raw mut io_status,
            std::ptr::null(),
            FILE_ATTRIBUTE_NORMAL,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            disposition,
            options | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_REPARSE_POINT | FILE_OPEN_FOR_BACKUP_INTENT,
            std::ptr::null(),
            0,
        )
    })?;
    // SAFETY: the call succeeded, so this is a handle that no other owner has.
    Ok(unsafe { OwnedHandle::from_raw_handle(opened) })
}

/// The name must outlive the result; the system only reads it.
pub(super) fn unicode_string(name: &[u16]) -> io::Result<UNICODE_STRING> {
    let Ok(bytes) = u16::try_from(size_of_val(name)) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name of more than 32767 characters"));
    };
    Ok(UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: name.as_ptr().cast_mut() })
}

/// Both must outlive the result.
pub(super) fn named(directory: BorrowedHandle<'_>, name: &UNICODE_STRING) -> OBJECT_ATTRIBUTES {
    OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: directory.as_raw_handle(),
        ObjectName: &raw const *name,
        // Follows the directory: case-sensitive if it is marked so.
        Attributes: 0,
        SecurityDescriptor: std::ptr::null(),
        SecurityQualityOfService: std::ptr::null(),
    }
}
