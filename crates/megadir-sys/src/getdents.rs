//! Raw getdents64(2) into the caller's buffer; `megadir::decode` decodes the records.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Fills `buffer` from the descriptor's position. Returns the number of bytes, 0 at the end; bytes beyond it
/// and padding keep their contents. `EINTR` is retried. Fails with `EINVAL` if the next record does not fit,
/// `ENOENT` if the directory was removed.
pub fn getdents64(directory: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel writes at most `buffer.len()` bytes to `buffer`, which is borrowed exclusively for
        // the call, and keeps no pointer to it. The descriptor is open for the call.
        let filled = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                directory.as_raw_fd(),
                buffer.as_mut_ptr(),
                buffer.len().min(i32::MAX as usize),
            )
        };
        if let Ok(filled) = usize::try_from(filled) {
            return Ok(filled.min(buffer.len()));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::getdents64;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn an_open_directory_gives_dot_and_dotdot() {
        let directory = File::open("/").unwrap();
        let mut buffer = [0; 4096];
        let filled = getdents64(directory.as_fd(), &mut buffer).unwrap();
        assert!(filled >= 48, "two records of 24 bytes at least, got {filled} bytes");
    }

    #[test]
    fn a_file_is_refused() {
        let file = File::open("/proc/self/status").unwrap();
        let error = getdents64(file.as_fd(), &mut [0; 4096]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTDIR));
    }

    #[test]
    fn a_buffer_too_small_for_one_record_is_refused() {
        let directory = File::open("/").unwrap();
        let error = getdents64(directory.as_fd(), &mut [0; 8]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
