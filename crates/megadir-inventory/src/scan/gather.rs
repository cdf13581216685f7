//! Collects the rows of a walk for the sorter. A finished directory is sorted by name and is one item of the
//! [`Sorter`]; rows of large directories go there one by one, which bounds the memory.
//!
//! ```text
//! key: root (4, big-endian), path of the directory, 0, kind of item, name of the (first) entry
//! rows: count with flags for failures and columns (4), length of the last name (2), packed rows
//! ```
//!
//! No path holds a NUL, so keys sort like rows; a directory's errors precede its rows.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use megadir::{Attributes, Batch, Conditions, DirPath, Entry, FileType, Want};

use super::Excluded;
use super::deep::Cursor;
use super::rowless::Rowless;
use super::shared::{ItemKey, Shared};
use crate::common::common_bytes;
use crate::packed::columns::{self, Alike};
use crate::packed::{Numbers, PackedRows, pack};
use crate::path::{TreePath, split_bytes};
use crate::row::Facts;
use crate::volumes::Devices;

pub(super) const ERROR: u8 = 0;
pub(super) const ROWS: u8 = 1;

/// Larger directories go to the sorter row by row.
const BLOCK_BYTES_MAX: usize = 4 << 20;
const HEAD_BYTES: usize = 6;
/// Some could not be examined.
const FAILED: u32 = 1 << 31;
/// Stored as columns.
const COLUMNS: u32 = 1 << 30;
/// Fewer rows are smaller one by one.
const COLUMN_ROWS_MIN: usize = 8;

pub(super) struct Gather<'o> {
    shared: &'o Mutex<Shared>,
    rowless: &'o Rowless,
    cursor: Cursor,
    /// Newest ctime in the tree.
    pub(super) newest_ns: Option<i64>,
    pub(super) devices: Devices,
    root: u32,
    /// Root in the walk.
    prefix: Vec<u8>,
    exclude: &'o [Excluded],
    pub(super) conditions: Option<&'o Conditions>,
    /// By path relative to the root; few at a time.
    blocks: BTreeMap<TreePath, Block>,
    spare: Vec<Block>,
    /// Total of all blocks.
    held_bytes: usize,
    held_bytes_max: usize,
    key: ItemKey,
    item: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Block {
    rows: Vec<Numbers>,
    names: Vec<u8>,
    places: Vec<Place>,
    alike: Alike,
    /// Row by row.
    large: bool,
    /// Entries not examined, and name and errno of the first.
    pub(super) failed: u64,
    pub(super) first_failed: Option<(Vec<u8>, i32)>,
}

/// Row and position of its name.
struct Place {
    /// Decides most comparisons.
    leading: u64,
    row: u32,
    name: u32,
    name_end: u32,
}

/// Rows below a directory need its row. An entry that could not be examined has one if its name meets the
/// conditions.
fn has_row(
    conditions: &Conditions,
    place: &megadir::Place,
    entry: &Entry<'_>,
    attributes: &Attributes,
) -> bool {
    let is_directory = attributes.kind == FileType::Directory || entry.kind == FileType::Directory;
    match (is_directory, attributes.error) {
        (true, _) => conditions.sees(place, entry.name),
        (false, 0) => conditions.accepts(place, entry.name, entry.kind, attributes),
        (false, _) => conditions.accepts_name(place, entry.name) && conditions.accepts_type(entry.kind),
    }
}

impl<'o> Gather<'o> {
    /// Holds up to `held_bytes_max` for the tree at `path`.
    pub(super) fn new(
        (shared, rowless): (&'o Mutex<Shared>, &'o Rowless),
        held_bytes_max: usize,
        exclude: &'o [Excluded],
        (root, path): (u32, &Path),
        device: Option<u64>,
    ) -> Self {
        Self {
            shared,
            rowless,
            cursor: Cursor::default(),
            newest_ns: None,
            devices: Devices::new(device),
            root,
            prefix: megadir::names::from_os(path.as_os_str()).to_vec(),
            exclude,
            conditions: None,
            blocks: BTreeMap::new(),
            spare: Vec::new(),
            held_bytes: 0,
            held_bytes_max,
            key: ItemKey::default(),
            item: Vec::new(),
        }
    }

    pub(super) fn root(&mut self, facts: &Facts) -> io::Result<()> {
        let mut item = head(1, facts.errno.is_some(), 0).to_vec();
        pack(&mut item, &Numbers::new(facts), b"");
        self.key.enter(self.root, &TreePath::root(), ROWS);
        self.add(&item)
    }

    /// Returns their number.
    pub(super) fn batch(
        &mut self,
        directory: &DirPath,
        batch: Batch<'_>,
        attributes: &[Attributes],
    ) -> io::Result<u64> {
        let path = directory.below();
        if self.rowless.has(path) {
            return Ok(0);
        }
        let mut block = match self.blocks.remove(path) {
            Some(block) => block,
            None => self.spare.pop().unwrap_or_default(),
        };
        let (before, mut added) = (block.bytes(), 0);
        let place = self.conditions.map_or(megadir::Place::TOP, |conditions| conditions.place(path));
        for (entry, attributes) in batch.entries().zip(attributes) {
            // Removed since the listing.
            if attributes.has_vanished() {
                if entry.kind == FileType::Directory {
                    self.rowless.add(path, entry.name);
                }
                continue;
            }
            if self.conditions.is_some_and(|conditions| !has_row(conditions, &place, &entry, attributes)) {
                continue;
            }
            // Build facts only for a matching name.
            let is_excluded = |excluded: &Excluded| {
                excluded.name == entry.name && excluded.is(entry.name, &Facts::new(entry.kind, attributes))
            };
            if self.exclude.iter().any(is_excluded) {
                continue;
            }
            if attributes.error != 0 {
                block.failed += 1;
                block.first_failed.get_or_insert_with(|| (entry.name.to_vec(), attributes.error));
            }
            if attributes.kind == FileType::Directory && attributes.have.contains(Want::DEVICE) {
                self.devices.note(directory, entry.name, attributes);
            }
            let row = Numbers::told(entry.kind, attributes);
            if entry.kind == FileType::Directory && row.kind != FileType::Directory as u8 {
                self.rowless.add(path, entry.name);
            }
            self.newest_ns = self.newest_ns.max(row.newest_ns());
            block.add(&row, entry.name);
            added += 1;
        }
        self.held_bytes += block.bytes() - before;
        if block.large || block.bytes() > BLOCK_BYTES_MAX || self.held_bytes > self.held_bytes_max {
            block.large = true;
            self.one_by_one(path, &mut block)?;
        }
        self.blocks.insert(path.clone(), block);
        Ok(added)
    }

    pub(super) fn end(&mut self, directory: &DirPath) -> io::Result<Option<Block>> {
        let path = directory.below();
        let Some(mut block) = self.blocks.remove(path) else { return Ok(None) };
        self.put(path, &mut block)?;
        Ok(self.recycle(block))
    }

    pub(super) fn error(&mut self, path: &Path, error: &str) -> io::Result<()> {
        let path = megadir::names::from_os(path.as_os_str());
        let relative = relative(path, &self.prefix).into_owned();
        let (parent, name) = split_bytes(&relative);
        self.key.enter(self.root, &parent.into(), ERROR);
        self.key.set_name(name);
        self.add(error.as_bytes())
    }

    pub(super) fn end_all(&mut self) -> io::Result<()> {
        for (path, mut block) in std::mem::take(&mut self.blocks) {
            self.put(&path, &mut block)?;
            self.recycle(block);
        }
        Ok(())
    }

    /// Under the current key.
    fn add(&mut self, item: &[u8]) -> io::Result<()> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.add(&mut self.cursor, &self.key, item)
    }

    fn put(&mut self, path: &TreePath, block: &mut Block) -> io::Result<()> {
        if block.large {
            return self.one_by_one(path, block);
        }
        let held_bytes = block.bytes();
        let Block { rows, names, places, alike, failed, .. } = &mut *block;
        let name = |place: &Place| &names[place.name as usize..place.name_end as usize];
        places.sort_unstable_by(|a, b| a.leading.cmp(&b.leading).then_with(|| name(a).cmp(name(b))));
        // A changing directory may list a name twice.
        places.dedup_by(|a, b| name(a) == name(b));
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return Ok(()) };
        self.key.enter(self.root, path, ROWS);
        self.key.set_name(name(first));
        let in_columns = places.len() >= COLUMN_ROWS_MIN && alike.is_whole();
        let count = places.len() | if in_columns { COLUMNS as usize } else { 0 };
        self.item.clear();
        self.item.extend_from_slice(&head(count, *failed > 0, name(last).len()));
        let rows = places.iter().map(|place| &rows[place.row as usize]);
        if in_columns {
            columns::pack(&mut self.item, alike, &rows, &places.iter().map(name));
        } else {
            rows.zip(places.iter().map(name)).for_each(|(row, name)| pack(&mut self.item, row, name));
        }
        let item = std::mem::take(&mut self.item);
        self.add(&item)?;
        self.item = item;
        self.held_bytes -= held_bytes;
        block.clear();
        Ok(())
    }

    /// As single items.
    fn one_by_one(&mut self, path: &TreePath, block: &mut Block) -> io::Result<()> {
        self.key.enter(self.root, path, ROWS);
        for place in &block.places {
            let name = &block.names[place.name as usize..place.name_end as usize];
            self.key.set_name(name);
            self.item.clear();
            self.item.extend_from_slice(&head(1, block.failed > 0, name.len()));
            pack(&mut self.item, &block.rows[place.row as usize], name);
            let item = std::mem::take(&mut self.item);
            self.add(&item)?;
            self.item = item;
        }
        self.held_bytes -= block.bytes();
        block.clear();
        Ok(())
    }

    /// Returned instead if it has failures.
    fn recycle(&mut self, mut block: Block) -> Option<Block> {
        if block.failed > 0 {
            return Some(block);
        }
        block.large = false;
        // Enough for all threads, except in the deepest trees.
        if self.spare.len() < 16 && block.capacity_bytes() <= BLOCK_BYTES_MAX / 8 {
            self.spare.push(block);
        }
        None
    }
}

impl Block {
    #[inline]
    fn add(&mut self, row: &Numbers, name: &[u8]) {
        self.alike.add(row);
        let start = self.names.len();
        self.names.extend_from_slice(name);
        // Blocks are far smaller than 4 GiB.
        let (name_at, name_end, index) = (start as u32, self.names.len() as u32, self.rows.len() as u32);
        self.rows.push(*row);
        self.places.push(Place { leading: leading(name), row: index, name: name_at, name_end });
    }

    fn bytes(&self) -> usize {
        self.rows.len() * size_of::<Numbers>() + self.names.len()
    }

    fn capacity_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<Numbers>() + self.names.capacity()
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.names.clear();
        self.places.clear();
        self.alike.clear();
    }
}

/// A number with the same order.
#[inline]
fn leading(name: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = name.len().min(8);
    first[..length].copy_from_slice(&name[..length]);
    u64::from_be_bytes(first)
}

/// `rows` may include [`COLUMNS`].
fn head(rows: usize, some_failed: bool, last_name_bytes: usize) -> [u8; HEAD_BYTES] {
    // Blocks have far fewer rows, and names less than 64 KiB.
    let [a, b, c, d] = (rows as u32 | if some_failed { FAILED } else { 0 }).to_ne_bytes();
    let [e, f] = (last_name_bytes as u16).to_ne_bytes();
    [a, b, c, d, e, f]
}

/// Also returns if some rows could not be examined.
pub(super) fn item_rows<'a>(root: u32, parent: &'a [u8], item: &'a [u8]) -> Option<(PackedRows<'a>, bool)> {
    let (&[a, b, c, d, e, f], bytes) = item.split_first_chunk::<HEAD_BYTES>()?;
    let head = u32::from_ne_bytes([a, b, c, d]);
    let (rows, in_columns) = (head & !(FAILED | COLUMNS), head & COLUMNS != 0);
    let last_name_bytes = u16::from_ne_bytes([e, f]);
    Some((PackedRows { root, parent, bytes, rows, in_columns, last_name_bytes }, head & FAILED != 0))
}

/// Root, directory, kind of item and name. `last` is the path of the previous key, often the same.
pub(super) fn key_parts<'k>(key: &'k [u8], last: &[u8]) -> Option<(u32, &'k [u8], u8, &'k [u8])> {
    let (root, rest) = key.split_first_chunk()?;
    let is_last = rest.get(last.len()) == Some(&0) && rest.starts_with(last);
    let end = match is_last {
        true => last.len(),
        // What both paths begin with holds no NUL.
        false => {
            let same = common_bytes(rest, last);
            same + rest[same..].iter().position(|&byte| byte == 0)?
        }
    };
    let (parent, rest) = rest.split_at(end);
    let (&kind, name) = rest.get(1..)?.split_first()?;
    Some((u32::from_be_bytes(*root), parent, kind, name))
}

/// With `/` between names.
fn relative<'p>(path: &'p [u8], prefix: &[u8]) -> std::borrow::Cow<'p, [u8]> {
    let rest = path.strip_prefix(prefix).unwrap_or(path);
    let separators: &[u8] = if cfg!(windows) { b"\\/" } else { b"/" };
    let start = rest.iter().position(|byte| !separators.contains(byte)).unwrap_or(rest.len());
    if cfg!(windows) && rest.contains(&b'\\') {
        let slash = |&byte: &u8| if byte == b'\\' { b'/' } else { byte };
        return rest[start..].iter().map(slash).collect::<Vec<_>>().into();
    }
    rest[start..].into()
}

#[cfg(test)]
mod tests {
    use super::{key_parts, relative};
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

    #[test]
    fn paths_are_relative_to_the_root_however_it_was_given() {
        for (path, prefix) in [("t/a/b", "t"), ("t/a/b", "t/"), ("/a/b", "/"), ("./a/b", ".")] {
            assert_eq!(&*relative(path.as_bytes(), prefix.as_bytes()), b"a/b", "{path}");
        }
        assert_eq!(&*relative(b"t", b"t"), b"");
    }
}
