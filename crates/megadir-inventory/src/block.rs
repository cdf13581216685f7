//! Blocks: the entries of one directory, 64 bytes and a name each, sorted by name.
//!
//! What few rows have (a device other than the directory's, an inode number of 128 bits, an error, a hash) lies
//! beside them, so that a row is one line of the processor's cache and comparing two is comparing two of those.

use megadir::{Error, ErrorKind, FileType, Result};

use crate::row::{Facts, Key, Row};
use crate::rows::Rows;

/// The most that the names of one directory may take, bytes: their places are 32 bits wide.
const NAMES_BYTES_MAX: usize = u32::MAX as usize;

/// Which of the values of a [`Packed`] row count.
mod bit {
    pub(super) const SIZE: u16 = 1;
    pub(super) const MODIFIED: u16 = 1 << 1;
    pub(super) const CHANGED: u16 = 1 << 2;
    pub(super) const BORN: u16 = 1 << 3;
    pub(super) const INODE: u16 = 1 << 4;
    pub(super) const MODE: u16 = 1 << 5;
    pub(super) const USER: u16 = 1 << 6;
    pub(super) const GROUP: u16 = 1 << 7;
    pub(super) const LINKS: u16 = 1 << 8;
    /// The device is the block's.
    pub(super) const DEVICE: u16 = 1 << 9;
    /// Something of the row lies in `Block::odd`.
    pub(super) const ODD: u16 = 1 << 10;
}

/// A row in 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    size_bytes: u64,
    modified_ns: i64,
    changed_ns: i64,
    born_ns: i64,
    inode: u64,
    name_start: u32,
    links: u32,
    user: u32,
    group: u32,
    /// The permission bits, and above them the type.
    mode_and_kind: u16,
    have: u16,
    name_bytes: u16,
}

/// What few rows have.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Odd {
    Device(u64),
    InodeHigh(u64),
    Links(u64),
    Errno(i32),
    Error(Box<str>),
    Hash([u8; 32]),
}

/// The entries of a directory, sorted by name.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The index of the tree's root.
    pub(crate) root: u32,
    /// The directory's path relative to the root.
    pub(crate) path: Box<[u8]>,
    /// When the scan began that these rows are from, nanoseconds since 1970-01-01 UTC.
    pub(crate) examined_ns: i64,
    /// The row of the root itself, in the block of its entries.
    pub(crate) root_row: Option<Box<(Facts, Option<Box<str>>)>>,
    device: Option<u64>,
    rows: Box<[Packed]>,
    names: Box<[u8]>,
    odd: Box<[(u32, Odd)]>,
}

impl Block {
    /// Returns a block without entries.
    pub(crate) fn empty(root: u32, path: &[u8], examined_ns: i64) -> Self {
        BlockBuilder::new(root, path, examined_ns).build()
    }

    /// Returns the number of entries; the root itself is not one.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the place of the directory in the order of an inventory.
    pub(crate) fn key(&self) -> (u32, &[u8]) {
        (self.root, &self.path)
    }

    /// Returns the name of an entry.
    #[inline]
    pub(crate) fn name(&self, index: usize) -> &[u8] {
        let row = &self.rows[index];
        let start = row.name_start as usize;
        &self.names[start..start + usize::from(row.name_bytes)]
    }

    /// Returns the type of an entry.
    pub(crate) fn kind(&self, index: usize) -> FileType {
        FileType::ALL[usize::from(self.rows[index].mode_and_kind >> 12)]
    }

    /// Returns the index of the first entry whose name is not less.
    pub(crate) fn lower_bound(&self, name: &[u8]) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.name(middle) < name { from = middle + 1 } else { to = middle }
        }
        from
    }

    /// Returns the index of an entry.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        let at = self.lower_bound(name);
        (at < self.len() && self.name(at) == name).then_some(at)
    }

    /// Returns what is known of an entry.
    pub(crate) fn facts(&self, index: usize) -> Facts {
        let row = &self.rows[index];
        let has = |bit: u16| row.have & bit != 0;
        let mut facts = Facts {
            kind: self.kind(index),
            size_bytes: has(bit::SIZE).then_some(row.size_bytes),
            modified_ns: has(bit::MODIFIED).then_some(row.modified_ns),
            changed_ns: has(bit::CHANGED).then_some(row.changed_ns),
            born_ns: has(bit::BORN).then_some(row.born_ns),
            inode: has(bit::INODE).then_some(row.inode),
            inode_high: None,
            device: if has(bit::DEVICE) { self.device } else { None },
            mode: has(bit::MODE).then_some(row.mode_and_kind & 0xfff),
            user: has(bit::USER).then_some(row.user),
            group: has(bit::GROUP).then_some(row.group),
            links: has(bit::LINKS).then_some(row.links.into()),
            errno: None,
            ..Facts::NOTHING
        };
        for odd in self.odd_of(index) {
            match odd {
                Odd::Device(device) => facts.device = Some(*device),
                Odd::InodeHigh(high) => facts.inode_high = Some(*high),
                Odd::Links(links) => facts.links = Some(*links),
                Odd::Errno(errno) => facts.errno = Some(*errno),
                Odd::Hash(hash) => facts.sha256 = Some(*hash),
                Odd::Error(_) => {}
            }
        }
        facts
    }

    /// Returns what could not be done with an entry.
    pub(crate) fn error(&self, index: usize) -> Option<&str> {
        self.odd_of(index).find_map(|odd| match odd {
            Odd::Error(error) => Some(&**error),
            _ => None,
        })
    }

    /// Returns the hash of an entry's contents.
    pub(crate) fn hash(&self, index: usize) -> Option<[u8; 32]> {
        self.odd_of(index).find_map(|odd| if let Odd::Hash(hash) = odd { Some(*hash) } else { None })
    }

    /// Tells whether an entry with these facts would have the same row: everything that is known, and no more.
    #[inline]
    pub(crate) fn is_same(&self, index: usize, facts: &Facts) -> bool {
        let row = &self.rows[index];
        if row.have & bit::ODD != 0 {
            return Facts { sha256: None, ..self.facts(index) } == Facts { sha256: None, ..*facts };
        }
        let (packed, _) = pack(facts, self.device, row.name_start, row.name_bytes);
        *row == packed
    }

    /// Returns an entry as a row.
    pub(crate) fn row(&self, index: usize) -> Row<'_> {
        let key = Key { root: self.root, parent: &self.path, name: self.name(index) };
        Row { key, facts: self.facts(index), error: self.error(index) }
    }

    /// Returns the newest time of change, or of modification where that is not known.
    pub(crate) fn newest_ns(&self) -> Option<i64> {
        let time = |row: &Packed| match row.have {
            have if have & bit::CHANGED != 0 => Some(row.changed_ns),
            have if have & bit::MODIFIED != 0 => Some(row.modified_ns),
            _ => None,
        };
        self.rows.iter().filter_map(time).max()
    }

    /// Returns the memory that the block takes, bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let errors =
            self.odd.iter().map(|(_, odd)| if let Odd::Error(error) = odd { error.len() } else { 0 });
        size_of_val(&*self.path)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.names)
            + size_of_val(&*self.odd)
            + errors.sum::<usize>()
    }

    fn odd_of(&self, index: usize) -> impl Iterator<Item = &Odd> {
        let index = if self.rows[index].have & bit::ODD == 0 { u32::MAX } else { index as u32 };
        let from = self.odd.partition_point(|odd| odd.0 < index);
        self.odd[from..].iter().take_while(move |odd| odd.0 == index).map(|odd| &odd.1)
    }
}

/// Returns facts in 64 bytes, and whether something was left out.
#[inline]
fn pack(facts: &Facts, device: Option<u64>, name_start: u32, name_bytes: u16) -> (Packed, bool) {
    let mut have = 0;
    let mut had = |is: bool, bit: u16| have |= if is { bit } else { 0 };
    had(facts.size_bytes.is_some(), bit::SIZE);
    had(facts.modified_ns.is_some(), bit::MODIFIED);
    had(facts.changed_ns.is_some(), bit::CHANGED);
    had(facts.born_ns.is_some(), bit::BORN);
    had(facts.inode.is_some(), bit::INODE);
    had(facts.mode.is_some(), bit::MODE);
    had(facts.user.is_some(), bit::USER);
    had(facts.group.is_some(), bit::GROUP);
    let links = facts.links.and_then(|links| u32::try_from(links).ok());
    had(links.is_some(), bit::LINKS);
    had(facts.device.is_some() && facts.device == device, bit::DEVICE);
    let odd = (facts.device.is_some() && facts.device != device)
        || facts.inode_high.is_some()
        || facts.links.is_some() && links.is_none()
        || facts.errno.is_some()
        || facts.sha256.is_some();
    had(odd, bit::ODD);
    let kind = FileType::ALL.iter().position(|kind| *kind == facts.kind).unwrap_or(0) as u16;
    let packed = Packed {
        size_bytes: facts.size_bytes.unwrap_or(0),
        modified_ns: facts.modified_ns.unwrap_or(0),
        changed_ns: facts.changed_ns.unwrap_or(0),
        born_ns: facts.born_ns.unwrap_or(0),
        inode: facts.inode.unwrap_or(0),
        name_start,
        links: links.unwrap_or(0),
        user: facts.user.unwrap_or(0),
        group: facts.group.unwrap_or(0),
        mode_and_kind: facts.mode.unwrap_or(0) & 0xfff | kind << 12,
        have,
        name_bytes,
    };
    (packed, odd)
}

/// Puts a block together; entries come in the order of their names.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    root: u32,
    path: Box<[u8]>,
    examined_ns: i64,
    root_row: Option<Box<(Facts, Option<Box<str>>)>>,
    device: Option<u64>,
    rows: Vec<Packed>,
    names: Vec<u8>,
    odd: Vec<(u32, Odd)>,
}

impl BlockBuilder {
    pub(crate) fn new(root: u32, path: &[u8], examined_ns: i64) -> Self {
        Self {
            root,
            path: path.into(),
            examined_ns,
            root_row: None,
            device: None,
            rows: Vec::new(),
            names: Vec::new(),
            odd: Vec::new(),
        }
    }

    /// Notes the row of the root itself.
    pub(crate) fn set_root_row(&mut self, facts: Facts, error: Option<&str>) {
        self.root_row = Some(Box::new((facts, error.map(Into::into))));
    }

    /// Makes room for so many entries, whose names have so many bytes, and no more.
    pub(crate) fn reserve(&mut self, rows: usize, name_bytes: usize) {
        self.rows.reserve_exact(rows);
        self.names.reserve_exact(name_bytes);
    }

    /// Tells whether it is of this directory.
    fn is_of(&self, root: u32, path: &[u8]) -> bool {
        self.root == root && *self.path == *path
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the names of the directory take more than 4 GiB.
    pub(crate) fn add(&mut self, name: &[u8], facts: &Facts, error: Option<&str>) -> Result<()> {
        let index = self.rows.len() as u32;
        let name_bytes = u16::try_from(name.len()).ok().filter(|_| {
            self.names.len() + name.len() <= NAMES_BYTES_MAX && self.rows.len() < u32::MAX as usize - 1
        });
        let Some(name_bytes) = name_bytes else {
            let path = megadir::names::to_os(&self.path)?;
            let reason = "the names of this directory take more than 4 GiB, which is more than is compared";
            return Err(Error::new("compare", std::path::Path::new(&path), ErrorKind::Unavailable, reason));
        };
        if self.rows.is_empty() {
            self.device = facts.device;
        }
        let (mut packed, mut odd) = pack(facts, self.device, self.names.len() as u32, name_bytes);
        if error.is_some() {
            (odd, packed.have) = (true, packed.have | bit::ODD);
        }
        if odd {
            self.add_odd(index, facts, error);
        }
        self.names.extend_from_slice(name);
        self.rows.push(packed);
        Ok(())
    }

    fn add_odd(&mut self, index: u32, facts: &Facts, error: Option<&str>) {
        let device = facts.device.filter(|_| facts.device != self.device).map(Odd::Device);
        let links = facts.links.filter(|links| u32::try_from(*links).is_err()).map(Odd::Links);
        let odd = [
            device,
            facts.inode_high.map(Odd::InodeHigh),
            links,
            facts.errno.map(Odd::Errno),
            error.map(|error| Odd::Error(error.into())),
            facts.sha256.map(Odd::Hash),
        ];
        self.odd.extend(odd.into_iter().flatten().map(|odd| (index, odd)));
    }

    /// Puts parts of one directory together, in their order.
    ///
    /// # Errors
    ///
    /// As [`BlockBuilder::add`].
    pub(crate) fn join(parts: impl Iterator<Item = Self>) -> Result<Option<Self>> {
        let mut parts = parts;
        let Some(mut joined) = parts.next() else { return Ok(None) };
        for part in parts {
            let part = part.build();
            for index in 0..part.len() {
                joined.add(part.name(index), &part.facts(index), part.error(index))?;
            }
        }
        Ok(Some(joined))
    }

    pub(crate) fn build(self) -> Block {
        Block {
            root: self.root,
            path: self.path,
            examined_ns: self.examined_ns,
            root_row: self.root_row,
            device: self.device,
            rows: self.rows.into(),
            names: self.names.into(),
            odd: self.odd.into(),
        }
    }
}

/// Reads rows as blocks.
pub(crate) struct Blocks<R> {
    rows: R,
    building: Option<BlockBuilder>,
    examined_ns: i64,
}

impl<R: Rows> Blocks<R> {
    pub(crate) fn new(rows: R) -> Self {
        let examined_ns = rows.metadata().started_ns;
        Self { rows, building: None, examined_ns }
    }

    /// Returns the root and path of the directory from which on blocks are still to come; `None` after the last.
    pub(crate) fn position(&self) -> Option<(u32, Box<[u8]>)> {
        self.building.as_ref().map(|block| (block.root, block.path.clone()))
    }

    /// Returns the next directory that has rows, in the order of the inventory.
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>> {
        if let Some(inventory) = self.rows.as_inventory() {
            while let Some((root, path)) = inventory.next_directory()? {
                if self.building.as_ref().is_none_or(|block| !block.is_of(root, path))
                    && let Some(done) = self.building.replace(BlockBuilder::new(root, path, self.examined_ns))
                {
                    return Ok(Some(done.build()));
                }
                if let Some(building) = &mut self.building {
                    inventory.take_directory(building)?;
                }
            }
            return Ok(self.building.take().map(BlockBuilder::build));
        }
        while let Some(row) = self.rows.next_row()? {
            let Key { root, parent, name } = row.key;
            let mut done = None;
            if self.building.as_ref().is_none_or(|block| !block.is_of(root, parent)) {
                done = self.building.replace(BlockBuilder::new(root, parent, self.examined_ns));
            }
            if let Some(building) = &mut self.building {
                match name.is_empty() {
                    true => building.set_root_row(row.facts, row.error),
                    false => building.add(name, &row.facts, row.error)?,
                }
            }
            if let Some(done) = done {
                return Ok(Some(done.build()));
            }
        }
        Ok(self.building.take().map(BlockBuilder::build))
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, BlockBuilder, Packed};
    use crate::row::Facts;
    use megadir::FileType;

    fn facts(inode: u64) -> Facts {
        Facts {
            kind: FileType::File,
            size_bytes: Some(7),
            modified_ns: Some(-3),
            changed_ns: Some(5),
            born_ns: None,
            inode: Some(inode),
            device: Some(66),
            mode: Some(0o4755),
            user: Some(u32::MAX),
            group: Some(0),
            links: Some(1),
            ..Facts::NOTHING
        }
    }

    fn block(rows: &[(&[u8], Facts, Option<&str>)]) -> Block {
        let mut builder = BlockBuilder::new(1, b"some/where", 9);
        for (name, facts, error) in rows {
            builder.add(name, facts, *error).unwrap();
        }
        builder.build()
    }

    #[test]
    fn a_row_takes_64_bytes_and_gives_back_what_went_in() {
        assert_eq!(size_of::<Packed>(), 64);
        let odd = Facts {
            device: Some(67),
            inode_high: Some(1),
            links: Some(1 << 40),
            errno: Some(13),
            sha256: Some([3; 32]),
            ..facts(2)
        };
        let rows = [
            (&b"a"[..], facts(1), None),
            (b"b", odd, Some("open: Permission denied")),
            (b"c", Facts::NOTHING, None),
            (b"d", Facts { device: None, kind: FileType::Whiteout, ..facts(3) }, None),
            (&[b'x'; 255], facts(u64::MAX), Some("an error alone")),
        ];
        let block = block(&rows);
        assert_eq!(block.len(), rows.len());
        for (index, (name, facts, error)) in rows.iter().enumerate() {
            assert_eq!((block.name(index), block.facts(index), block.error(index)), (*name, *facts, *error));
            assert!(block.is_same(index, facts), "{index}");
            assert_eq!(block.find(name), Some(index));
            let row = block.row(index);
            assert_eq!((row.key.root, row.key.parent, row.key.name), (1, &b"some/where"[..], *name));
        }
        assert_eq!((block.find(b"bb"), block.find(b""), block.find(b"z")), (None, None, None));
        assert_eq!(block.lower_bound(b"bb"), 2);
    }

    #[test]
    fn rows_that_differ_in_anything_are_not_the_same() {
        let of = facts(1);
        let block = block(&[(b"a", of, None), (b"b", Facts { errno: Some(1), ..of }, None)]);
        let others = [
            Facts { kind: FileType::Fifo, ..of },
            Facts { size_bytes: Some(8), ..of },
            Facts { size_bytes: None, ..of },
            Facts { modified_ns: Some(-4), ..of },
            Facts { changed_ns: Some(6), ..of },
            Facts { born_ns: Some(0), ..of },
            Facts { inode: Some(2), ..of },
            Facts { inode_high: Some(0), ..of },
            Facts { device: Some(67), ..of },
            Facts { mode: Some(0o755), ..of },
            Facts { user: Some(0), ..of },
            Facts { group: Some(1), ..of },
            Facts { links: Some(2), ..of },
            Facts { errno: Some(2), ..of },
        ];
        for other in others {
            assert!(!block.is_same(0, &other) && !block.is_same(1, &other), "{other:?}");
        }
        // A hash is of contents, which the file system does not tell.
        assert!(block.is_same(1, &Facts { errno: Some(1), ..of }));
    }
}
