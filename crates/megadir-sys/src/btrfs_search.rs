//! `BTRFS_IOC_TREE_SEARCH_V2`: items of a subvolume's tree as on disk (Linux 3.16 and later). The search covers
//! a range of keys (object, type, offset), so between two inode items lie all other items of the first inode.
//! Changed inode items enter the tree when a transaction commits.

use std::io;
use std::os::fd::AsRawFd;

use crate::directory_on::DirectoryOn;
use crate::succeeded;

pub type BtrfsDirectory<'a> = DirectoryOn<'a, 0x9123_683e>;

const INODE_ITEM: u32 = 1;

/// `struct btrfs_ioctl_search_args_v2` without the buffer that follows it.
///
/// Fields lie where the kernel has them, which the assertions below compare with its header file. `items` is
/// the largest number of items before the call and the number returned after it. A key is the triple of
/// object, type and offset, and minimum and maximum bound the triple as a whole, not each part of it: the
/// types only limit the first and the last object of the range.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    /// 0 for the tree of the descriptor's subvolume.
    tree: u64,
    object_min: u64,
    object_max: u64,
    offset_min: u64,
    offset_max: u64,
    transaction_min: u64,
    transaction_max: u64,
    type_min: u32,
    type_max: u32,
    items: u32,
    _unused: u32,
    _unused_too: [u64; 4],
    buffer_bytes: u64,
}

/// Bytes; larger buffers gain nothing.
pub const BUFFER_BYTES: usize = 64 << 10;

#[repr(C)]
struct Request {
    header: Header,
    buffer: [u8; BUFFER_BYTES],
}

const _: () = {
    assert!(size_of::<Header>() == 112);
    assert!(std::mem::offset_of!(Header, type_min) == 56);
    assert!(std::mem::offset_of!(Header, items) == 64);
    assert!(std::mem::offset_of!(Header, buffer_bytes) == 104);
    assert!(std::mem::offset_of!(Request, buffer) == 112);
};

/// `_IOWR(0x94, 17, struct btrfs_ioctl_search_args_v2)`: in C the structure's size is the header's.
const BTRFS_IOC_TREE_SEARCH_V2: libc::Ioctl = libc::_IOWR::<Header>(0x94, 17);

pub struct Search {
    request: Box<Request>,
}

impl Search {
    #[expect(clippy::new_without_default, reason = "a large allocation should be visible")]
    pub fn new() -> Self {
        Self { request: Box::new(Request { header: Header::default(), buffer: [0; BUFFER_BYTES] }) }
    }

    /// At most `items_max` items from the inode item of `first` to that of `last`, as many as fit. Fails with
    /// `EPERM` without `CAP_SYS_ADMIN` in the first user namespace, `EOVERFLOW` if no item fits.
    pub fn inodes(
        &mut self,
        directory: BtrfsDirectory<'_>,
        first: u64,
        last: u64,
        items_max: u32,
    ) -> io::Result<Items<'_>> {
        self.request.header = Header {
            object_min: first,
            object_max: last,
            transaction_max: u64::MAX,
            type_min: INODE_ITEM,
            type_max: INODE_ITEM,
            items: items_max,
            buffer_bytes: BUFFER_BYTES as u64,
            ..Header::default()
        };
        let descriptor = directory.descriptor.as_raw_fd();
        // SAFETY: on a btrfs directory the number means BTRFS_IOC_TREE_SEARCH_V2 and nothing else. The kernel
        // reads and writes the header and writes at most `buffer_bytes` bytes behind it, which the exclusively
        // borrowed request has room for; it keeps no pointer. Any bytes are valid field values.
        succeeded(unsafe { libc::ioctl(descriptor, BTRFS_IOC_TREE_SEARCH_V2, &raw mut *self.request) })?;
        Ok(Items::new(&self.request.buffer, self.request.header.items))
    }
}

/// Ends early at a truncated item.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    rest: &'a [u8],
    left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Object ID: the inode number for items of inodes.
    pub object: u64,
    /// `BTRFS_*_KEY`.
    pub kind: u32,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// Attributes of an inode as the tree had them at the last commit of a transaction, so they may be older than
/// those of statx(2). Times are seconds since 1970-01-01 UTC, which may be negative, with nanoseconds. Of the
/// other fields of the item, the allocated space (`nbytes`) is not the one of stat(2): that includes data
/// which still waits for its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InodeItem {
    pub size_bytes: u64,
    pub links: u32,
    pub user: u32,
    pub group: u32,
    /// Type and permissions, as in stat(2).
    pub mode: u32,
    pub changed: (i64, u32),
    pub modified: (i64, u32),
    pub born: (i64, u32),
}

impl<'a> Items<'a> {
    /// `items` is the number that the answer claims.
    pub fn new(bytes: &'a [u8], items: u32) -> Self {
        Self { rest: bytes, left: items }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        // `struct btrfs_ioctl_search_header`, native byte order: transaction, object, offset, type, length.
        self.left = self.left.checked_sub(1)?;
        let (header, rest) = self.rest.split_first_chunk::<32>()?;
        let long = |at: usize| Some(u64::from_ne_bytes(*header.get(at..)?.first_chunk()?));
        let short = |at: usize| Some(u32::from_ne_bytes(*header.get(at..)?.first_chunk()?));
        let (bytes, rest) = rest.split_at_checked(short(28)? as usize)?;
        self.rest = rest;
        Some(Item { object: long(8)?, kind: short(24)?, offset: long(16)?, bytes })
    }
}

impl Item<'_> {
    /// `None` for items of other types or lengths.
    #[inline]
    pub fn inode(&self) -> Option<InodeItem> {
        // `struct btrfs_inode_item`, packed and little-endian like all btrfs structures on disk.
        let bytes: &[u8; 160] = self.bytes.try_into().ok().filter(|_| self.kind == INODE_ITEM)?;
        let long = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let short = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let time = |at: usize| Some((long(at)? as i64, short(at + 8)?));
        Some(InodeItem {
            size_bytes: long(16)?,
            links: short(40)?,
            user: short(44)?,
            group: short(48)?,
            mode: short(52)?,
            changed: time(124)?,
            modified: time(136)?,
            born: time(148)?,
        })
    }
}

// UUID of a btrfs file system and ID of a subvolume, without privileges (Linux 4.18 and later; `include/uapi/linux/btrfs.h`).

/// `struct btrfs_ioctl_fs_info_args`; only the UUID is named.
#[repr(C, align(8))]
struct FileSystemInfo {
    before: [u8; 16],
    identifier: [u8; 16],
    after: [u8; 992],
}

/// `struct btrfs_ioctl_get_subvol_info_args`; only the ID is named.
#[repr(C, align(8))]
struct SubvolumeInfo {
    number: u64,
    after: [u8; 496],
}

const _: () = {
    assert!(size_of::<FileSystemInfo>() == 1024);
    assert!(size_of::<SubvolumeInfo>() == 504);
};

const BTRFS_IOC_FS_INFO: libc::Ioctl = libc::_IOR::<FileSystemInfo>(0x94, 31);
const BTRFS_IOC_GET_SUBVOL_INFO: libc::Ioctl = libc::_IOR::<SubvolumeInfo>(0x94, 60);

pub fn file_system_identifier(directory: BtrfsDirectory<'_>) -> io::Result<[u8; 16]> {
    let mut info = FileSystemInfo { before: [0; 16], identifier: [0; 16], after: [0; 992] };
    // SAFETY: on a btrfs directory the number means BTRFS_IOC_FS_INFO and nothing else. The kernel reads and writes 1024 bytes,
    // the size of the structure, which is borrowed exclusively; it keeps no pointer. Any bytes are a valid value.
    succeeded(unsafe { libc::ioctl(directory.descriptor.as_raw_fd(), BTRFS_IOC_FS_INFO, &raw mut info) })?;
    Ok(info.identifier)
}

/// Fails with `ENOTTY` on Linux before 4.18.
pub fn subvolume(directory: BtrfsDirectory<'_>) -> io::Result<u64> {
    let mut info = SubvolumeInfo { number: 0, after: [0; 496] };
    // SAFETY: on a btrfs directory the number means BTRFS_IOC_GET_SUBVOL_INFO and nothing else. The kernel writes 504 bytes,
    // the size of the structure, which is borrowed exclusively; it keeps no pointer. Any bytes are a valid value.
    succeeded(unsafe {
        libc::ioctl(directory.descriptor.as_raw_fd(), BTRFS_IOC_GET_SUBVOL_INFO, &raw mut info)
    })?;
    Ok(info.number)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::{
        BTRFS_IOC_FS_INFO, BTRFS_IOC_GET_SUBVOL_INFO, BTRFS_IOC_TREE_SEARCH_V2, BtrfsDirectory, InodeItem,
        Items,
    };

    #[test]
    fn the_number_equals_the_constant_of_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(BTRFS_IOC_TREE_SEARCH_V2, 0xc070_9411);
        assert_ne!(BTRFS_IOC_TREE_SEARCH_V2, 0);
    }

    #[test]
    fn non_btrfs_directories_are_refused_before_the_call() {
        for path in ["/proc", "/dev/null"] {
            let error = BtrfsDirectory::check(File::open(path).unwrap().as_fd()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{path}");
        }
    }

    fn item(object: u64, kind: u32, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [9, object, 77] {
            bytes.extend_from_slice(&u64::to_ne_bytes(number));
        }
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&(content.len() as u32).to_ne_bytes());
        bytes.extend_from_slice(content);
        bytes
    }

    /// Inode item whose bytes equal their offsets.
    fn inode_item() -> [u8; 160] {
        std::array::from_fn(|at| at as u8)
    }

    #[test]
    fn items_are_distinguished_and_inodes_read() {
        let mut bytes = item(256, 1, &inode_item());
        bytes.extend(item(256, 12, b"a name of odd length."));
        bytes.extend(item(257, 1, &inode_item()));
        bytes.resize(1000, 0);
        let items: Vec<_> = Items::new(&bytes, 3).collect();
        let objects: Vec<_> = items.iter().map(|item| (item.object, item.kind, item.offset)).collect();
        assert_eq!(objects, [(256, 1, 77), (256, 12, 77), (257, 1, 77)]);
        assert_eq!((items[1].inode(), items[1].bytes), (None, &b"a name of odd length."[..]));
        let expected = InodeItem {
            size_bytes: 0x1716_1514_1312_1110,
            links: 0x2b2a_2928,
            user: 0x2f2e_2d2c,
            group: 0x3332_3130,
            mode: 0x3736_3534,
            changed: (0x8382_8180_7f7e_7d7c_u64 as i64, 0x8786_8584),
            modified: (0x8f8e_8d8c_8b8a_8988_u64 as i64, 0x9392_9190),
            born: (0x9b9a_9998_9796_9594_u64 as i64, 0x9f9e_9d9c),
        };
        assert_eq!(items[2].inode(), Some(expected));
    }

    #[test]
    fn an_inode_item_of_another_length_or_type_is_none() {
        for (kind, content) in [(1, &inode_item()[..159]), (1, &[]), (84, &inode_item()[..])] {
            let bytes = item(300, kind, content);
            let found = Items::new(&bytes, 1).next().unwrap();
            assert_eq!((found.inode(), found.bytes), (None, content));
        }
    }

    #[test]
    fn truncated_or_oversized_replies_end_early() {
        let mut bytes = item(256, 1, &inode_item());
        bytes.extend(item(257, 1, &inode_item()));
        for length in 0..bytes.len() {
            assert_eq!(Items::new(&bytes[..length], u32::MAX).count(), length / 192, "{length} bytes");
        }
        assert_eq!(Items::new(&bytes, 1).count(), 1);
        assert_eq!(Items::new(&bytes, 0).count(), 0);
        bytes[28..32].fill(0xff);
        assert_eq!(Items::new(&bytes, 2).count(), 0);
    }

    #[test]
    fn arbitrary_bytes_are_never_read_past_their_end() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            // Marsaglia's xorshift64.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..20_000 {
            let length = random() as usize % 600;
            let mut bytes: Vec<u8> = (0..length).map(|_| random() as u8).collect();
            // Plausible lengths at some of the offsets where lengths are read.
            for at in (28..length.saturating_sub(4)).step_by(32) {
                bytes[at..at + 4].copy_from_slice(&((random() % 200) as u32).to_ne_bytes());
            }
            let total: usize = Items::new(&bytes, u32::MAX).map(|item| item.bytes.len() + 32).sum();
            assert!(total <= length);
            assert!(Items::new(&bytes, 7).filter_map(|item| item.inode()).count() <= 7);
        }
    }

    #[test]
    fn numbers_match_the_header_file() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!((BTRFS_IOC_FS_INFO, BTRFS_IOC_GET_SUBVOL_INFO), (0x8400_941f, 0x81f8_943c));
        assert_ne!(BTRFS_IOC_FS_INFO, BTRFS_IOC_GET_SUBVOL_INFO);
    }
}
