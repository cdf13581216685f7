//! Pages of a file in the page cache: cachestat(2) (Linux 6.5 and later), else mincore(2) through a mapping.
//! Unless the caller owns the file or may write it, the kernel fails or claims that every page is cached. Also a write through a mapping.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::succeeded;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    pub cached: u64,
    /// Dirty or under writeback; `None` from mincore.
    pub unwritten: Option<u64>,
    pub pages: u64,
}

/// `struct cachestat_range`; a length of 0 means up to the end.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of the kernel, in pages. Only the first three counts are read: evicted pages are no
/// longer in the cache, and the kernel counts them by the shadow entries that reclaim has left.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

const SYS_CACHESTAT: Option<libc::c_long> = if cfg!(any(
    all(target_arch = "x86_64", target_pointer_width = "64"),
    target_arch = "aarch64",
    target_arch = "riscv64",
    target_arch = "powerpc64",
    target_arch = "s390x",
    target_arch = "loongarch64"
)) {
    Some(451)
} else {
    None
};

/// Bytes mapped at a time for mincore.
const WINDOW_BYTES: u64 = 256 << 20;

/// Fails with `EPERM` if the caller neither owns the file nor may write it (Linux 6.13 and later).
pub fn resident(file: BorrowedFd<'_>) -> io::Result<Resident> {
    match cachestat(file, &Range { offset: 0, length: 0 }) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => mincore(file),
        Err(error) => Err(error),
        Ok(found) => Ok(Resident {
            cached: found.cached,
            unwritten: Some(found.dirty + found.writeback),
            pages: pages(file)?,
        }),
    }
}

/// Cached pages of a range of the file; `offset` and `bytes` are multiples of a page, and `bytes` is not 0. Fails as [`resident`].
pub fn resident_in(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<u64> {
    match cachestat(file, &Range { offset, length: bytes }) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {
            mincore_window(file, offset, bytes.min(WINDOW_BYTES) as usize)
        }
        found => found.map(|found| found.cached),
    }
}

fn cachestat(file: BorrowedFd<'_>, range: &Range) -> io::Result<CacheStat> {
    let Some(number) = SYS_CACHESTAT else {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    };
    let mut found = CacheStat::default();
    // SAFETY: the kernel reads the range and writes one `struct cachestat`, which both live through the call, and keeps neither
    // pointer; an older kernel does not know the number and does nothing. The descriptor is open.
    succeeded(unsafe { libc::syscall(number, file.as_raw_fd(), &raw const *range, &raw mut found, 0_u32) })?;
    Ok(found)
}

fn mincore(file: BorrowedFd<'_>) -> io::Result<Resident> {
    let bytes = size(file)?;
    let mut cached = 0;
    for offset in (0..bytes).step_by(WINDOW_BYTES as usize) {
        cached += mincore_window(file, offset, (bytes - offset).min(WINDOW_BYTES) as usize)?;
    }
    Ok(Resident { cached, unwritten: None, pages: pages(file)? })
}

fn mincore_window(file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<u64> {
    let mut states = vec![0_u8; bytes.div_ceil(rustix::param::page_size())];
    // It is never read, so a truncated file does no harm.
    let mapping = map(file, offset, bytes, libc::PROT_READ, libc::MAP_NORESERVE)?;
    // SAFETY: the range is the mapping's; the kernel writes one byte per page, and `states` has that many.
    let read = succeeded(unsafe { libc::mincore(mapping, bytes, states.as_mut_ptr()) });
    // SAFETY: the whole mapping made above; nothing points into it.
    let _ = unsafe { libc::munmap(mapping, bytes) };
    read.map(|()| states.iter().filter(|state| **state & 1 != 0).count() as u64)
}

/// Shared mapping of a part of the file.
fn map(
    file: BorrowedFd<'_>,
    offset: u64,
    bytes: usize,
    protection: libc::c_int,
    flags: libc::c_int,
) -> io::Result<*mut libc::c_void> {
    let (anywhere, flags) = (std::ptr::null_mut(), libc::MAP_SHARED | flags);
    let (file, offset) = (file.as_raw_fd(), offset as libc::off_t);
    // SAFETY: a new mapping at an address of the kernel's choice, which nothing else knows.
    let mapping = unsafe { libc::mmap(anywhere, bytes, protection, flags, file, offset) };
    if mapping == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapping) }
}

fn pages(file: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(size(file)?.div_ceil(rustix::param::page_size() as u64))
}

fn size(file: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0))
}

/// Writes the first byte of a file that is open for reading and writing through a shared mapping, which file systems see as a page fault
/// and not as a write; keeps no mapping. Fails with `InvalidInput` if the file is empty; the process is killed if another one empties it
/// meanwhile.
pub fn write_first_byte(file: BorrowedFd<'_>, byte: u8) -> io::Result<()> {
    if rustix::fs::fstat(file)?.st_size < 1 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mapping = map(file, 0, 1, libc::PROT_READ | libc::PROT_WRITE, 0)?;
    // SAFETY: the mapping has at least a page, which is writable, and no reference to it exists.
    unsafe { mapping.cast::<u8>().write_volatile(byte) };
    // SAFETY: the whole mapping made above; nothing points into it.
    let _ = unsafe { libc::munmap(mapping, 1) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{mincore, mincore_window, resident, resident_in, write_first_byte};
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};

    const PAGES: u64 = 40;

    /// File in the build's folder, which is on a disk where a temporary file may not be.
    fn file(name: &str) -> (std::path::PathBuf, File) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!(".page-cache-{name}.tmp"));
        let bytes = vec![7; PAGES as usize * rustix::param::page_size()];
        std::fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        (path, file)
    }

    fn drop_pages(file: &File) {
        rustix::fs::fdatasync(file).unwrap();
        rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }

    /// Both calls; one may be missing.
    fn both(file: &File) -> Vec<u64> {
        let page = rustix::param::page_size() as u64;
        let all = resident(file.as_fd()).unwrap();
        let mapped = mincore(file.as_fd()).unwrap();
        assert_eq!((all.pages, mapped.pages), (PAGES, PAGES));
        let second = resident_in(file.as_fd(), page, (PAGES - 1) * page).unwrap();
        let first = mincore_window(file.as_fd(), 0, page as usize).unwrap();
        vec![all.cached, mapped.cached, first + second]
    }

    #[test]
    fn written_pages_are_there_until_they_are_dropped_unless_they_are_locked() {
        let (path, file) = file("locked");
        assert!(both(&file).iter().all(|cached| *cached == PAGES));
        let bytes = PAGES as usize * rustix::param::page_size();
        // SAFETY: a new mapping of a file that no other process changes, removed below.
        let mapping = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(mapping, libc::MAP_FAILED);
        // SAFETY: the range is the mapping's.
        let locked = unsafe { libc::mlock(mapping, bytes) };
        assert_eq!(locked, 0, "{}", io::Error::last_os_error());
        drop_pages(&file);
        assert!(both(&file).iter().all(|cached| *cached == PAGES));
        // SAFETY: the mapping made above, whole; nothing points into it.
        assert_eq!(unsafe { libc::munmap(mapping, bytes) }, 0);
        drop_pages(&file);
        let left = both(&file);
        std::fs::remove_file(path).unwrap();
        assert!(left.iter().all(|cached| *cached == 0), "{left:?}");
    }

    #[test]
    fn entries_not_written_yet_are_distinguished() {
        let (path, file) = file("written");
        drop_pages(&file);
        let written = resident(file.as_fd()).unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(matches!(written.unwritten, Some(0) | None), "{written:?}");
        let nothing = File::open("/dev/null").unwrap();
        assert_eq!(resident(nothing.as_fd()).map(|found| found.pages).unwrap_or(0), 0);
    }

    #[test]
    fn the_file_has_the_byte_and_an_empty_one_is_refused() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".mapping.tmp");
        std::fs::write(&path, "abc").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let written = write_first_byte(file.as_fd(), b'x');
        let content = std::fs::read(&path).unwrap();
        file.set_len(0).unwrap();
        let refused = write_first_byte(file.as_fd(), b'x').unwrap_err();
        std::fs::remove_file(&path).unwrap();
        written.unwrap();
        assert_eq!((&content[..], refused.kind()), (&b"xbc"[..], io::ErrorKind::InvalidInput));
    }
}
