//! A directory known to lie on one kind of file system: what a number means in ioctl(2) depends on that.

use std::io;
use std::os::fd::BorrowedFd;

/// An open directory on the file system whose number in statfs(2) is `MAGIC`.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryOn<'a, const MAGIC: u64> {
    pub(crate) descriptor: BorrowedFd<'a>,
}

impl<'a, const MAGIC: u64> DirectoryOn<'a, MAGIC> {
    /// Checks that a descriptor is a directory on this file system, not, say, a device that is named there.
    ///
    /// # Errors
    ///
    /// `ENOTTY`, as ioctl(2) has it, if it is not; whatever fstat(2) and fstatfs(2) give.
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
