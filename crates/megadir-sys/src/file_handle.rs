//! `name_to_handle_at(2)`: the handle of a file on FUSE contains the number under which kernel and server know it.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::succeeded;

/// A handle that identifies a file and need not open it (Linux 6.5 and later).
const AT_HANDLE_FID: libc::c_int = 0x200;
/// `MAX_HANDLE_SZ`.
const HANDLE_BYTES: u32 = 128;
/// `FILEID_INO64_GEN`: the number, 8 bytes, and its generation, 4 bytes.
const FUSE_HANDLE: (u32, i32) = (12, 0x81);

#[repr(C)]
struct FileHandle {
    bytes: u32,
    kind: libc::c_int,
    handle: [u8; HANDLE_BYTES as usize],
}

/// Returns the number of an entry's node on FUSE. Servers that leave inode numbers to libfuse have these numbers as inode numbers; they
/// count look-ups.
///
/// Fails with `EINVAL` before Linux 6.5, and with `ENODATA` if the handle is not of FUSE's form.
pub fn fuse_node(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<u64> {
    let mut found = FileHandle { bytes: HANDLE_BYTES, kind: 0, handle: [0; HANDLE_BYTES as usize] };
    let mut mount = 0;
    // SAFETY: the kernel reads a string that ends with a zero byte, writes at most `bytes` bytes behind the two fields of a
    // `struct file_handle`, for which there is room, and one int; it keeps no pointer. The descriptor is open for the call.
    succeeded(unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            directory.as_raw_fd(),
            name.as_ptr(),
            &raw mut found,
            &raw mut mount as *mut libc::c_int,
            AT_HANDLE_FID,
        )
    })?;
    match (found.bytes, found.kind) == FUSE_HANDLE {
        true => {
            // The kernel stores the upper half first.
            let word = |at: usize| {
                let bytes =
                    [found.handle[at], found.handle[at + 1], found.handle[at + 2], found.handle[at + 3]];
                u64::from(u32::from_ne_bytes(bytes))
            };
            Ok(word(0) << 32 | word(4))
        }
        false => Err(io::Error::from_raw_os_error(libc::ENODATA)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::fuse_node;

    #[test]
    fn a_name_that_does_not_exist_has_no_node() {
        let root = std::fs::File::open("/").unwrap();
        assert!(fuse_node(root.as_fd(), c"missing").is_err());
    }
}
