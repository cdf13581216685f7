//! What the system tells of the volume that an open file or directory lies on.

use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};

use windows_sys::Wdk::Storage::FileSystem::{FileFsFullSizeInformation, NtQueryVolumeInformationFile};
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;

/// `FILE_FS_FULL_SIZE_INFORMATION`: the room of a volume, in units of allocation (clusters).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Clusters of the volume; for a user with a quota those of the quota.
    pub clusters: i64,
    /// Clusters that this user may still take.
    pub free_to_caller: i64,
    /// Clusters that nobody has.
    pub free: i64,
    /// Sectors of a cluster.
    pub sectors_per_cluster: u32,
    /// Bytes of a sector.
    pub bytes_per_sector: u32,
}

impl Size {
    /// Returns the bytes of a cluster.
    pub fn cluster_bytes(&self) -> u64 {
        u64::from(self.sectors_per_cluster) * u64::from(self.bytes_per_sector)
    }
}

/// Returns the room of the volume that an open file or directory lies on.
///
/// # Errors
///
/// The system's.
pub fn size(file: BorrowedHandle<'_>) -> io::Result<Size> {
    let mut told = Size::default();
    let mut io_status = IO_STATUS_BLOCK::default();
    // SAFETY: the handle is open for the call, and the system writes at most as many bytes as the structure, which consists of
    // numbers, has.
    let status = unsafe {
        NtQueryVolumeInformationFile(
            file.as_raw_handle(),
            &raw mut io_status,
            (&raw mut told).cast(),
            size_of::<Size>() as u32,
            FileFsFullSizeInformation,
        )
    };
    if status == 0 { Ok(told) } else { Err(super::error_of(status)) }
}
