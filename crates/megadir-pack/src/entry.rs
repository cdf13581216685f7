//! Rows as bytes, for sorting and for journals.
//!
//! ```text
//! order: phase (1), rank (8, big-endian), parent, 0, name, 0, origin (1)      files by inode, then directories, the deepest first
//! path:  parent, 0, name                                                      as the rows of an inventory
//! item:  type (1), mask (2), numbers (8 each), hash if flagged (32), place if flagged (36), error (the rest)
//! ```
//!
//! Names have no NUL, so keys sort by their parts.

use std::path::Path;

use megadir::{Error, ErrorKind, FileType};
use megadir_inventory::{ContentHash, Facts, Key, NUMBERS, Row, Stored};

const HASHED: u16 = 1 << 14;
const STORED: u16 = 1 << 15;

/// Part of a key: the row of a finished shard precedes that of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Shard = 0,
    Tree = 1,
}

/// An entry with its facts, its place once it is packed, and why it could not be read.
///
/// The same entry passes through sorts and a journal as bytes, so it owns all its parts. `stored` and `error`
/// exclude each other, except for a directory that was packed although not all of its contents could be
/// listed. An entry with neither waits to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) parent: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) facts: Facts,
    pub(crate) stored: Option<Stored>,
    pub(crate) error: Option<String>,
}

impl Entry {
    pub(crate) fn of(row: &Row<'_>, stored: Option<Stored>) -> Self {
        let (parent, name) = (row.key.parent.to_vec(), row.key.name.to_vec());
        Self { parent, name, facts: row.facts, stored, error: row.error.map(str::to_owned) }
    }

    pub(crate) fn row(&self) -> Row<'_> {
        let key = Key { root: 0, parent: &self.parent, name: &self.name };
        Row { key, facts: self.facts, error: self.error.as_deref() }
    }

    /// Path below the tree; empty for the tree itself.
    pub(crate) fn path(&self) -> Vec<u8> {
        let mut path = Vec::new();
        self.row().key.path_into(&mut path);
        path
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.facts.kind == FileType::Directory
    }

    /// Number of directories above it in the tree.
    pub(crate) fn depth(&self) -> u64 {
        let slashes = self.parent.iter().filter(|byte| **byte == b'/').count() as u64;
        slashes + u64::from(!self.parent.is_empty()) + u64::from(!self.name.is_empty())
    }

    /// Appends to `key`.
    fn order_key(&self, origin: Origin, key: &mut Vec<u8>) {
        let is_directory = self.is_directory();
        let rank = match is_directory {
            // What is in a directory comes before it: then tar makes nothing in one that has its times and mode.
            true => u64::MAX - self.depth(),
            false => self.facts.inode.unwrap_or(0),
        };
        key.push(u8::from(is_directory));
        key.extend_from_slice(&rank.to_be_bytes());
        for part in [&self.parent, &self.name] {
            key.extend_from_slice(part);
            key.push(0);
        }
        key.push(origin as u8);
    }

    /// Appends to `key`.
    fn path_key(&self, key: &mut Vec<u8>) {
        for part in [&self.parent[..], b"\0", &self.name] {
            key.extend_from_slice(part);
        }
    }

    /// Appends to `item`.
    fn item(&self, item: &mut Vec<u8>) {
        let Self { facts, stored, error, .. } = self;
        let start = item.len();
        item.extend_from_slice(&[facts.kind as u8, 0, 0]);
        let mut mask = 0;
        for (bit, number) in facts.numbers().into_iter().enumerate() {
            if let Some(number) = number {
                mask |= 1 << bit;
                item.extend_from_slice(&number.to_le_bytes());
            }
        }
        if let Some(ContentHash::Sha256(hash)) = &facts.hash {
            mask |= HASHED;
            item.extend_from_slice(hash);
        }
        if let Some(Stored { shard, header_offset, data_offset, data_length, attributes_hash }) = stored {
            mask |= STORED;
            item.extend_from_slice(&shard.to_le_bytes());
            for number in [header_offset, data_offset, data_length, attributes_hash] {
                item.extend_from_slice(&number.to_le_bytes());
            }
        }
        item[start + 1..start + 3].copy_from_slice(&u16::to_le_bytes(mask));
        item.extend_from_slice(error.as_deref().unwrap_or_default().as_bytes());
    }

    /// From an order key; `None` if the bytes are no key and item.
    pub(crate) fn from_order(key: &[u8], item: &[u8]) -> Option<Self> {
        Self::from_path(key.get(9..)?, item)
    }

    /// From a path key; `None` if the bytes are no key and item.
    pub(crate) fn from_path(key: &[u8], item: &[u8]) -> Option<Self> {
        let mut parts = key.split(|byte| *byte == 0);
        let (parent, name) = (parts.next()?.to_vec(), parts.next()?.to_vec());
        let (&[kind, low, high], mut rest) = item.split_first_chunk()?;
        let mask = u16::from_le_bytes([low, high]);
        let mut numbers = [None; NUMBERS];
        for (bit, number) in numbers.iter_mut().enumerate() {
            if mask & 1 << bit != 0 {
                *number = Some(i64::from_le_bytes(take(&mut rest)?));
            }
        }
        let mut facts = Facts::from_numbers(*FileType::ALL.get(usize::from(kind))?, &numbers);
        if mask & HASHED != 0 {
            facts.hash = Some(ContentHash::Sha256(take(&mut rest)?));
        }
        let stored = match mask & STORED {
            0 => None,
            _ => Some(Stored {
                shard: u32::from_le_bytes(take(&mut rest)?),
                header_offset: u64::from_le_bytes(take(&mut rest)?),
                data_offset: u64::from_le_bytes(take(&mut rest)?),
                data_length: u64::from_le_bytes(take(&mut rest)?),
                attributes_hash: u64::from_le_bytes(take(&mut rest)?),
            }),
        };
        let error = if rest.is_empty() { None } else { Some(std::str::from_utf8(rest).ok()?.to_owned()) };
        Some(Self { parent, name, facts, stored, error })
    }
}

/// Key and item of an entry, for a sort or a journal. This runs for each entry, so the memory is used again.
#[derive(Default)]
pub(crate) struct Bytes {
    key: Vec<u8>,
    item: Vec<u8>,
}

impl Bytes {
    /// In the order of inodes.
    pub(crate) fn in_order(&mut self, entry: &Entry, origin: Origin) -> (&[u8], &[u8]) {
        self.begin(b"", entry);
        entry.order_key(origin, &mut self.key);
        (&self.key, &self.item)
    }

    /// In the order of paths, among those with the same `prefix`.
    pub(crate) fn by_path(&mut self, prefix: &[u8], entry: &Entry) -> (&[u8], &[u8]) {
        self.begin(prefix, entry);
        entry.path_key(&mut self.key);
        (&self.key, &self.item)
    }

    fn begin(&mut self, prefix: &[u8], entry: &Entry) {
        self.key.clear();
        self.key.extend_from_slice(prefix);
        self.item.clear();
        entry.item(&mut self.item);
    }
}

/// The contents cannot have changed between two examinations with the same of these, except within a tick of the file system's clock.
pub(crate) fn is_unchanged(earlier: &Facts, later: &Facts) -> bool {
    let of = |facts: &Facts| {
        let Facts { kind, size_bytes, modified_ns, changed_ns, inode, mode, user, group, .. } = *facts;
        // Sizes of directories are no contents.
        let size_bytes = size_bytes.filter(|_| kind != FileType::Directory);
        (kind, size_bytes, modified_ns, changed_ns, inode, (mode, user, group))
    };
    of(earlier) == of(later)
}

/// Error of a sorter whose bytes are no entry.
pub(crate) fn not_an_entry(operation: &'static str, index: &Path) -> Error {
    let reason = "a temporary file was changed by another program";
    Error::new(operation, index, ErrorKind::Malformed, reason)
}

fn take<const BYTES: usize>(rest: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use megadir::FileType;
    use megadir_inventory::{ContentHash, Facts, Stored};

    use super::{Entry, Origin};

    fn entry(parent: &str, name: &str, facts: Facts) -> Entry {
        Entry { parent: parent.into(), name: name.into(), facts, stored: None, error: None }
    }

    #[test]
    fn entries_come_back_from_both_keys() {
        let numbers = std::array::from_fn(|index| (index != 3).then_some(index as i64 * 77 - 5));
        let facts = Facts { mode: Some(0o7777), ..Facts::from_numbers(FileType::File, &numbers) };
        let stored = Stored {
            shard: 3,
            header_offset: 1 << 40,
            data_offset: 512,
            data_length: u64::MAX,
            attributes_hash: 7,
        };
        let plain = entry("a/b", "c\n\u{e9}", facts);
        let hashed = Facts { hash: Some(ContentHash::Sha256([9; 32])), ..facts };
        let full = Entry {
            stored: Some(stored),
            error: Some("open: no".to_owned()),
            facts: hashed,
            ..plain.clone()
        };
        let root = entry("", "", Facts { kind: FileType::Directory, ..Facts::NOTHING });
        for entry in [plain, full, root] {
            let [mut order, mut path, mut item] = [b"before"; 3].map(|before| before.to_vec());
            entry.item(&mut item);
            entry.order_key(Origin::Tree, &mut order);
            entry.path_key(&mut path);
            let [order, path, item] = [&order, &path, &item].map(|bytes| &bytes[b"before".len()..]);
            assert_eq!(Entry::from_order(order, item), Some(entry.clone()));
            assert_eq!(Entry::from_path(path, item), Some(entry.clone()));
            assert_eq!(Entry::from_path(path, &item[..2]), None);
        }
    }

    #[test]
    fn files_ascend_by_inode_before_directories_by_depth() {
        let file = |inode| Facts { kind: FileType::File, inode: Some(inode), ..Facts::NOTHING };
        let directory = Facts { kind: FileType::Directory, inode: Some(1), ..Facts::NOTHING };
        let ascending = [
            (entry("z", "z", file(2)), Origin::Tree),
            (entry("a", "a", file(300)), Origin::Shard),
            (entry("a", "a", file(300)), Origin::Tree),
            (entry("a", "b", file(300)), Origin::Shard),
            (entry("a", "b", directory), Origin::Tree),
            (entry("", "a", directory), Origin::Tree),
            (entry("", "z", directory), Origin::Tree),
            (entry("", "", directory), Origin::Tree),
        ];
        let keys = ascending.map(|(entry, origin)| {
            let mut key = Vec::new();
            entry.order_key(origin, &mut key);
            key
        });
        assert!(keys.is_sorted_by(|a, b| a < b));
    }
}
