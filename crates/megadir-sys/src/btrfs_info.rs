//! UUID of a btrfs file system and ID of a subvolume, without privileges (Linux 4.18 and later;
//! `include/uapi/linux/btrfs.h`).

use std::io;
use std::os::fd::AsRawFd;

use crate::btrfs_search::BtrfsDirectory;

/// `struct btrfs_ioctl_fs_info_args`; only the UUID is named.
#[repr(C, align(8))]
struct FileSystemInfo {
    before: [u8; 16],
    identifier: [u8; 16],
    after: [u8; 992],
}

/// `struct btrfs_ioctl_get_subvol_info_args`; only the ID is named.
#[repr(C, align(8))]
struct SubvolumeInfo {
    number: u64,
    after: [u8; 496],
}

const _: () = {
    assert!(size_of::<FileSystemInfo>() == 1024);
    assert!(size_of::<SubvolumeInfo>() == 504);
};

const BTRFS_IOC_FS_INFO: libc::Ioctl = libc::_IOR::<FileSystemInfo>(0x94, 31);
const BTRFS_IOC_GET_SUBVOL_INFO: libc::Ioctl = libc::_IOR::<SubvolumeInfo>(0x94, 60);

pub fn file_system_identifier(directory: BtrfsDirectory<'_>) -> io::Result<[u8; 16]> {
    let mut info = FileSystemInfo { before: [0; 16], identifier: [0; 16], after: [0; 992] };
    // SAFETY: on a btrfs directory the number means BTRFS_IOC_FS_INFO and nothing else. The kernel reads and
    // writes 1024 bytes, the size of the structure, which is borrowed exclusively; it keeps no pointer. Any
    // bytes are a valid value.
    let status = unsafe { libc::ioctl(directory.descriptor.as_raw_fd(), BTRFS_IOC_FS_INFO, &raw mut info) };
    if status == 0 { Ok(info.identifier) } else { Err(io::Error::last_os_error()) }
}

/// Fails with `ENOTTY` on Linux before 4.18.
pub fn subvolume(directory: BtrfsDirectory<'_>) -> io::Result<u64> {
    let mut info = SubvolumeInfo { number: 0, after: [0; 496] };
    // SAFETY: on a btrfs directory the number means BTRFS_IOC_GET_SUBVOL_INFO and nothing else. The kernel
    // writes 504 bytes, the size of the structure, which is borrowed exclusively; it keeps no pointer. Any
    // bytes are a valid value.
    let status =
        unsafe { libc::ioctl(directory.descriptor.as_raw_fd(), BTRFS_IOC_GET_SUBVOL_INFO, &raw mut info) };
    if status == 0 { Ok(info.number) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::{BTRFS_IOC_FS_INFO, BTRFS_IOC_GET_SUBVOL_INFO};

    #[test]
    fn the_numbers_are_those_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!((BTRFS_IOC_FS_INFO, BTRFS_IOC_GET_SUBVOL_INFO), (0x8400_941f, 0x81f8_943c));
        assert_ne!(BTRFS_IOC_FS_INFO, BTRFS_IOC_GET_SUBVOL_INFO);
    }
}
