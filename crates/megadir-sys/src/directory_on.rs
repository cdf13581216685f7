//! Directory on a known file system, because the meaning of an ioctl(2) number depends on it.

use std::io;
use std::os::fd::BorrowedFd;

/// `MAGIC` is the statfs(2) type.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryOn<'a, const MAGIC: u64> {
    pub(crate) descriptor: BorrowedFd<'a>,
}

impl<'a, const MAGIC: u64> DirectoryOn<'a, MAGIC> {
    /// Rejects everything but a directory with `ENOTTY`, as ioctl(2) would.
    pub fn check(descriptor: BorrowedFd<'a>) -> io::Result<Self> {
        let status = rustix::fs::fstat(descriptor)?;
        let is_directory = rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir();
        let magic = rustix::fs::fstatfs(descriptor)?.f_type as u64 & 0xffff_ffff;
        if is_directory && magic == MAGIC {
            return Ok(Self { descriptor });
        }
        Err(io::Error::from_raw_os_error(libc::ENOTTY))
    }
}
