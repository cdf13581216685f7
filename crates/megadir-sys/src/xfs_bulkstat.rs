//! `XFS_IOC_BULKSTAT`: attributes of many inodes in one call (Linux 5.4 and later; ioctl_xfs_bulkstat(2)). The kernel returns every inode
//! in use from a number on, whatever its directory. Sizes are on-disk sizes, without data not yet flushed; the rest equals statx(2).

use std::io;
use std::os::fd::AsRawFd;

use crate::directory_on::DirectoryOn;
use crate::succeeded;

pub const RECORDS_MAX: usize = 512;

pub type XfsDirectory<'a> = DirectoryOn<'a, 0x5846_5342>;

/// `struct xfs_bulk_ireq`.
///
/// `inode` is the first number to look at. `wanted` is the room for records and `filled` the number that was
/// written. Flags and allocation group stay 0: the search covers all allocation groups.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    inode: u64,
    flags: u32,
    wanted: u32,
    filled: u32,
    group: u32,
    reserved: [u64; 5],
}

/// `struct xfs_bulkstat`: attributes of one inode.
///
/// Fields whose names begin with `_` are needed by no caller. They must be here nevertheless, because
/// the kernel writes records one after the other: a wrong size would shift every record after the first.
/// Times are split into seconds and nanoseconds, which lie in different parts of the structure.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    pub inode: u64,
    /// On-disk size, bytes.
    pub size_bytes: u64,
    _blocks: u64,
    _flags: u64,
    _accessed_s: i64,
    pub modified_s: i64,
    pub changed_s: i64,
    /// 0 if the file system does not keep it (version 4).
    pub born_s: i64,
    _generation: u32,
    pub user: u32,
    pub group: u32,
    _project: u32,
    _accessed_ns: u32,
    pub modified_ns: u32,
    pub changed_ns: u32,
    pub born_ns: u32,
    _block_bytes: u32,
    _device: u32,
    _extent_hints_blocks: [u32; 2],
    pub links: u32,
    _extents: [u32; 2],
    _version: u16,
    _fork_offset: u16,
    _health: [u16; 2],
    /// Type and permissions, as in stat(2).
    pub mode: u16,
    _padding: u16,
    _extents_64: u64,
    _reserved: [u64; 6],
}

/// `struct xfs_bulkstat_req` with the maximum number of records.
#[repr(C)]
struct Request {
    header: Header,
    records: [Record; RECORDS_MAX],
}

const _: () = {
    assert!(size_of::<Header>() == 64);
    assert!(size_of::<Record>() == 192);
    assert!(std::mem::offset_of!(Record, modified_s) == 40);
    assert!(std::mem::offset_of!(Record, user) == 68);
    assert!(std::mem::offset_of!(Record, modified_ns) == 84);
    assert!(std::mem::offset_of!(Record, links) == 112);
    assert!(std::mem::offset_of!(Record, mode) == 132);
    assert!(std::mem::offset_of!(Request, records) == 64);
};

/// `_IOR('X', 127, struct xfs_bulkstat_req)`: in C the structure's size is the header's.
const XFS_IOC_BULKSTAT: libc::Ioctl = libc::_IOR::<Header>(b'X' as u32, 127);

/// About 100 KiB.
pub struct Records {
    request: Box<Request>,
}

impl Records {
    #[expect(clippy::new_without_default, reason = "a large allocation should be visible")]
    pub fn new() -> Self {
        let records = [Record::default(); RECORDS_MAX];
        Self { request: Box::new(Request { header: Header::default(), records }) }
    }

    /// Inodes in use from number `from` on, ascending, at most `count` and [`RECORDS_MAX`]; fewer mean the end.
    /// `directory` only stands for its file system. Fails with `EPERM` without `CAP_SYS_ADMIN` in the first
    /// user namespace, `EINVAL` on an ID-mapped mount, or the error of reading the first inode.
    pub fn fill(&mut self, directory: XfsDirectory<'_>, from: u64, count: usize) -> io::Result<&[Record]> {
        let wanted = count.clamp(1, RECORDS_MAX) as u32;
        self.request.header = Header { inode: from, wanted, ..Header::default() };
        let descriptor = directory.descriptor.as_raw_fd();
        // SAFETY: on an XFS directory the number means XFS_IOC_BULKSTAT and nothing else. The kernel reads and
        // writes the header and writes at most `wanted` records behind it, which the exclusively borrowed
        // request has room for; it keeps no pointer. Any bytes are valid field values.
        succeeded(unsafe { libc::ioctl(descriptor, XFS_IOC_BULKSTAT, &raw mut *self.request) })?;
        let filled = self.request.header.filled.min(wanted) as usize;
        Ok(&self.request.records[..filled])
    }
}

// `XFS_IOC_FSGEOMETRY_V4`: geometry of an XFS file system, without privileges (ioctl_xfs_fsgeometry(2)).

/// `struct xfs_fsop_geom_v4`; two fields are read: the feature flags and the size of a directory
/// block, bytes. Version 4 of the call, not the current one, because kernels before 5.2 have no other and the
/// fields are the same.
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
    // SAFETY: on an XFS directory the number means XFS_IOC_FSGEOMETRY_V4 and nothing else. The kernel writes 112 bytes, the
    // size of the structure, which is borrowed exclusively; it keeps no pointer. Any bytes are valid field values.
    succeeded(unsafe {
        libc::ioctl(directory.descriptor.as_raw_fd(), XFS_IOC_FSGEOMETRY_V4, &raw mut geometry)
    })?;
    Ok(geometry)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::{Records, XFS_IOC_BULKSTAT, XFS_IOC_FSGEOMETRY_V4, XfsDirectory};

    #[test]
    fn the_number_equals_the_constant_of_the_header_file() {
        // On processors with the common ioctl numbers.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(XFS_IOC_BULKSTAT, 0x8040_587f);
        assert_ne!(XFS_IOC_BULKSTAT, 0);
        assert_eq!(Records::new().request.records.len(), super::RECORDS_MAX);
    }

    #[test]
    fn non_xfs_directories_are_refused_before_the_call() {
        for path in ["/proc", "/dev/null", "/proc/self/status"] {
            let file = File::open(path).unwrap();
            let error = XfsDirectory::check(file.as_fd()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{path}");
        }
    }

    #[test]
    fn the_number_for_the_geometry_equals_the_constant_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(XFS_IOC_FSGEOMETRY_V4, 0x8070_587c);
        assert_ne!(XFS_IOC_FSGEOMETRY_V4, 0);
    }
}
