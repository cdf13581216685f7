//! What the system tells of one file, and of the volume that it lies on.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Wdk::Foundation::NtQueryObject;
use windows_sys::Wdk::Storage::FileSystem::{FILE_NETWORK_OPEN_INFORMATION, NtQueryFullAttributesFile};
use windows_sys::Win32::Foundation::{
    FILETIME, STATUS_BUFFER_OVERFLOW, STATUS_BUFFER_TOO_SMALL, STATUS_INFO_LENGTH_MISMATCH, UNICODE_STRING,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_REPARSE_POINT, FILE_ATTRIBUTE_TAG_INFO, FILE_BASIC_INFO,
    FILE_ID_INFO, FILE_INFO_BY_HANDLE_CLASS, FILE_NAME_NORMALIZED, FILE_REMOTE_PROTOCOL_INFO,
    FILE_STANDARD_INFO, FileAttributeTagInfo, FileBasicInfo, FileIdInfo, FileRemoteProtocolInfo,
    FileStandardInfo, GETFINALPATHNAMEBYHANDLE_FLAGS, GetFileAttributesExW, GetFileExInfoStandard,
    GetFileInformationByHandle, GetFileInformationByHandleEx, GetFinalPathNameByHandleW,
    WIN32_FILE_ATTRIBUTE_DATA,
};

use super::open;

/// The attribute of a reparse point.
pub(super) const REPARSE_POINT: u32 = FILE_ATTRIBUTE_REPARSE_POINT;

/// What is known of one file. Times are 100 ns since 1601, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `FILE_ATTRIBUTE_...` bits.
    pub attributes: u32,
    /// What kind of reparse point it is; 0 for none.
    pub reparse_tag: u32,
    /// When it was made.
    pub created: i64,
    /// When it was last written to.
    pub written: i64,
    /// When it or its metadata was last changed; 0 where it was not asked.
    pub changed: i64,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Hard links; 0 where it was not asked.
    pub links: u32,
    /// Its number on the volume; 0 where it was not asked.
    pub index: u64,
    /// The volume's serial number; 0 where it was not asked.
    pub volume: u32,
}

/// Returns all that is known of an open file or directory: two calls, three for a reparse point.
///
/// # Errors
///
/// The system's.
pub fn of_open(file: BorrowedHandle<'_>) -> io::Result<Facts> {
    let mut told = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open for the call, and the system writes one such structure.
    let succeeded = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut told) };
    if succeeded == 0 {
        return Err(io::Error::last_os_error());
    }
    let basic: FILE_BASIC_INFO = ask(file, FileBasicInfo)?;
    let attributes = told.dwFileAttributes;
    Ok(Facts {
        attributes,
        reparse_tag: if attributes & REPARSE_POINT == 0 { 0 } else { tag(file)?.1 },
        created: time(told.ftCreationTime),
        written: time(told.ftLastWriteTime),
        changed: basic.ChangeTime,
        size_bytes: wide(told.nFileSizeHigh, told.nFileSizeLow),
        links: told.nNumberOfLinks,
        index: wide(told.nFileIndexHigh, told.nFileIndexLow),
        volume: told.dwVolumeSerialNumber,
    })
}

/// Returns what `GetFileAttributesExW` tells of a path, given without a NUL: no link is followed, and the kind of a
/// reparse point is not told.
///
/// # Errors
///
/// The system's.
pub fn of_path(path: &[u16]) -> io::Result<Facts> {
    let path: Vec<u16> = path.iter().copied().filter(|unit| *unit != 0).chain([0]).collect();
    of_terminated(&path)
}

/// As [`of_path`], of a path that ends with a NUL: nothing is allocated.
///
/// # Errors
///
/// The system's; a path without a NUL at its end is refused.
pub fn of_terminated(path: &[u16]) -> io::Result<Facts> {
    if path.last() != Some(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut told = WIN32_FILE_ATTRIBUTE_DATA::default();
    // SAFETY: the path ends with a NUL, and the system writes one such structure for this level; both live until the call returns.
    let succeeded =
        unsafe { GetFileAttributesExW(path.as_ptr(), GetFileExInfoStandard, (&raw mut told).cast()) };
    if succeeded == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Facts {
        attributes: told.dwFileAttributes,
        created: time(told.ftCreationTime),
        written: time(told.ftLastWriteTime),
        size_bytes: wide(told.nFileSizeHigh, told.nFileSizeLow),
        ..Facts::default()
    })
}

/// Returns what `NtQueryFullAttributesFile` tells of a name in an open directory, or of a path of names with `\\` between them: one
/// call that opens nothing; no link is followed, and the kind of a reparse point is not told.
///
/// # Errors
///
/// The system's.
pub fn of_name(directory: BorrowedHandle<'_>, name: &[u16]) -> io::Result<Facts> {
    let name = open::unicode_string(name)?;
    let attributes = open::named(directory, &name);
    let mut told = FILE_NETWORK_OPEN_INFORMATION::default();
    // SAFETY: the name is only read, for as many bytes as it says, and the system writes one such structure; all live until the
    // call returns.
    let status = unsafe { NtQueryFullAttributesFile(&raw const attributes, &raw mut told) };
    if status != 0 {
        return Err(super::error_of(status));
    }
    Ok(Facts {
        attributes: told.FileAttributes,
        created: told.CreationTime,
        written: told.LastWriteTime,
        changed: told.ChangeTime,
        size_bytes: told.EndOfFile.cast_unsigned(),
        ..Facts::default()
    })
}

/// What a file takes of its volume, and by how many names it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Its space on the volume, bytes.
    pub allocated_bytes: u64,
    /// Its hard links; 0 for one that is removed and only open still, whatever its file system counts then (FAT 1).
    pub links: u64,
}

/// Returns what an open file or directory takes of its volume, and its hard links.
///
/// # Errors
///
/// The system's.
pub fn space(file: BorrowedHandle<'_>) -> io::Result<Space> {
    let told: FILE_STANDARD_INFO = ask(file, FileStandardInfo)?;
    Ok(Space {
        allocated_bytes: u64::try_from(told.AllocationSize).unwrap_or(0),
        links: if told.DeletePending { 0 } else { u64::from(told.NumberOfLinks) },
    })
}

/// Returns an open file's attributes and what kind of reparse point it is (0 for none).
///
/// # Errors
///
/// The system's.
pub fn tag(file: BorrowedHandle<'_>) -> io::Result<(u32, u32)> {
    let told: FILE_ATTRIBUTE_TAG_INFO = match ask(file, FileAttributeTagInfo) {
        Err(error) if super::is_not_known(&error) => return untagged(file).ok_or(error),
        told => told?,
    };
    let tag = if told.FileAttributes & REPARSE_POINT == 0 { 0 } else { told.ReparseTag };
    Ok((told.FileAttributes, tag))
}

/// Returns the attributes of what is no reparse point, as FAT, which knows none, tells them of all.
fn untagged(file: BorrowedHandle<'_>) -> Option<(u32, u32)> {
    let told: FILE_BASIC_INFO = ask(file, FileBasicInfo).ok()?;
    (told.FileAttributes & REPARSE_POINT == 0).then_some((told.FileAttributes, 0))
}

/// Returns the serial number of an open file's volume, and the file's number of 128 bits on it.
///
/// # Errors
///
/// The system's; file systems without such numbers do not know it.
pub fn identity(file: BorrowedHandle<'_>) -> io::Result<(u64, u128)> {
    let told: FILE_ID_INFO = ask(file, FileIdInfo)?;
    Ok((told.VolumeSerialNumber, u128::from_le_bytes(told.FileId.Identifier)))
}

/// Tells whether an open file is another machine's.
pub fn is_remote(file: BorrowedHandle<'_>) -> bool {
    ask::<FILE_REMOTE_PROTOCOL_INFO>(file, FileRemoteProtocolInfo).is_ok()
}

/// Returns the path of an open file or directory in UTF-16, as `\\?\C:\folder` or `\\?\UNC\server\share`.
///
/// # Errors
///
/// The system's.
pub fn path(file: BorrowedHandle<'_>) -> io::Result<Vec<u16>> {
    path_as(file, FILE_NAME_NORMALIZED)
}

/// Returns the path of an open file in the form that `flags` of `GetFinalPathNameByHandleW` say.
pub(super) fn path_as(
    file: BorrowedHandle<'_>,
    flags: GETFINALPATHNAMEBYHANDLE_FLAGS,
) -> io::Result<Vec<u16>> {
    let mut path = vec![0_u16; 512];
    loop {
        let (to, length) = (path.as_mut_ptr(), path.len() as u32);
        // SAFETY: the system writes at most `length` characters to the path.
        let needed = unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), to, length, flags) } as usize;
        if needed == 0 {
            return Err(io::Error::last_os_error());
        }
        if needed < path.len() {
            path.truncate(needed);
            return Ok(path);
        }
        // It was renamed to something longer, or is longer than expected: told is what it needs with its NUL.
        path.resize(needed + 1, 0);
    }
}

/// Returns the name that the system's objects have for an open file, as `\Device\HarddiskVolume1\folder`, in UTF-16; under Wine it is the
/// path of what the file turned out to be, as `\??\C:\folder`, of any length.
///
/// # Errors
///
/// The system's.
pub fn object_name(file: BorrowedHandle<'_>) -> io::Result<Vec<u16>> {
    /// `ObjectNameInformation`: a `UNICODE_STRING`, and behind it its characters.
    const NAME: i32 = 1;
    const WORDS_MAX: usize = 16 << 10;
    let mut words = vec![0_u64; 128];
    loop {
        let (to, length) = (words.as_mut_ptr().cast(), size_of_val(&words[..]) as u32);
        // SAFETY: the system writes at most `length` bytes to the words, which are aligned for the structure, and the length that it
        // is not asked for may be null.
        let status = unsafe { NtQueryObject(file.as_raw_handle(), NAME, to, length, std::ptr::null_mut()) };
        match status {
            0 => break,
            STATUS_INFO_LENGTH_MISMATCH | STATUS_BUFFER_OVERFLOW | STATUS_BUFFER_TOO_SMALL
                if words.len() < WORDS_MAX =>
            {
                words.resize(words.len() * 4, 0);
            }
            status => return Err(super::error_of(status)),
        }
    }
    let units: Vec<u16> = words
        .iter()
        .flat_map(|word| [*word, *word >> 16, *word >> 32, *word >> 48].map(|unit| unit as u16))
        .collect();
    let behind = size_of::<UNICODE_STRING>() / 2;
    let name = units.get(behind..).and_then(|rest| rest.get(..usize::from(units[0]) / 2));
    name.map(<[u16]>::to_vec).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Asks for one of the structures of `GetFileInformationByHandleEx`, which all consist of numbers.
pub(super) fn ask<T: Default>(file: BorrowedHandle<'_>, class: FILE_INFO_BY_HANDLE_CLASS) -> io::Result<T> {
    let mut told = T::default();
    // SAFETY: the handle is open for the call, and the system writes at most as many bytes as the structure has.
    let succeeded = unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            class,
            (&raw mut told).cast(),
            size_of::<T>() as u32,
        )
    };
    if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(told) }
}

fn wide(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

fn time(time: FILETIME) -> i64 {
    wide(time.dwHighDateTime, time.dwLowDateTime).cast_signed()
}
