//! Space on the volume of an open file or directory.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Wdk::Storage::FileSystem::{FileFsFullSizeInformation, NtQueryVolumeInformationFile};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

/// `FILE_FS_FULL_SIZE_INFORMATION`, in clusters.
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
    let mut told = Size::default();
    let mut io_status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open for the call, and the system writes at most the structure's bytes, which are numbers.
    super::checked(unsafe {
        NtQueryVolumeInformationFile(
            file.as_raw_handle(),
            &raw mut io_status,
            (&raw mut told).cast(),
            size_of::<Size>() as u32,
            FileFsFullSizeInformation,
        )
    })?;
    Ok(told)
}
