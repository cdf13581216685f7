//! `XFS_IOC_BULKSTAT`: the attributes of many inodes of an XFS file system in one call (Linux 5.4 and later).
//!
//! The kernel gives every inode in use from a number on, ascending, whatever directory it is in; the caller
//! picks. Sizes are those on the disk: what has been written and not yet been flushed is not in them. The rest is
//! as statx(2) gives it. Reference: `fs/xfs/libxfs/xfs_fs.h`, ioctl_xfs_bulkstat(2).

use std::io;
use std::os::fd::AsRawFd;

use crate::directory_on::DirectoryOn;

/// The most inodes that one call gives.
pub const RECORDS_MAX: usize = 512;

/// An open directory of an XFS file system.
pub type XfsDirectory<'a> = DirectoryOn<'a, 0x5846_5342>;

/// `struct xfs_bulk_ireq`.
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

/// `struct xfs_bulkstat`: the attributes of one inode.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// The inode number.
    pub inode: u64,
    /// The size on the disk, bytes.
    pub size_bytes: u64,
    _blocks: u64,
    _flags: u64,
    _accessed_s: i64,
    /// When the contents were modified, seconds since 1970.
    pub modified_s: i64,
    /// When the inode was changed, seconds since 1970.
    pub changed_s: i64,
    /// When the inode was made, seconds since 1970; 0 where the file system does not keep it (version 4).
    pub born_s: i64,
    _generation: u32,
    /// The user's number.
    pub user: u32,
    /// The group's number.
    pub group: u32,
    _project: u32,
    _accessed_ns: u32,
    /// Nanoseconds of `modified_s`.
    pub modified_ns: u32,
    /// Nanoseconds of `changed_s`.
    pub changed_ns: u32,
    /// Nanoseconds of `born_s`.
    pub born_ns: u32,
    _block_bytes: u32,
    _device: u32,
    _extent_hints_blocks: [u32; 2],
    /// Hard links.
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

/// `struct xfs_bulkstat_req`, with room for as many records as one call may give.
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

/// The memory for the answer to one call, about 100 KiB.
pub struct Records {
    request: Box<Request>,
}

impl Records {
    /// Allocates the memory.
    #[expect(clippy::new_without_default, reason = "so much memory is allocated where one sees it")]
    pub fn new() -> Self {
        let records = [Record::default(); RECORDS_MAX];
        Self { request: Box::new(Request { header: Header::default(), records }) }
    }

    /// Returns the inodes in use from number `from` on, ascending: at most `count`, and [`RECORDS_MAX`]; fewer mean
    /// that there are no more.
    ///
    /// The directory stands for its file system and need not hold any of the inodes.
    ///
    /// # Errors
    ///
    /// `EPERM` without `CAP_SYS_ADMIN` in the first user namespace, `ENOTTY` on Linux before 5.4, `EINVAL` on a
    /// mount that maps users, or whatever reading the first of the inodes gives.
    pub fn fill(&mut self, directory: XfsDirectory<'_>, from: u64, count: usize) -> io::Result<&[Record]> {
        let wanted = count.clamp(1, RECORDS_MAX) as u32;
        self.request.header = Header { inode: from, wanted, ..Header::default() };
        let descriptor = directory.descriptor.as_raw_fd();
        // SAFETY: on a directory of XFS the number means XFS_IOC_BULKSTAT and nothing else. The kernel reads and
        // writes the header and writes at most `wanted` records behind it, for which the request, borrowed
        // exclusively, has room; it keeps no pointer. Any bytes are a value of the fields, which are integers.
        let status = unsafe { libc::ioctl(descriptor, XFS_IOC_BULKSTAT, &raw mut *self.request) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        let filled = self.request.header.filled.min(wanted) as usize;
        Ok(&self.request.records[..filled])
    }
}

#[cfg(test)]
mod tests {
    use super::{Records, XFS_IOC_BULKSTAT, XfsDirectory};
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn the_number_is_that_of_the_header_file() {
        // On processors whose ioctl numbers are of the common kind.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(XFS_IOC_BULKSTAT, 0x8040_587f);
        assert_ne!(XFS_IOC_BULKSTAT, 0);
        assert_eq!(Records::new().request.records.len(), super::RECORDS_MAX);
    }

    #[test]
    fn what_is_no_directory_of_xfs_is_refused_before_the_call() {
        for path in ["/proc", "/dev/null", "/proc/self/status"] {
            let file = File::open(path).unwrap();
            let error = XfsDirectory::check(file.as_fd()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{path}");
        }
    }
}
