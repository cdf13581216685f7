//! Attributes of one file, its space and its identity on the volume.

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

use super::{checked, open, succeeded, units, wide};

pub(super) const REPARSE_POINT: u32 = FILE_ATTRIBUTE_REPARSE_POINT;

/// Times are 100 ns since 1601. A field is 0 if it is absent or was not queried.
///
/// One structure for three queries that return different parts: an open handle gives all fields, a path or a
/// name only attributes, times and size, and a name also the time of the last change. The caller knows which
/// query it made, so no mask of valid fields is kept. `index` and `volume` together identify a file while it
/// is open; on ReFS, where IDs have 128 bits, `identity` returns the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// `FILE_ATTRIBUTE_...` bits.
    pub attributes: u32,
    pub reparse_tag: u32,
    pub created: i64,
    pub accessed: i64,
    pub written: i64,
    /// Last change of data or metadata.
    pub changed: i64,
    pub size_bytes: u64,
    pub links: u32,
    /// File ID.
    pub index: u64,
    /// Serial number of the volume.
    pub volume: u32,
}

pub fn of_open(file: BorrowedHandle<'_>) -> io::Result<Facts> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open for the call, and the system writes one such structure.
    succeeded(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) })?;
    let basic: FILE_BASIC_INFO = query(file, FileBasicInfo)?;
    let attributes = info.dwFileAttributes;
    Ok(Facts {
        attributes,
        reparse_tag: if attributes & REPARSE_POINT == 0 { 0 } else { tag(file)?.1 },
        created: time(info.ftCreationTime),
        accessed: time(info.ftLastAccessTime),
        written: time(info.ftLastWriteTime),
        changed: basic.ChangeTime,
        size_bytes: wide(info.nFileSizeHigh, info.nFileSizeLow),
        links: info.nNumberOfLinks,
        index: wide(info.nFileIndexHigh, info.nFileIndexLow),
        volume: info.dwVolumeSerialNumber,
    })
}

/// `GetFileAttributesExW` of a path without a NUL. Links are not followed, and the kind of a reparse point is unknown.
pub fn of_path(path: &[u16]) -> io::Result<Facts> {
    of_terminated(&super::terminated(path.iter().copied()))
}

/// As [`of_path`] without allocating; the path must end with a NUL.
pub fn of_terminated(path: &[u16]) -> io::Result<Facts> {
    if path.last() != Some(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut data = WIN32_FILE_ATTRIBUTE_DATA::default();
    // SAFETY: the path ends with a NUL, and the system writes one such structure for this level; both live until the call returns.
    succeeded(unsafe { GetFileAttributesExW(path.as_ptr(), GetFileExInfoStandard, (&raw mut data).cast()) })?;
    Ok(Facts {
        attributes: data.dwFileAttributes,
        created: time(data.ftCreationTime),
        accessed: time(data.ftLastAccessTime),
        written: time(data.ftLastWriteTime),
        size_bytes: wide(data.nFileSizeHigh, data.nFileSizeLow),
        ..Facts::default()
    })
}

/// `NtQueryFullAttributesFile` of a name, or names separated by `\`: one call that opens nothing. Links are not
/// followed, and the kind of a reparse point is unknown.
pub fn of_name(directory: BorrowedHandle<'_>, name: &[u16]) -> io::Result<Facts> {
    let name = open::unicode_string(name)?;
    let attributes = open::named(directory, &name);
    let mut info = FILE_NETWORK_OPEN_INFORMATION::default();
    // SAFETY: the name is only read within its length, and the system writes one such structure; all live until the call returns.
    checked(unsafe { NtQueryFullAttributesFile(&raw const attributes, &raw mut info) })?;
    Ok(Facts {
        attributes: info.FileAttributes,
        created: info.CreationTime,
        accessed: info.LastAccessTime,
        written: info.LastWriteTime,
        changed: info.ChangeTime,
        size_bytes: info.EndOfFile.cast_unsigned(),
        ..Facts::default()
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub allocated_bytes: u64,
    /// Hard links; 0 for a removed file that is still open, even if the file system reports 1 (FAT).
    pub links: u64,
}

pub fn space(file: BorrowedHandle<'_>) -> io::Result<Space> {
    let info: FILE_STANDARD_INFO = query(file, FileStandardInfo)?;
    Ok(Space {
        allocated_bytes: u64::try_from(info.AllocationSize).unwrap_or(0),
        links: if info.DeletePending { 0 } else { u64::from(info.NumberOfLinks) },
    })
}

/// Attributes and the kind of reparse point (0 if none).
pub fn tag(file: BorrowedHandle<'_>) -> io::Result<(u32, u32)> {
    let info: FILE_ATTRIBUTE_TAG_INFO = match query(file, FileAttributeTagInfo) {
        Err(error) if super::is_not_known(&error) => return untagged(file).ok_or(error),
        info => info?,
    };
    let tag = if info.FileAttributes & REPARSE_POINT == 0 { 0 } else { info.ReparseTag };
    Ok((info.FileAttributes, tag))
}

/// FAT does not know reparse points and answers only this query.
fn untagged(file: BorrowedHandle<'_>) -> Option<(u32, u32)> {
    let info: FILE_BASIC_INFO = query(file, FileBasicInfo).ok()?;
    (info.FileAttributes & REPARSE_POINT == 0).then_some((info.FileAttributes, 0))
}

/// Serial number of the volume and 128-bit file ID. Fails if the file system has no such IDs.
pub fn identity(file: BorrowedHandle<'_>) -> io::Result<(u64, u128)> {
    let info: FILE_ID_INFO = query(file, FileIdInfo)?;
    Ok((info.VolumeSerialNumber, u128::from_le_bytes(info.FileId.Identifier)))
}

pub fn is_remote(file: BorrowedHandle<'_>) -> bool {
    query::<FILE_REMOTE_PROTOCOL_INFO>(file, FileRemoteProtocolInfo).is_ok()
}

/// UTF-16, such as `\\?\C:\folder` or `\\?\UNC\server\share`.
pub fn path(file: BorrowedHandle<'_>) -> io::Result<Vec<u16>> {
    path_as(file, FILE_NAME_NORMALIZED)
}

/// `flags` as in `GetFinalPathNameByHandleW`.
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
        // The path is longer than expected, perhaps after a rename: `needed` includes the NUL.
        path.resize(needed + 1, 0);
    }
}

/// UTF-16, such as `\Device\HarddiskVolume1\folder`; under Wine the resolved path, such as `\??\C:\folder`.
pub fn object_name(file: BorrowedHandle<'_>) -> io::Result<Vec<u16>> {
    /// `ObjectNameInformation`: a `UNICODE_STRING` followed by its characters.
    const NAME: i32 = 1;
    const WORDS_MAX: usize = 16 << 10;
    let mut words = vec![0_u64; 128];
    loop {
        let (to, length) = (words.as_mut_ptr().cast(), size_of_val(&words[..]) as u32);
        // SAFETY: the system writes at most `length` bytes to the words, which are aligned for the structure;
        // the pointer to the needed length may be null.
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

/// `T` must consist of numbers, as all these structures do.
pub(super) fn query<T: Default>(file: BorrowedHandle<'_>, class: FILE_INFO_BY_HANDLE_CLASS) -> io::Result<T> {
    let mut info = T::default();
    // SAFETY: the handle is open for the call, and the system writes at most the structure's bytes.
    let result = unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            class,
            (&raw mut info).cast(),
            size_of::<T>() as u32,
        )
    };
    succeeded(result).map(|()| info)
}

/// Units of 100 ns since 1601.
pub(super) fn time(time: FILETIME) -> i64 {
    units(time).cast_signed()
}
