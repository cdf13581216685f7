//! One row: an entry of a tree, where it stands in the order, and what was known of it.

use megadir::{Attributes, FileType, Time, Want};

/// An entry of an inventory, borrowed from whoever holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// Which entry, and its place in the order.
    pub key: Key<'a>,
    /// What was known of it.
    pub facts: Facts,
    /// What could not be done, in words such as `open: Permission denied`. Of a directory that has facts, this says
    /// that its entries could not be listed, or not all.
    pub error: Option<&'a str>,
}

/// Which entry: rows ascend by this, byte by byte, each key once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<'a> {
    /// The tree, as the index of its root in [`Metadata::roots`](crate::Metadata::roots).
    pub root: u32,
    /// The path of its directory relative to the root, without slashes at its ends; empty for entries of the root
    /// and for the root itself.
    pub parent: &'a [u8],
    /// Its name; empty for the root itself, which is the first row of its tree.
    pub name: &'a [u8],
}

impl Key<'_> {
    /// Returns whether this is the root of a tree.
    pub fn is_root(&self) -> bool {
        self.name.is_empty()
    }

    /// Replaces `path` by the entry's path relative to the root; empty for the root itself. As a directory, this is
    /// the `parent` of its entries.
    pub fn path_into(&self, path: &mut Vec<u8>) {
        path.clear();
        path.extend_from_slice(self.parent);
        if !self.parent.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(self.name);
    }

    /// Appends the entry's whole path as text, with the system's separators; `root` is the path of its root. Bytes that are not UTF-8
    /// become `\xff`.
    pub fn text_into(&self, root: &[u8], text: &mut Vec<u8>) {
        push_text(text, root);
        for part in [self.parent, self.name].into_iter().filter(|part| !part.is_empty()) {
            push_separator(text);
            push_relative(text, part);
        }
    }
}

/// Appends what stands between a directory's path and what lies below it, where it is not there already.
pub(crate) fn push_separator(text: &mut Vec<u8>) {
    if !text.last().is_some_and(|last| std::path::is_separator(char::from(*last))) {
        text.push(std::path::MAIN_SEPARATOR as u8);
    }
}

/// Appends a path below a root as text. On Windows slashes become backslashes: no name holds one, and behind `\\?\` they separate nothing.
pub(crate) fn push_relative(text: &mut Vec<u8>, path: &[u8]) {
    let start = text.len();
    push_text(text, path);
    if cfg!(windows) {
        text[start..].iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'\\');
    }
}

/// Appends bytes as text: those that are not UTF-8 as `\xff`.
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

/// What was known of an entry; `None` is what the file system does not have or did not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The type; [`FileType::Unknown`] where it was not told.
    pub kind: FileType,
    /// The size, bytes.
    pub size_bytes: Option<u64>,
    /// When the contents were last modified, nanoseconds since 1970-01-01 UTC, see [`nanoseconds`].
    pub modified_ns: Option<i64>,
    /// When the inode was last changed, likewise.
    pub changed_ns: Option<i64>,
    /// When the inode was made, likewise.
    pub born_ns: Option<i64>,
    /// The inode number, the lower 64 bits of it where it has 128 (ReFS).
    pub inode: Option<u64>,
    /// The upper 64 bits of an inode number of 128 bits.
    pub inode_high: Option<u64>,
    /// The device's number, as `st_dev` has it on Linux. It may be another after the next mount:
    /// [`Metadata::volumes`](crate::Metadata::volumes) has what stays.
    pub device: Option<u64>,
    /// The permission bits with set-user-ID, set-group-ID and sticky.
    pub mode: Option<u16>,
    /// The owner's user number.
    pub user: Option<u32>,
    /// The owner's group number.
    pub group: Option<u32>,
    /// Hard links.
    pub links: Option<u64>,
    /// Why the entry could not be examined: an error number of the system.
    pub errno: Option<i32>,
    /// SHA-256 of the contents (of a link: of where it leads), where the scan hashed them.
    pub sha256: Option<[u8; 32]>,
}

impl Facts {
    /// Facts of which nothing is known.
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
        sha256: None,
    };

    /// What is asked of each entry.
    pub const WANT: Want = Want::TYPE
        .union(Want::SIZE)
        .union(Want::MODIFIED)
        .union(Want::CHANGED)
        .union(Want::BORN)
        .union(Want::MODE)
        .union(Want::OWNER)
        .union(Want::LINKS)
        .union(Want::INODE)
        .union(Want::DEVICE);

    /// Returns what attributes tell; the type is `listed` where they do not have it.
    #[inline]
    pub fn new(listed: FileType, attributes: &Attributes) -> Self {
        let have = attributes.have;
        let (major, minor) = attributes.device;
        Self {
            kind: if have.contains(Want::TYPE) { attributes.kind } else { listed },
            size_bytes: have.contains(Want::SIZE).then_some(attributes.size_bytes),
            modified_ns: have.contains(Want::MODIFIED).then(|| nanoseconds(attributes.modified)),
            changed_ns: have.contains(Want::CHANGED).then(|| nanoseconds(attributes.changed)),
            born_ns: have.contains(Want::BORN).then(|| nanoseconds(attributes.born)),
            inode: have.contains(Want::INODE).then_some(attributes.inode),
            inode_high: None,
            device: have.contains(Want::DEVICE).then(|| device_number(major, minor)),
            mode: have.contains(Want::MODE).then_some(attributes.mode),
            user: have.contains(Want::OWNER).then_some(attributes.user),
            group: have.contains(Want::OWNER).then_some(attributes.group),
            links: have.contains(Want::LINKS).then_some(attributes.links),
            errno: (attributes.error != 0).then_some(attributes.error),
            sha256: None,
        }
    }
}

/// How many numbers an entry has, see [`Facts::numbers`].
pub const NUMBERS: usize = 12;

impl Facts {
    /// Returns what is a number, in the order of an inventory's columns: size, the times, inode and its upper half, device,
    /// mode, owner, group, links and error number. Those without sign keep their bits.
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
        ]
    }

    /// Returns facts of a type with these numbers, see [`Facts::numbers`], and without a hash.
    #[inline]
    pub fn from_numbers(kind: FileType, numbers: &[Option<i64>; NUMBERS]) -> Self {
        let [size, modified_ns, changed_ns, born_ns, inode, high, device, mode, user, group, links, errno] =
            *numbers;
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
            sha256: None,
        }
    }
}

/// Returns a time as nanoseconds since 1970-01-01 UTC; what lies beyond 1677 or 2262 is `-i64::MAX` or `i64::MAX`.
///
/// ```
/// use megadir::Time;
/// use megadir_inventory::nanoseconds;
/// assert_eq!(nanoseconds(Time { seconds: -1, nanoseconds: 999_999_999 }), -1);
/// assert_eq!(nanoseconds(Time { seconds: 1 << 34, nanoseconds: 0 }), i64::MAX);
/// ```
#[inline]
pub fn nanoseconds(time: Time) -> i64 {
    let whole = time.seconds.checked_mul(1_000_000_000);
    match whole.and_then(|whole| whole.checked_add(time.nanoseconds.into())) {
        Some(total) => total.max(-i64::MAX),
        // What is added to seconds before 1970 may bring the sum back into range.
        None => {
            let total = i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
            total.clamp(-i128::from(i64::MAX), i128::from(i64::MAX)) as i64
        }
    }
}

/// Returns a device's number as Linux's C libraries make it of major and minor (`gnu_dev_makedev`).
#[inline]
pub(crate) fn device_number(major: u32, minor: u32) -> u64 {
    let (major, minor) = (u64::from(major), u64::from(minor));
    (major & 0xfff) << 8 | (major & !0xfff) << 32 | (minor & 0xff) | (minor & !0xff) << 12
}

/// A row that owns its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRow {
    /// The index of the tree's root.
    pub root: u32,
    /// The path of the directory relative to the root.
    pub parent: Vec<u8>,
    /// The name.
    pub name: Vec<u8>,
    /// What was known of the entry.
    pub facts: Facts,
    /// What could not be done.
    pub error: Option<String>,
}

impl OwnedRow {
    /// Returns the row.
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
    use super::{Key, device_number, nanoseconds};
    use megadir::Time;

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
    fn times_keep_their_nanoseconds_and_those_out_of_range_the_side() {
        let of = |seconds, nanoseconds| super::nanoseconds(Time { seconds, nanoseconds });
        assert_eq!(of(0, 1), 1);
        assert_eq!(of(-1, 0), -1_000_000_000);
        assert_eq!(of(9_223_372_036, 854_775_806), i64::MAX - 1);
        assert_eq!(of(9_223_372_036, 854_775_808), i64::MAX);
        assert_eq!(nanoseconds(Time { seconds: i64::MIN, nanoseconds: 0 }), -i64::MAX);
    }

    #[test]
    fn devices_have_the_numbers_of_the_system() {
        assert_eq!(device_number(8, 1), 0x801);
        assert_eq!(device_number(0, 0x12345), 0x1230_0045);
        assert_eq!(device_number(0x1234, 0), 0x1000_0002_3400);
    }
}
