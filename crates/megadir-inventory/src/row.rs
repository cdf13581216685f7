//! Rows: sort key and facts of an entry.

use megadir::{Attributes, FileType, StatMask, Time};

/// Borrowed entry of an inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Path and sort key.
    pub key: Key<'a>,
    /// Attributes.
    pub facts: Facts,
    /// Failed operation and reason, e.g. `open: Permission denied`. A directory with facts was not listed completely.
    pub error: Option<&'a str>,
}

/// Sort key of an entry: compared byte by byte, unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a> {
    /// Index of the root in [`Metadata::roots`](crate::Metadata::roots).
    pub root: u32,
    /// Directory relative to the root, without outer slashes; empty for the root and its entries.
    pub parent: &'a [u8],
    /// Name; empty for the root, the first row of its tree.
    pub name: &'a [u8],
}

impl Key<'_> {
    /// `true` for the root of a tree.
    pub fn is_root(&self) -> bool {
        self.name.is_empty()
    }

    /// Replaces `path` by the entry's path relative to the root; empty for the root.
    pub fn path_into(&self, path: &mut Vec<u8>) {
        path.clear();
        path.extend_from_slice(self.parent);
        if !self.parent.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(self.name);
    }

    /// Appends the whole path below `root` as text, with the system's separators and `\xff` for bytes that are not UTF-8.
    pub fn text_into(&self, root: &[u8], text: &mut Vec<u8>) {
        push_text(text, root);
        for part in [self.parent, self.name].into_iter().filter(|part| !part.is_empty()) {
            push_separator(text);
            push_relative(text, part);
        }
    }
}

pub(crate) fn push_separator(text: &mut Vec<u8>) {
    if !text.last().is_some_and(|last| std::path::is_separator(char::from(*last))) {
        text.push(std::path::MAIN_SEPARATOR as u8);
    }
}

/// Behind `\\?\` slashes do not separate.
pub(crate) fn push_relative(text: &mut Vec<u8>, path: &[u8]) {
    let start = text.len();
    push_text(text, path);
    if cfg!(windows) {
        text[start..].iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'\\');
    }
}

#[inline]
pub(crate) fn push_text(text: &mut Vec<u8>, bytes: &[u8]) {
    if std::str::from_utf8(bytes).is_ok() {
        return text.extend_from_slice(bytes);
    }
    for chunk in bytes.utf8_chunks() {
        text.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            text.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
}

/// Attributes of an entry; `None` if not reported.
///
/// Each field is what the file system reported, without a guess, because a comparison takes a difference in
/// any of them for a change. Times are signed: files may be older than 1970. `size_bytes` of a directory
/// depends on the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Type; [`FileType::Unknown`] if not reported.
    pub kind: FileType,
    /// Size, bytes.
    pub size_bytes: Option<u64>,
    /// Last modification of the contents (mtime), nanoseconds since 1970-01-01 UTC, see [`nanoseconds`].
    pub modified_ns: Option<i64>,
    /// Last change of the inode (ctime), nanoseconds.
    pub changed_ns: Option<i64>,
    /// Creation of the inode (btime), nanoseconds.
    pub born_ns: Option<i64>,
    /// Inode number; the lower 64 bits of the 128 on ReFS.
    pub inode: Option<u64>,
    /// Upper 64 bits of a 128-bit inode number.
    pub inode_high: Option<u64>,
    /// Device number, on Linux `st_dev`, which a remount may change; see
    /// [`Metadata::volumes`](crate::Metadata::volumes).
    pub device: Option<u64>,
    /// Permission bits with set-user-ID, set-group-ID and sticky.
    pub mode: Option<u16>,
    /// User ID of the owner.
    pub user: Option<u32>,
    /// Group ID.
    pub group: Option<u32>,
    /// Number of hard links.
    pub links: Option<u64>,
    /// errno of the failed examination.
    pub errno: Option<i32>,
    /// Space on disk, bytes; unknown in older inventories.
    pub allocated_bytes: Option<u64>,
    /// Last access (atime), nanoseconds; unknown in older inventories.
    pub accessed_ns: Option<i64>,
    /// Hash of the contents (of a symbolic link, of its target), if they were hashed.
    pub hash: Option<ContentHash>,
}

/// Hash of contents, with the function that made it: hashes of different functions cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentHash {
    /// SHA-256: of suspects, and in the index of a pack.
    Sha256([u8; 32]),
    /// BLAKE3: of scans that hash all contents, because it is several times as fast.
    Blake3([u8; 32]),
}

/// Where a pack holds an entry: bytes of a shard, which is a tar file.
///
/// Tar members begin with headers (512 bytes each), followed by the contents and zeros up to a whole block.
/// Offsets are from the beginning of the shard, so that a member can be read without reading those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Number of the shard.
    pub shard: u32,
    /// Offset of the member's first header.
    pub header_offset: u64,
    /// Offset of the contents; of a hard link, that of the contents it shares.
    pub data_offset: u64,
    /// Length of the contents, bytes.
    pub data_length: u64,
    /// Beginning of the SHA-256 of the extended attributes in the headers; 0 without attributes.
    pub attributes_hash: u64,
}

/// Number of numbers in [`Stored`].
pub(crate) const STORED_NUMBERS: usize = 5;

impl Stored {
    pub(crate) fn numbers(&self) -> [i64; STORED_NUMBERS] {
        let Self { shard, header_offset, data_offset, data_length, attributes_hash } = *self;
        [shard.into(), header_offset as i64, data_offset as i64, data_length as i64, attributes_hash as i64]
    }

    /// `None` if a number is out of range.
    pub(crate) fn from_numbers(numbers: [i64; STORED_NUMBERS]) -> Option<Self> {
        let [shard, header_offset, data_offset, data_length, attributes_hash] = numbers;
        Some(Self {
            shard: shard.try_into().ok()?,
            header_offset: header_offset.try_into().ok()?,
            data_offset: data_offset.try_into().ok()?,
            data_length: data_length.try_into().ok()?,
            attributes_hash: attributes_hash as u64,
        })
    }
}

/// Number of numeric facts, see [`Facts::numbers`].
pub const NUMBERS: usize = 14;

impl Facts {
    /// All facts unknown.
    pub const NOTHING: Self = Self {
        kind: FileType::Unknown,
        size_bytes: None,
        modified_ns: None,
        changed_ns: None,
        born_ns: None,
        inode: None,
        inode_high: None,
        device: None,
        mode: None,
        user: None,
        group: None,
        links: None,
        errno: None,
        allocated_bytes: None,
        accessed_ns: None,
        hash: None,
    };

    /// Attributes requested for each entry.
    pub const WANT: StatMask = StatMask::TYPE
        .union(StatMask::SIZE)
        .union(StatMask::MODIFIED)
        .union(StatMask::CHANGED)
        .union(StatMask::BORN)
        .union(StatMask::MODE)
        .union(StatMask::OWNER)
        .union(StatMask::LINKS)
        .union(StatMask::INODE)
        .union(StatMask::DEVICE)
        .union(StatMask::ALLOCATED)
        .union(StatMask::ACCESSED);

    /// Converts attributes; `listed` is the type if they have none.
    #[inline]
    pub fn new(listed: FileType, attributes: &Attributes) -> Self {
        let have = attributes.have;
        let (major, minor) = attributes.device;
        Self {
            kind: if have.contains(StatMask::TYPE) { attributes.kind } else { listed },
            size_bytes: have.contains(StatMask::SIZE).then_some(attributes.size_bytes),
            modified_ns: have.contains(StatMask::MODIFIED).then(|| nanoseconds(attributes.modified)),
            changed_ns: have.contains(StatMask::CHANGED).then(|| nanoseconds(attributes.changed)),
            born_ns: have.contains(StatMask::BORN).then(|| nanoseconds(attributes.born)),
            inode: have.contains(StatMask::INODE).then_some(attributes.inode),
            device: have.contains(StatMask::DEVICE).then(|| device_number(major, minor)),
            mode: have.contains(StatMask::MODE).then_some(attributes.mode),
            user: have.contains(StatMask::OWNER).then_some(attributes.user),
            group: have.contains(StatMask::OWNER).then_some(attributes.group),
            links: have.contains(StatMask::LINKS).then_some(attributes.links),
            errno: (attributes.error != 0).then_some(attributes.error),
            allocated_bytes: have.contains(StatMask::ALLOCATED).then_some(attributes.allocated_bytes),
            accessed_ns: have.contains(StatMask::ACCESSED).then(|| nanoseconds(attributes.accessed)),
            ..Self::NOTHING
        }
    }

    /// Converts to attributes, as far as facts are known.
    ///
    /// The mask of the result has a bit for each fact that is known, and a field without its bit is 0 and
    /// means nothing. Owners count only as a pair, because the mask has one bit for both.
    pub fn attributes(&self) -> Attributes {
        let time = |ns: Option<i64>| time_of(ns.unwrap_or(0));
        let known = [
            (self.kind != FileType::Unknown, StatMask::TYPE),
            (self.size_bytes.is_some(), StatMask::SIZE),
            (self.modified_ns.is_some(), StatMask::MODIFIED),
            (self.changed_ns.is_some(), StatMask::CHANGED),
            (self.born_ns.is_some(), StatMask::BORN),
            (self.accessed_ns.is_some(), StatMask::ACCESSED),
            (self.user.is_some() && self.group.is_some(), StatMask::OWNER),
            (self.inode.is_some(), StatMask::INODE),
            (self.mode.is_some(), StatMask::MODE),
            (self.links.is_some(), StatMask::LINKS),
            (self.allocated_bytes.is_some(), StatMask::ALLOCATED),
            (self.device.is_some(), StatMask::DEVICE),
        ];
        Attributes {
            have: known.into_iter().filter(|(is, _)| *is).map(|(_, want)| want).collect(),
            error: self.errno.unwrap_or(0),
            kind: self.kind,
            size_bytes: self.size_bytes.unwrap_or(0),
            modified: time(self.modified_ns),
            changed: time(self.changed_ns),
            born: time(self.born_ns),
            accessed: time(self.accessed_ns),
            user: self.user.unwrap_or(0),
            group: self.group.unwrap_or(0),
            inode: self.inode.unwrap_or(0),
            mode: self.mode.unwrap_or(0),
            links: self.links.unwrap_or(0),
            allocated_bytes: self.allocated_bytes.unwrap_or(0),
            device: major_and_minor(self.device.unwrap_or(0)),
            ..Attributes::NOTHING
        }
    }

    /// Numeric facts: size, times, inode and its upper half, device, mode, user, group, links, errno,
    /// allocated bytes, access time. Unsigned numbers keep their bits.
    #[inline]
    pub fn numbers(&self) -> [Option<i64>; NUMBERS] {
        [
            self.size_bytes.map(|size| size as i64),
            self.modified_ns,
            self.changed_ns,
            self.born_ns,
            self.inode.map(|inode| inode as i64),
            self.inode_high.map(|inode| inode as i64),
            self.device.map(|device| device as i64),
            self.mode.map(i64::from),
            self.user.map(i64::from),
            self.group.map(i64::from),
            self.links.map(|links| links as i64),
            self.errno.map(i64::from),
            self.allocated_bytes.map(|bytes| bytes as i64),
            self.accessed_ns,
        ]
    }

    /// Inverse of [`Facts::numbers`]; there is no hash.
    #[inline]
    pub fn from_numbers(kind: FileType, numbers: &[Option<i64>; NUMBERS]) -> Self {
        let [size, modified_ns, changed_ns, born_ns, inode, high, device, rest @ ..] = *numbers;
        let [mode, user, group, links, errno, allocated, accessed_ns] = rest;
        Self {
            kind,
            size_bytes: size.map(|size| size as u64),
            modified_ns,
            changed_ns,
            born_ns,
            inode: inode.map(|inode| inode as u64),
            inode_high: high.map(|inode| inode as u64),
            device: device.map(|device| device as u64),
            mode: mode.map(|mode| mode as u16 & 0o7777),
            user: user.map(|user| user as u32),
            group: group.map(|group| group as u32),
            links: links.map(|links| links as u64),
            errno: errno.map(|errno| errno as i32),
            allocated_bytes: allocated.map(|bytes| bytes as u64),
            accessed_ns,
            hash: None,
        }
    }
}

/// Limit of times in inventories, either side of 1970-01-01 UTC, in nanoseconds. One less than the largest integer, which DuckDB 2.0 keeps
/// for infinity: its `make_timestamp_ns` refuses a whole column with one such value.
pub(crate) const NS_MAX: i64 = i64::MAX - 1;

/// Converts a time to nanoseconds since 1970-01-01 UTC; times before 1677 or after 2262 become `i64::MAX - 1` or the negative of it.
#[inline]
pub fn nanoseconds(time: Time) -> i64 {
    let whole = time.seconds.checked_mul(1_000_000_000);
    match whole.and_then(|whole| whole.checked_add(time.nanoseconds.into())) {
        Some(total) => total.clamp(-NS_MAX, NS_MAX),
        None => {
            let total = i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
            total.clamp(-i128::from(NS_MAX), i128::from(NS_MAX)) as i64
        }
    }
}

/// Time that is this number of nanoseconds after 1970-01-01 UTC: the inverse of [`nanoseconds`] for times within its range.
#[inline]
pub fn time_of(ns: i64) -> Time {
    Time { seconds: ns.div_euclid(1_000_000_000), nanoseconds: ns.rem_euclid(1_000_000_000) as u32 }
}

/// As glibc's `gnu_dev_makedev`.
#[inline]
pub(crate) fn device_number(major: u32, minor: u32) -> u64 {
    let (major, minor) = (u64::from(major), u64::from(minor));
    (major & 0xfff) << 8 | (major & !0xfff) << 32 | (minor & 0xff) | (minor & !0xff) << 12
}

/// Inverse of [`device_number`].
fn major_and_minor(device: u64) -> (u32, u32) {
    let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
    let minor = (device & 0xff) | (device >> 12 & !0xff);
    (major as u32, minor as u32)
}

/// Owned row.
///
/// For rows that outlive the buffer of their source, such as the one that is looked ahead at. It keeps its
/// vectors when it is overwritten by another row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRow {
    /// Index of the root.
    pub root: u32,
    /// Path of the directory relative to the root.
    pub parent: Vec<u8>,
    /// Name.
    pub name: Vec<u8>,
    /// Attributes.
    pub facts: Facts,
    /// Failed operation and reason.
    pub error: Option<String>,
}

impl OwnedRow {
    /// Borrows the row.
    pub fn row(&self) -> Row<'_> {
        let key = Key { root: self.root, parent: &self.parent, name: &self.name };
        Row { key, facts: self.facts, error: self.error.as_deref() }
    }
}

impl From<Row<'_>> for OwnedRow {
    fn from(row: Row<'_>) -> Self {
        let Key { root, parent, name } = row.key;
        let (parent, name) = (parent.to_vec(), name.to_vec());
        Self { root, parent, name, facts: row.facts, error: row.error.map(str::to_owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, Key, NS_MAX, device_number, major_and_minor, nanoseconds, time_of};
    use megadir::{FileType, StatMask, Time};

    #[test]
    fn facts_that_an_inventory_has_come_back_as_attributes() {
        let numbers = std::array::from_fn(|index| (index != 11).then_some(index as i64 + 1));
        let facts = Facts { inode_high: None, ..Facts::from_numbers(FileType::File, &numbers) };
        let attributes = facts.attributes();
        assert_eq!(attributes.have, Facts::WANT);
        assert_eq!(Facts::new(FileType::Unknown, &attributes), facts);
        assert_eq!(Facts::NOTHING.attributes().have, StatMask::NOTHING);
    }

    #[test]
    fn the_root_comes_first_and_directories_ascend_by_their_bytes() {
        let key = |root, parent: &'static str, name: &'static str| Key {
            root,
            parent: parent.as_bytes(),
            name: name.as_bytes(),
        };
        let ascending = [
            key(0, "", ""),
            key(0, "", "a"),
            key(0, "", "a-b"),
            key(0, "a", "z"),
            key(0, "a-b", "x"),
            key(0, "a/b", "x"),
            key(1, "", ""),
        ];
        assert!(ascending.is_sorted_by(|a, b| a < b));
        let mut path = b"old".to_vec();
        ascending[5].path_into(&mut path);
        assert_eq!(path, b"a/b/x");
        ascending[1].path_into(&mut path);
        assert_eq!(path, b"a");
    }

    #[test]
    fn times_keep_nanoseconds_and_clamp_to_the_nearer_end() {
        let of = |seconds, nanoseconds| super::nanoseconds(Time { seconds, nanoseconds });
        assert_eq!(of(0, 1), 1);
        assert_eq!(of(-1, 0), -1_000_000_000);
        assert_eq!((of(-1, 999_999_999), of(1 << 34, 0)), (-1, NS_MAX));
        assert_eq!((time_of(-1).seconds, nanoseconds(time_of(-1))), (-1, -1));
        assert_eq!(of(9_223_372_036, 854_775_805), NS_MAX - 1);
        for nanoseconds in [854_775_806, 854_775_807, 854_775_808] {
            assert_eq!(of(9_223_372_036, nanoseconds), NS_MAX);
        }
        assert_eq!(nanoseconds(Time { seconds: i64::MIN, nanoseconds: 0 }), -NS_MAX);
    }

    #[test]
    fn devices_have_the_numbers_of_the_system() {
        assert_eq!(device_number(8, 1), 0x801);
        assert_eq!(device_number(0, 0x12345), 0x1230_0045);
        assert_eq!(device_number(0x1234, 0), 0x1000_0002_3400);
        for numbers in [(8, 1), (0, 0x12345), (0x1234, 0), (u32::MAX, u32::MAX)] {
            assert_eq!(major_and_minor(device_number(numbers.0, numbers.1)), numbers);
        }
    }
}
