//! Directory stream of the C library (readdir(3)), as most programs list directories. Its buffer is fixed: 32
//! KiB in glibc, 2 KiB in musl.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::ptr::NonNull;

#[derive(Debug)]
pub struct DirStream {
    stream: NonNull<libc::DIR>,
    last: *const libc::dirent64,
    refills: u64,
}

// SAFETY: a DIR may be used from any thread, one at a time (readdir(3)), which `&mut self` on every method
// ensures; `last` is only compared, never dereferenced.
unsafe impl Send for DirStream {}

/// Fields of `struct dirent64`, unchecked: the kind is one of `DT_*` and may be `DT_UNKNOWN`, and the offset
/// is a cookie of the file system, not a number of bytes. The name has no NUL and borrows the buffer of the
/// stream, which the next call overwrites.
#[derive(Clone, Copy, Debug)]
pub struct StreamEntry<'a> {
    pub inode: u64,
    pub offset: i64,
    pub record_bytes: u16,
    pub kind: u8,
    pub name: &'a [u8],
}

#[repr(C)]
struct Header {
    inode: u64,
    offset: i64,
    record_bytes: u16,
    kind: u8,
}

impl DirStream {
    /// Fails with `ENOTDIR` if the descriptor is not a directory.
    pub fn open(directory: OwnedFd) -> io::Result<Self> {
        let descriptor = directory.into_raw_fd();
        // SAFETY: the descriptor was owned by us and is given away here.
        let stream = unsafe { libc::fdopendir(descriptor) };
        match NonNull::new(stream) {
            Some(stream) => Ok(Self { stream, last: std::ptr::null(), refills: 0 }),
            None => {
                let error = io::Error::last_os_error();
                // SAFETY: fdopendir failed, so the descriptor is still ours and has no other owner.
                unsafe { libc::close(descriptor) };
                Err(error)
            }
        }
    }

    /// Next entry, including `.` and `..`; `None` at the end. The stream stays usable after an error.
    pub fn next_entry(&mut self) -> io::Result<Option<StreamEntry<'_>>> {
        // SAFETY: returns the address of the calling thread's own errno, which lives as long as the thread.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: the address is valid and no other thread writes there.
        unsafe { errno.write(0) };
        // SAFETY: the stream is open and no other call on it is under way, since `self` is exclusive.
        let entry = unsafe { libc::readdir64(self.stream.as_ptr()) };
        if entry.is_null() {
            let error = io::Error::last_os_error();
            self.refills += 1;
            return if error.raw_os_error() == Some(0) { Ok(None) } else { Err(error) };
        }
        // Records ascend within the stream's buffer, so a pointer that does not is the first of a refill.
        if entry.cast_const() <= self.last || self.last.is_null() {
            self.refills += 1;
        }
        self.last = entry;
        // SAFETY: readdir64 returned a record that stays valid until the next call on the stream, which the
        // borrow of `self` in the result prevents. No record is shorter than the header's 24 bytes.
        let header = unsafe { entry.cast::<Header>().read_unaligned() };
        let name = entry.wrapping_byte_add(std::mem::offset_of!(libc::dirent64, d_name)).cast();
        // SAFETY: as above; `name` points to `d_name`, which ends with a NUL within the record. Only a pointer
        // was formed, since the record may be shorter than the type's 256 bytes.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(Some(StreamEntry {
            inode: header.inode,
            offset: header.offset,
            record_bytes: header.record_bytes,
            kind: header.kind,
            name: name.to_bytes(),
        }))
    }

    pub fn next_below(&mut self) -> io::Result<Option<(BorrowedFd<'_>, StreamEntry<'_>)>> {
        // SAFETY: the stream is open.
        let descriptor = unsafe { libc::dirfd(self.stream.as_ptr()) };
        // SAFETY: the stream owns the descriptor and is borrowed for as long as the result lives, so the descriptor stays open.
        let directory = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Ok(self.next_entry()?.map(|entry| (directory, entry)))
    }

    /// Returned pointers ascend until the kernel is called again.
    pub fn refills(&self) -> u64 {
        self.refills
    }
}

impl Drop for DirStream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and is not used after this.
        unsafe { libc::closedir(self.stream.as_ptr()) };
    }
}

// Raw getdents64(2) into the caller's buffer; `megadir::decode` decodes the records.

/// Fills `buffer` from the descriptor's position. Returns the number of bytes, 0 at the end; bytes beyond it and padding keep their
/// contents. `EINTR` is retried. Fails with `EINVAL` if the next record does not fit, `ENOENT` if the directory was removed.
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
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::{DirStream, getdents64};

    #[test]
    fn a_directory_is_read_to_its_end() {
        let mut stream = DirStream::open(File::open("/").unwrap().into()).unwrap();
        let mut names = Vec::new();
        while let Some(entry) = stream.next_entry().unwrap() {
            names.push(entry.name.to_vec());
        }
        assert!(names.contains(&b".".to_vec()) && names.contains(&b"..".to_vec()));
        assert_eq!(stream.refills(), 2, "one call with entries, one that finds the end");
    }

    #[test]
    fn entries_are_reached_by_the_descriptor_of_the_stream() {
        use std::os::fd::AsRawFd;
        let opened = File::open("/proc/self").unwrap();
        let number = opened.as_raw_fd();
        let mut stream = DirStream::open(opened.into()).unwrap();
        let (directory, entry) = stream.next_below().unwrap().unwrap();
        assert_eq!((directory.as_raw_fd(), entry.name), (number, b".".as_slice()));
    }

    #[test]
    fn a_file_is_refused() {
        let error = DirStream::open(File::open("/proc/self/status").unwrap().into()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTDIR));
    }

    #[test]
    fn an_open_directory_gives_dot_and_dotdot() {
        let directory = File::open("/").unwrap();
        let mut buffer = [0; 4096];
        let filled = getdents64(directory.as_fd(), &mut buffer).unwrap();
        assert!(filled >= 48, "two records of 24 bytes at least, got {filled} bytes");
    }

    #[test]
    fn a_file_is_refused_by_getdents() {
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
