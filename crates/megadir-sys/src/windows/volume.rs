//! Space and settings of a volume, from any of its handles (`FSCTL_QUERY_PERSISTENT_VOLUME_STATE`), and case sensitivity of a directory.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Wdk::Storage::FileSystem::{FileFsFullSizeInformation, NtQueryVolumeInformationFile};
use windows_sys::Win32::Foundation::MAX_PATH;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_CASE_SENSITIVE_INFO, FileCaseSensitiveInfo, GetVolumeInformationByHandleW, VOLUME_NAME_GUID,
};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
use windows_sys::Win32::System::Ioctl::{
    FILE_FS_PERSISTENT_VOLUME_INFORMATION, FSCTL_QUERY_PERSISTENT_VOLUME_STATE,
    PERSISTENT_VOLUME_STATE_DEV_VOLUME, PERSISTENT_VOLUME_STATE_SHORT_NAME_CREATION_DISABLED,
    PERSISTENT_VOLUME_STATE_TRUSTED_VOLUME,
};

/// `FILE_FS_FULL_SIZE_INFORMATION`, in clusters.
///
/// The order of the fields is the system's, which writes the structure as a whole. Counts are signed there; a
/// cluster has `sectors_per_cluster * bytes_per_sector` bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Total clusters, or the quota of a user with one.
    pub clusters: i64,
    /// Free clusters available to this user.
    pub free_to_caller: i64,
    pub free: i64,
    pub sectors_per_cluster: u32,
    pub bytes_per_sector: u32,
}

impl Size {
    pub fn cluster_bytes(&self) -> u64 {
        u64::from(self.sectors_per_cluster) * u64::from(self.bytes_per_sector)
    }
}

pub fn size(file: BorrowedHandle<'_>) -> io::Result<Size> {
    let mut size = Size::default();
    let mut io_status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open for the call, and the system writes at most the structure's bytes, which are numbers.
    super::checked(unsafe {
        NtQueryVolumeInformationFile(
            file.as_raw_handle(),
            &raw mut io_status,
            (&raw mut size).cast(),
            size_of::<Size>() as u32,
            FileFsFullSizeInformation,
        )
    })?;
    Ok(size)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    pub file_system: String,
    pub serial: u32,
    /// `FILE_SUPPORTS_...` and similar flags.
    pub flags: u32,
}

pub fn of(file: BorrowedHandle<'_>) -> io::Result<Volume> {
    let mut name = vec![0_u16; MAX_PATH as usize + 1];
    let (mut serial, mut name_max, mut flags) = (0_u32, 0_u32, 0_u32);
    // SAFETY: the system writes one number to each of three, and at most as many characters to the name as it
    // is given; no label is requested.
    super::succeeded(unsafe {
        GetVolumeInformationByHandleW(
            file.as_raw_handle(),
            std::ptr::null_mut(),
            0,
            &raw mut serial,
            &raw mut name_max,
            &raw mut flags,
            name.as_mut_ptr(),
            name.len() as u32,
        )
    })?;
    let end = name.iter().position(|unit| *unit == 0).unwrap_or(name.len());
    Ok(Volume { file_system: String::from_utf16_lossy(&name[..end]), serial, flags })
}

/// Settings that survive a restart; `None` if not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persistent {
    pub no_short_names: Option<bool>,
    pub dev_drive: Option<bool>,
    /// `true` for a trusted Dev Drive, where antivirus software may scan files later.
    pub trusted: Option<bool>,
}

/// Queried one by one: systems before Windows 11 reject the query about Dev Drives, other file systems the one about short names.
pub fn persistent(directory: BorrowedHandle<'_>) -> Persistent {
    Persistent {
        no_short_names: bit(directory, PERSISTENT_VOLUME_STATE_SHORT_NAME_CREATION_DISABLED),
        dev_drive: bit(directory, PERSISTENT_VOLUME_STATE_DEV_VOLUME),
        trusted: bit(directory, PERSISTENT_VOLUME_STATE_TRUSTED_VOLUME),
    }
}

fn bit(directory: BorrowedHandle<'_>, bit: u32) -> Option<bool> {
    let query = FILE_FS_PERSISTENT_VOLUME_INFORMATION {
        FlagMask: bit,
        Version: 1,
        ..FILE_FS_PERSISTENT_VOLUME_INFORMATION::default()
    };
    let mut info = FILE_FS_PERSISTENT_VOLUME_INFORMATION::default();
    // SAFETY: std opens files for synchronous use; request and answer are four numbers each.
    let returned =
        unsafe { super::control(directory, FSCTL_QUERY_PERSISTENT_VOLUME_STATE, &query, &mut info) }.ok()?;
    (returned >= size_of_val(&info)).then_some(info.VolumeFlags & bit != 0)
}

/// Fails before Windows 10 1803 and on file systems other than NTFS.
pub fn is_case_sensitive(directory: BorrowedHandle<'_>) -> io::Result<bool> {
    let info: FILE_CASE_SENSITIVE_INFO = super::facts::query(directory, FileCaseSensitiveInfo)?;
    Ok(info.Flags & 1 != 0)
}

/// `\\?\Volume{...}` without a final backslash, the name of the volume and of its device. Fails for volumes of other machines.
pub fn device(file: BorrowedHandle<'_>) -> io::Result<Vec<u16>> {
    let path = super::facts::path_as(file, VOLUME_NAME_GUID)?;
    // The fourth backslash ends the name.
    let mut ends = path.iter().enumerate().filter(|(_, unit)| **unit == u16::from(b'\\'));
    match ends.nth(3) {
        Some((end, _)) => Ok(path[..end].to_vec()),
        None => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_case_sensitive, of, persistent};
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::AsHandle;

    #[test]
    fn volume_description_is_read() {
        // FILE_FLAG_BACKUP_SEMANTICS is required to open a directory.
        let directory =
            std::fs::OpenOptions::new().read(true).custom_flags(0x0200_0000).open(std::env::temp_dir());
        let directory = directory.unwrap();
        let volume = of(directory.as_handle()).unwrap();
        assert!(!volume.file_system.is_empty() && volume.flags != 0, "{volume:?}");
        // Old systems reject these queries; an answer covers each bit or none.
        if let Ok(sensitive) = is_case_sensitive(directory.as_handle()) {
            assert!(!sensitive, "the directory of temporary files");
        }
        let settings = persistent(directory.as_handle());
        assert!(settings.trusted != Some(true) || settings.dev_drive != Some(false), "{settings:?}");
    }
}
