//! Places of a file's or directory's contents on its device: `FS_IOC_FIEMAP` (`include/uapi/linux/fiemap.h`).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

const AT_ONCE: usize = 64;

const LAST: u32 = 0x1;
/// Unknown place, not allocated yet, encoded, encrypted, not aligned, inside a block, unwritten.
const NOT_READABLE: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800;

/// Range of the device, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    pub offset: u64,
    pub bytes: u64,
}

/// `struct fiemap_extent`
///
/// Offsets and lengths are bytes. `logical` is the place in the file and `physical` the place on the device,
/// which is a place only if none of the bits of `NOT_READABLE` is set in `flags`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Mapped {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` with its extents
///
/// The file range from `start`, `length` bytes long, goes in. `count` is the room for extents, and `mapped`
/// is the number that the kernel has filled in; it stays at most `count`. A file with more extents needs
/// another call, which begins behind the last one.
#[repr(C)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Mapped; AT_ONCE],
}

const _: () = {
    assert!(size_of::<Mapped>() == 56);
    assert!(std::mem::offset_of!(Map, extents) == 32);
};

/// The number holds the size of the structure without its extents.
const FS_IOC_FIEMAP: libc::Ioctl = libc::_IOWR::<[u64; 4]>(b'f' as u32, 11);

#[derive(Clone, Debug)]
pub struct Part {
    /// Extents whose blocks hold the contents as they are, in the order of the file; at most 64.
    pub extents: Vec<Extent>,
    /// Bytes; `None` at the end.
    pub next: Option<u64>,
}

/// The file may change meanwhile. Fails with `EOPNOTSUPP` on file systems that do not report extents.
pub fn extents(file: BorrowedFd<'_>, start: u64) -> io::Result<Part> {
    let mut map = Map {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped: 0,
        count: AT_ONCE as u32,
        reserved: 0,
        extents: [Mapped::default(); AT_ONCE],
    };
    // SAFETY: the number means FS_IOC_FIEMAP on every file system and is handled before their own numbers. The kernel writes at most
    // `count` extents behind the header, which the structure, borrowed exclusively, has room for, and keeps no pointer. Any bytes are
    // valid field values.
    crate::succeeded(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) })?;
    let mapped = &map.extents[..(map.mapped as usize).min(AT_ONCE)];
    let readable = mapped.iter().filter(|extent| extent.flags & NOT_READABLE == 0);
    let extents = readable.map(|extent| Extent { offset: extent.physical, bytes: extent.length }).collect();
    let end = mapped.last().filter(|last| last.flags & LAST == 0);
    let next = end.map(|last| last.logical.saturating_add(last.length)).filter(|next| *next > start);
    Ok(Part { extents, next })
}

#[cfg(test)]
mod tests {
    use super::{FS_IOC_FIEMAP, extents};
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn the_number_equals_the_constant_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(FS_IOC_FIEMAP, 0xc020_660b);
    }

    #[test]
    fn extents_cover_the_file_and_their_absence_is_reported() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".extents.tmp");
        std::fs::write(&path, vec![7; 300_000]).unwrap();
        let file = File::open(&path).unwrap();
        rustix::fs::fsync(&file).unwrap();
        let found = extents(file.as_fd(), 0);
        std::fs::remove_file(&path).unwrap();
        if let Ok(found) = found {
            let bytes: u64 = found.extents.iter().map(|extent| extent.bytes).sum();
            assert!(bytes >= 300_000 || found.next.is_some(), "{found:?}");
        }
        assert!(extents(File::open("/proc/self/status").unwrap().as_fd(), 0).is_err());
    }
}
