//! UUID of the file system that a directory is on: `FS_IOC_GETFSUUID` (`include/uapi/linux/fs.h`, Linux 6.9).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::succeeded;

/// `struct fsuuid2`.
#[repr(C)]
struct FileSystemUuid {
    bytes: u8,
    uuid: [u8; 16],
}

const _: () = assert!(size_of::<FileSystemUuid>() == 17);

const FS_IOC_GETFSUUID: libc::Ioctl = libc::_IOR::<FileSystemUuid>(0x15, 0);

/// Fails with `ENOTTY` on earlier kernels and on file systems without a UUID.
pub fn uuid(directory: BorrowedFd<'_>) -> io::Result<[u8; 16]> {
    let status = rustix::fs::fstat(directory)?;
    if !rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    let mut found = FileSystemUuid { bytes: 0, uuid: [0; 16] };
    // SAFETY: on a directory the number means FS_IOC_GETFSUUID on every file system, or nothing before Linux 6.9 (a device, where it
    // could mean something else, was refused). The kernel writes 17 bytes, the size of the structure, which is borrowed exclusively;
    // it keeps no pointer. Any bytes are valid field values.
    succeeded(unsafe { libc::ioctl(directory.as_raw_fd(), FS_IOC_GETFSUUID, &raw mut found) })?;
    match found.bytes {
        16 => Ok(found.uuid),
        // MINIX and others have shorter ones or none.
        _ => Err(io::Error::from_raw_os_error(libc::ENOTTY)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::{FS_IOC_GETFSUUID, uuid};

    #[test]
    fn only_directories_of_file_systems_with_a_uuid_have_one() {
        assert_eq!(FS_IOC_GETFSUUID, 0x8011_1500);
        let error = |path| uuid(File::open(path).unwrap().as_fd()).unwrap_err().raw_os_error();
        assert_eq!(error("/dev/null"), Some(libc::ENOTDIR));
        assert_eq!(error("/proc"), Some(libc::ENOTTY));
    }
}
