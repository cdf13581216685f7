//! `XFS_IOC_FSGEOMETRY_V4`: geometry of an XFS file system, without privileges (ioctl_xfs_fsgeometry(2)).

use std::io;
use std::os::fd::AsRawFd;

use crate::xfs_bulkstat::XfsDirectory;

#[repr(C, align(8))]
struct Geometry {
    before: [u8; 92],
    flags: u32,
    between: [u8; 8],
    directory_block_bytes: u32,
    after: u32,
}

const _: () = {
    assert!(size_of::<Geometry>() == 112);
    assert!(std::mem::offset_of!(Geometry, flags) == 92);
    assert!(std::mem::offset_of!(Geometry, directory_block_bytes) == 104);
};

const XFS_IOC_FSGEOMETRY_V4: libc::Ioctl = libc::_IOR::<Geometry>(b'X' as u32, 124);

pub fn directory_block_bytes(directory: XfsDirectory<'_>) -> io::Result<u32> {
    geometry(directory).map(|geometry| geometry.directory_block_bytes)
}

/// `XFS_FSOP_GEOM_FLAGS_*`.
pub fn flags(directory: XfsDirectory<'_>) -> io::Result<u32> {
    geometry(directory).map(|geometry| geometry.flags)
}

fn geometry(directory: XfsDirectory<'_>) -> io::Result<Geometry> {
    let mut geometry =
        Geometry { before: [0; 92], flags: 0, between: [0; 8], directory_block_bytes: 0, after: 0 };
    // SAFETY: on an XFS directory the number means XFS_IOC_FSGEOMETRY_V4 and nothing else. The kernel writes
    // 112 bytes, the size of the structure, which is borrowed exclusively; it keeps no pointer. Any bytes are
    // valid field values.
    let status =
        unsafe { libc::ioctl(directory.descriptor.as_raw_fd(), XFS_IOC_FSGEOMETRY_V4, &raw mut geometry) };
    if status == 0 { Ok(geometry) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::XFS_IOC_FSGEOMETRY_V4;

    #[test]
    fn the_number_is_that_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(XFS_IOC_FSGEOMETRY_V4, 0x8070_587c);
        assert_ne!(XFS_IOC_FSGEOMETRY_V4, 0);
    }
}
