//! Passes rows to the sorter: an item has rows of one directory in order, or one row of a large directory.
//!
//! ```text
//! key: root (4, big-endian), path of the directory, 0, kind of item, name of the (first) entry
//! rows: count with flags (4), length of the last name (2), hash if flagged (32, another bit for BLAKE3), packed rows
//! ```
//!
//! Paths hold no NUL, so keys sort like rows; a directory's errors precede its rows.

use std::io;
use std::sync::{Mutex, PoisonError};

use super::deep::Cursor;
use super::shared::{ItemKey, Shared};
use crate::packed::columns::{self, Alike};
use crate::packed::{Numbers, PackedRows, pack};
use crate::path::{TreePath, common_bytes};
use crate::row::{ContentHash, Facts};
use crate::sorter::leading;

pub(super) const ERROR: u8 = 0;
pub(super) const ROWS: u8 = 1;

const HEAD_BYTES: usize = 6;
const HASH_BYTES: usize = 32;
const FAILED: u32 = 1 << 31;
const COLUMNS: u32 = 1 << 30;
const HASHED: u32 = 1 << 29;
const BLAKE3: u32 = 1 << 28;
const COLUMN_ROWS_MIN: usize = 8;

/// Buffers of one thread. An item is put together without the lock, which is taken only to hand it over.
pub(crate) struct Collector<'o> {
    shared: &'o Mutex<Shared>,
    cursor: Cursor,
    key: ItemKey,
    item: Vec<u8>,
}

/// Rows of one directory while they are listed, in the order of the listing. `places` are the ranges of their
/// names in `names` and are what is sorted, so that rows do not move. `alike` notes which numbers are equal
/// in all rows so far: such columns take one value however many rows there are. `failed` counts rows with an
/// errno.
#[derive(Default)]
pub(crate) struct DirRows {
    rows: Vec<Numbers>,
    names: Vec<u8>,
    places: Vec<Place>,
    alike: Alike,
    pub(crate) failed: u64,
}

/// `leading` are the first bytes of the name, which decide most comparisons. 24 bytes are sorted, and neither
/// names nor rows move.
struct Place {
    leading: u64,
    row: u32,
    name: u32,
    name_end: u32,
}

impl<'o> Collector<'o> {
    pub(crate) fn new(shared: &'o Mutex<Shared>) -> Self {
        Self { shared, cursor: Cursor::default(), key: ItemKey::default(), item: Vec::new() }
    }

    /// Items of one directory must not overlap.
    pub(crate) fn rows(&mut self, root: u32, path: &TreePath, of: &mut DirRows) -> io::Result<()> {
        let DirRows { rows, names, places, alike, failed } = of;
        let name = |place: &Place| &names[place.name as usize..place.name_end as usize];
        places.sort_unstable_by(|a, b| a.leading.cmp(&b.leading).then_with(|| name(a).cmp(name(b))));
        places.dedup_by(|a, b| name(a) == name(b));
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return Ok(()) };
        self.key.enter(root, path, ROWS);
        self.key.set_name(name(first));
        let in_columns = places.len() >= COLUMN_ROWS_MIN && alike.is_whole();
        let flags = if in_columns { COLUMNS } else { 0 } | failed_flag(*failed > 0);
        self.item.clear();
        self.item.extend_from_slice(&head(places.len(), flags, name(last).len()));
        let rows = places.iter().map(|place| &rows[place.row as usize]);
        if in_columns {
            columns::pack(&mut self.item, alike, &rows, &places.iter().map(name));
        } else {
            rows.zip(places.iter().map(name)).for_each(|(row, name)| pack(&mut self.item, row, name));
        }
        self.add()?;
        of.clear();
        Ok(())
    }

    pub(super) fn one_by_one(&mut self, root: u32, path: &TreePath, of: &mut DirRows) -> io::Result<()> {
        self.key.enter(root, path, ROWS);
        for place in &of.places {
            let name = &of.names[place.name as usize..place.name_end as usize];
            self.add_row(name, &of.rows[place.row as usize], failed_flag(of.failed > 0), None)?;
        }
        of.clear();
        Ok(())
    }

    pub(crate) fn row(&mut self, root: u32, path: &TreePath, name: &[u8], facts: &Facts) -> io::Result<()> {
        self.key.enter(root, path, ROWS);
        let (flags, hash) = match &facts.hash {
            Some(ContentHash::Sha256(hash)) => (HASHED, Some(hash)),
            Some(ContentHash::Blake3(hash)) => (HASHED | BLAKE3, Some(hash)),
            None => (0, None),
        };
        self.add_row(name, &Numbers::new(facts), flags | failed_flag(facts.errno.is_some()), hash)
    }

    fn add_row(
        &mut self,
        name: &[u8],
        row: &Numbers,
        flags: u32,
        hash: Option<&[u8; HASH_BYTES]>,
    ) -> io::Result<()> {
        self.key.set_name(name);
        self.item.clear();
        self.item.extend_from_slice(&head(1, flags, name.len()));
        self.item.extend(hash.into_iter().flatten());
        pack(&mut self.item, row, name);
        self.add()
    }

    /// The entry's row may have any facts or be missing.
    pub(crate) fn error(&mut self, root: u32, path: &TreePath, name: &[u8], error: &str) -> io::Result<()> {
        self.key.enter(root, path, ERROR);
        self.key.set_name(name);
        self.item.clear();
        self.item.extend_from_slice(error.as_bytes());
        self.add()
    }

    fn add(&mut self) -> io::Result<()> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.add(&mut self.cursor, &self.key, &self.item)
    }
}

impl DirRows {
    #[inline]
    pub(crate) fn add(&mut self, row: &Numbers, name: &[u8]) {
        self.alike.add(row);
        let start = self.names.len();
        self.names.extend_from_slice(name);
        let (name_at, name_end, index) = (start as u32, self.names.len() as u32, self.rows.len() as u32);
        self.rows.push(*row);
        self.places.push(Place { leading: leading(name), row: index, name: name_at, name_end });
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.len() * size_of::<Numbers>() + self.names.len()
    }

    pub(super) fn capacity_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Numbers>() + self.names.capacity()
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.names.clear();
        self.places.clear();
        self.alike.clear();
    }
}

fn failed_flag(some_failed: bool) -> u32 {
    if some_failed { FAILED } else { 0 }
}

fn head(rows: usize, flags: u32, last_name_bytes: usize) -> [u8; HEAD_BYTES] {
    // Items have far fewer rows, and names less than 64 KiB.
    let [a, b, c, d] = (rows as u32 | flags).to_ne_bytes();
    let [e, f] = (last_name_bytes as u16).to_ne_bytes();
    [a, b, c, d, e, f]
}

pub(super) struct Item<'a> {
    pub(super) rows: PackedRows<'a>,
    pub(super) some_failed: bool,
    pub(super) hash: Option<ContentHash>,
}

impl<'a> Item<'a> {
    pub(super) fn of(root: u32, parent: &'a [u8], item: &'a [u8]) -> Option<Self> {
        let (&[a, b, c, d, e, f], mut bytes) = item.split_first_chunk::<HEAD_BYTES>()?;
        let head = u32::from_ne_bytes([a, b, c, d]);
        let (rows, in_columns) = (head & !(FAILED | COLUMNS | HASHED | BLAKE3), head & COLUMNS != 0);
        let mut hash = None;
        if head & HASHED != 0 {
            let (first, rest) = bytes.split_first_chunk::<HASH_BYTES>()?;
            let of = if head & BLAKE3 == 0 { ContentHash::Sha256 } else { ContentHash::Blake3 };
            (hash, bytes) = (Some(of(*first)), rest);
        }
        let last_name_bytes = u16::from_ne_bytes([e, f]);
        let rows = PackedRows { root, parent, bytes, rows, in_columns, last_name_bytes };
        Some(Self { rows, some_failed: head & FAILED != 0, hash })
    }
}

/// `last` is the path of the previous key, often the same.
pub(super) fn key_parts<'k>(key: &'k [u8], last: &[u8]) -> Option<(u32, &'k [u8], u8, &'k [u8])> {
    let (root, rest) = key.split_first_chunk()?;
    let is_last = rest.get(last.len()) == Some(&0) && rest.starts_with(last);
    let end = match is_last {
        true => last.len(),
        false => {
            let same = common_bytes(rest, last);
            same + rest[same..].iter().position(|&byte| byte == 0)?
        }
    };
    let (parent, rest) = rest.split_at(end);
    let (&kind, name) = rest.get(1..)?.split_first()?;
    Some((u32::from_be_bytes(*root), parent, kind, name))
}

#[cfg(test)]
mod tests {
    use super::key_parts;
    use crate::scan::shared::ItemKey;

    #[test]
    fn keys_order_as_rows_do_and_come_apart() {
        let mut keys = Vec::new();
        let rows: [(u32, &[u8], u8, &[u8]); 8] = [
            (0, b"", 0, b"z"),
            (0, b"", 1, b""),
            (0, b"", 1, b"\x01"),
            (0, b"a", 1, b"z"),
            (0, b"a-b", 1, b"x"),
            (0, b"a/b", 0, b"x"),
            (0, b"a/b", 1, b"x"),
            (256, b"", 1, b""),
        ];
        for (root, parent, kind, name) in rows {
            let mut key = ItemKey::default();
            key.enter(root, &parent.into(), kind);
            key.set_name(name);
            for last in [&b""[..], b"a", parent] {
                assert_eq!(key_parts(key.bytes(), last), Some((root, parent, kind, name)));
            }
            keys.push(key.bytes().to_vec());
        }
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(key_parts(b"\0\0\0\0no end", b""), None);
    }
}
