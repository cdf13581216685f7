//! Writes through a shared mapping, which file systems see as a page fault and not as a write (mmap(2)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Writes the first byte of a file that is open for reading and writing, and keeps no mapping. Fails with
/// `InvalidInput` if the file is empty; the process is killed if another one empties it meanwhile.
pub fn write_first_byte(file: BorrowedFd<'_>, byte: u8) -> io::Result<()> {
    if rustix::fs::fstat(file)?.st_size < 1 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: a new mapping at an address of the kernel's choice, which nothing else knows.
    let mapping = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            1,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if mapping == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping has at least a page, which is writable, and no reference to it exists.
    unsafe { mapping.cast::<u8>().write_volatile(byte) };
    // SAFETY: the whole mapping made above; nothing points into it.
    let _ = unsafe { libc::munmap(mapping, 1) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    #[test]
    fn the_file_has_the_byte_and_an_empty_one_is_refused() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".mapping.tmp");
        std::fs::write(&path, "abc").unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let written = super::write_first_byte(file.as_fd(), b'x');
        let content = std::fs::read(&path).unwrap();
        file.set_len(0).unwrap();
        let refused = super::write_first_byte(file.as_fd(), b'x').unwrap_err();
        std::fs::remove_file(&path).unwrap();
        written.unwrap();
        assert_eq!((&content[..], refused.kind()), (&b"xbc"[..], std::io::ErrorKind::InvalidInput));
    }
}
