//! `EXT4_IOC_GETFSUUID`: UUID of a mounted ext4 file system, without privileges (`fs/ext4/ext4.h`).

use std::io;
use std::os::fd::AsRawFd;

use crate::ext4_features::Ext4Directory;

/// `struct fsuuid` with room for the UUID.
#[repr(C)]
struct Uuid {
    length: u32,
    flags: u32,
    uuid: [u8; 16],
}

/// The number holds the size of the structure without the UUID.
const EXT4_IOC_GETFSUUID: libc::Ioctl = libc::_IOR::<[u32; 2]>(b'f' as u32, 44);

/// Fails with `ENOTTY` on Linux before 6.0.
pub fn uuid(directory: Ext4Directory<'_>) -> io::Result<[u8; 16]> {
    let mut found = Uuid { length: 16, flags: 0, uuid: [0; 16] };
    // SAFETY: on an ext4 directory the number means EXT4_IOC_GETFSUUID and nothing else, or is unknown. The kernel
    // writes at most `length` bytes behind the header, which the structure, borrowed exclusively, has room for; it
    // keeps no pointer. Any bytes are valid field values.
    let status = unsafe { libc::ioctl(directory.descriptor.as_raw_fd(), EXT4_IOC_GETFSUUID, &raw mut found) };
    if status == 0 { Ok(found.uuid) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::EXT4_IOC_GETFSUUID;

    #[test]
    fn the_number_is_that_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(EXT4_IOC_GETFSUUID, 0x8008_662c);
        assert_ne!(EXT4_IOC_GETFSUUID, 0);
    }
}
