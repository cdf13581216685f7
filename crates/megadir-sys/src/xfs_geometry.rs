//! `XFS_IOC_FSGEOMETRY_V4`: the shape of an XFS file system, for anybody.
//!
//! Reference: `fs/xfs/libxfs/xfs_fs.h`, ioctl_xfs_fsgeometry(2).

use std::io;
use std::os::fd::AsRawFd;

use crate::xfs_bulkstat::XfsDirectory;

/// `struct xfs_fsop_geom_v4`, of which only what is needed is told apart.
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

/// Returns the size of the blocks that directories are made of, bytes.
///
/// # Errors
///
/// What a container's filter of system calls gives.
pub fn directory_block_bytes(directory: XfsDirectory<'_>) -> io::Result<u32> {
    geometry(directory).map(|geometry| geometry.directory_block_bytes)
}

/// Returns the flags of the file system (`XFS_FSOP_GEOM_FLAGS_*`).
///
/// # Errors
///
/// What a container's filter of system calls gives.
pub fn flags(directory: XfsDirectory<'_>) -> io::Result<u32> {
    geometry(directory).map(|geometry| geometry.flags)
}

fn geometry(directory: XfsDirectory<'_>) -> io::Result<Geometry> {
    let mut geometry =
        Geometry { before: [0; 92], flags: 0, between: [0; 8], directory_block_bytes: 0, after: 0 };
    // SAFETY: on a directory of XFS the number means XFS_IOC_FSGEOMETRY_V4 and nothing else. The kernel writes 112 bytes,
    // which is what the structure, borrowed exclusively, has; it keeps no pointer. Any bytes are a value of the fields.
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
