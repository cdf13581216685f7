//! ioctls of ext4 without privileges: `EXT4_IOC_GET_TUNE_SB_PARAM` (features, `include/uapi/linux/ext4.h`) and
//! `EXT4_IOC_GETFSUUID` (UUID, `fs/ext4/ext4.h`).

use std::io;
use std::os::fd::AsRawFd;

use crate::directory_on::DirectoryOn;
use crate::succeeded;

pub type Ext4Directory<'a> = DirectoryOn<'a, 0xef53>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    pub compat: u32,
    pub incompat: u32,
    pub ro_compat: u32,
}

/// `struct ext4_tune_sb_params`; only the masks are named.
///
/// The kernel copies the whole structure out, so it must have the kernel's size even though three fields are
/// read. Superblock fields that lie before and after the masks, such as counts of mounts and intervals
/// between checks, are byte arrays, because no caller needs their names.
#[repr(C, align(8))]
struct Parameters {
    before: [u8; 64],
    compat: u32,
    incompat: u32,
    ro_compat: u32,
    after: [u8; 156],
}

const _: () = {
    assert!(size_of::<Parameters>() == 232);
    assert!(std::mem::offset_of!(Parameters, compat) == 64);
};

const EXT4_IOC_GET_TUNE_SB_PARAM: libc::Ioctl = libc::_IOR::<Parameters>(b'f' as u32, 45);

/// Fails with `ENOTTY` on Linux before 6.18.
pub fn features(directory: Ext4Directory<'_>) -> io::Result<Features> {
    let mut parameters =
        Parameters { before: [0; 64], compat: 0, incompat: 0, ro_compat: 0, after: [0; 156] };
    // SAFETY: on an ext4 directory the number means EXT4_IOC_GET_TUNE_SB_PARAM and nothing else, or is unknown. The kernel writes
    // 232 bytes, the size of the structure, which is borrowed exclusively; it keeps no pointer. Any bytes are valid field values.
    succeeded(unsafe {
        libc::ioctl(directory.descriptor.as_raw_fd(), EXT4_IOC_GET_TUNE_SB_PARAM, &raw mut parameters)
    })?;
    let Parameters { compat, incompat, ro_compat, .. } = parameters;
    Ok(Features { compat, incompat, ro_compat })
}

/// `struct fsuuid` with room for the UUID.
#[repr(C)]
struct Uuid {
    length: u32,
    flags: u32,
    uuid: [u8; 16],
}

/// The number holds the size of the structure without the UUID.
const EXT4_IOC_GETFSUUID: libc::Ioctl = libc::_IOR::<[u32; 2]>(b'f' as u32, 44);

/// UUID of a mounted file system. Fails with `ENOTTY` on Linux before 6.0.
pub fn uuid(directory: Ext4Directory<'_>) -> io::Result<[u8; 16]> {
    let mut found = Uuid { length: 16, flags: 0, uuid: [0; 16] };
    // SAFETY: on an ext4 directory the number means EXT4_IOC_GETFSUUID and nothing else, or is unknown. The kernel
    // writes at most `length` bytes behind the header, which the structure, borrowed exclusively, has room for; it
    // keeps no pointer. Any bytes are valid field values.
    succeeded(unsafe { libc::ioctl(directory.descriptor.as_raw_fd(), EXT4_IOC_GETFSUUID, &raw mut found) })?;
    Ok(found.uuid)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::{EXT4_IOC_GET_TUNE_SB_PARAM, EXT4_IOC_GETFSUUID, Ext4Directory};

    #[test]
    fn the_number_equals_the_constant_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(EXT4_IOC_GET_TUNE_SB_PARAM, 0x80e8_662d);
        assert_ne!(EXT4_IOC_GET_TUNE_SB_PARAM, 0);
    }

    #[test]
    fn non_ext4_directories_are_refused_before_the_call() {
        for path in ["/proc", "/dev/null"] {
            let error = Ext4Directory::check(File::open(path).unwrap().as_fd()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{path}");
        }
    }

    #[test]
    fn the_number_for_the_uuid_equals_the_constant_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(EXT4_IOC_GETFSUUID, 0x8008_662c);
        assert_ne!(EXT4_IOC_GETFSUUID, 0);
    }
}
