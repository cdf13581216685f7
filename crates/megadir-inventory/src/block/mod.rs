//! Entries of one directory, sorted by name. A row fits a cache line: rare values are stored apart.

mod builder;
mod packed;

use std::cmp::Ordering;

use megadir::{Attributes, FileType, StatMask};

use self::builder::UNKNOWN_NS;
pub(crate) use self::builder::{BlockBuilder, PlainRows, Whole};
use self::packed::{Odd, Packed, bit, mode_and_kind, pack};
use crate::path::{Place, TreePath};
use crate::row::{ContentHash, Facts, Key, Row, nanoseconds};

/// The unit of a comparison: one lookup finds a directory, and then each name is found by a binary search
/// over rows of 64 bytes. Names lie one after the other, and each row has its place among them.
///
/// ```text
/// rows:   [ 64 bytes ][ 64 bytes ][ 64 bytes ] ...   sorted by name; bits show which values are present
/// names:  alpha|beta|gamma ...                       name_start, name_bytes
/// odd:    (1, Links) (1, Hash) ...                   values that a row has no room for, by row
/// ```
///
/// `examined_ns` is when the rows were read, which decides whether equal times prove anything. `device` is
/// that of the first row, and nearly always of all. `root_row` is the row of the tree's root, which has no
/// name in any directory.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) root: u32,
    pub(crate) path: TreePath,
    pub(crate) examined_ns: i64,
    pub(crate) root_row: Option<Box<(Facts, Option<Box<str>>)>>,
    device: Option<u64>,
    rows: Box<[Packed]>,
    /// Empty if no row has one ([`UNKNOWN_NS`]). A comparison does not read them.
    accessed_ns: Box<[i64]>,
    names: Box<[u8]>,
    odd: Box<[(u32, Odd)]>,
}

impl Block {
    pub(crate) fn empty(root: u32, path: TreePath, examined_ns: i64) -> Self {
        let (rows, accessed_ns, names, odd) = Default::default();
        Self { root, path, examined_ns, root_row: None, device: None, rows, accessed_ns, names, odd }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn place(&self) -> Place {
        (self.root, self.path.clone())
    }

    pub(crate) fn cmp_place(&self, root: u32, path: &[u8]) -> Ordering {
        self.root.cmp(&root).then_with(|| self.path.cmp_bytes(path))
    }

    #[inline]
    pub(crate) fn name(&self, index: usize) -> &[u8] {
        let row = &self.rows[index];
        let start = row.name_start as usize;
        &self.names[start..start + usize::from(row.name_bytes)]
    }

    pub(crate) fn kind(&self, index: usize) -> FileType {
        FileType::ALL[usize::from(self.rows[index].mode_and_kind >> 12)]
    }

    pub(crate) fn lower_bound(&self, name: &[u8]) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.name(middle) < name { from = middle + 1 } else { to = middle }
        }
        from
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        let at = self.lower_bound(name);
        (at < self.len() && self.name(at) == name).then_some(at)
    }

    /// The reverse of [`pack`]. It is the slow way, for rows that differ or are written: a comparison of
    /// equal rows looks at the packed form only (`is_same`). Values in `odd` replace the row's.
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
            device: if has(bit::DEVICE) { self.device } else { None },
            mode: has(bit::MODE).then_some(row.mode_and_kind & 0xfff),
            user: has(bit::USER).then_some(row.user),
            group: has(bit::GROUP).then_some(row.group),
            links: has(bit::LINKS).then_some(row.links.into()),
            allocated_bytes: row.allocated_bytes(),
            accessed_ns: self.accessed_ns.get(index).copied().filter(|ns| *ns != UNKNOWN_NS),
            ..Facts::NOTHING
        };
        for odd in self.odd_of(index) {
            match odd {
                Odd::Device(device) => facts.device = Some(*device),
                Odd::InodeHigh(high) => facts.inode_high = Some(*high),
                Odd::Links(links) => facts.links = Some(*links),
                Odd::Errno(errno) => facts.errno = Some(*errno),
                Odd::Allocated(bytes) => facts.allocated_bytes = Some(*bytes),
                Odd::Hash(hash) => facts.hash = Some(*hash),
                Odd::Error(_) => {}
            }
        }
        facts
    }

    pub(crate) fn error(&self, index: usize) -> Option<&str> {
        self.odd_of(index).find_map(|odd| match odd {
            Odd::Error(error) => Some(&**error),
            _ => None,
        })
    }

    pub(crate) fn hash(&self, index: usize) -> Option<ContentHash> {
        self.odd_of(index).find_map(|odd| if let Odd::Hash(hash) = odd { Some(*hash) } else { None })
    }

    /// Ignores space on disk, access time and hash.
    #[inline]
    pub(crate) fn is_same(&self, index: usize, facts: &Facts) -> bool {
        let row = &self.rows[index];
        if row.have & bit::ODD != 0 {
            let compared =
                |facts: Facts| Facts { hash: None, allocated_bytes: None, accessed_ns: None, ..facts };
            return compared(self.facts(index)) == compared(*facts);
        }
        let facts = Facts { allocated_bytes: None, ..*facts };
        let (packed, _) = pack(&facts, self.device, row.name_start, row.name_bytes);
        Packed { have: row.have & !bit::ALLOCATED, more_units: 0, ..*row } == packed
    }

    /// Has all values except perhaps a birth time, and no rare ones.
    #[inline]
    pub(crate) fn is_plain_file(&self, index: usize) -> bool {
        self.kind(index) != FileType::Directory
            && self.rows[index].have & !bit::ALLOCATED | bit::BORN == bit::ALL
    }

    /// Builds no facts, since nearly every entry ends here.
    #[inline]
    pub(crate) fn is_but_for_birth(
        &self,
        index: usize,
        attributes: &Attributes,
        device: Option<u64>,
    ) -> bool {
        let row = &self.rows[index];
        attributes.have == Facts::WANT.without(StatMask::BORN)
            && attributes.error == 0
            && row.size_bytes == attributes.size_bytes
            && row.modified_ns == nanoseconds(attributes.modified)
            && row.changed_ns == nanoseconds(attributes.changed)
            && row.inode == attributes.inode
            && u64::from(row.links) == attributes.links
            && row.user == attributes.user
            && row.group == attributes.group
            && row.mode_and_kind == mode_and_kind(attributes.mode, attributes.kind)
            && self.device == device
    }

    #[inline]
    pub(crate) fn changed_ns(&self, index: usize) -> Option<i64> {
        self.rows[index].time_ns()
    }

    pub(crate) fn row<'a>(&'a self, index: usize, parent: &'a [u8]) -> Row<'a> {
        debug_assert!(self.path == *parent);
        let key = Key { root: self.root, parent, name: self.name(index) };
        Row { key, facts: self.facts(index), error: self.error(index) }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let errors =
            self.odd.iter().map(|(_, odd)| if let Odd::Error(error) = odd { error.len() } else { 0 });
        self.path.own_bytes()
            + size_of_val(&*self.rows)
            + size_of_val(&*self.accessed_ns)
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

#[cfg(test)]
mod tests {
    use super::{Block, BlockBuilder, Packed};
    use crate::row::{ContentHash, Facts};
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
        let mut builder = BlockBuilder::new(1, b"some/where".into(), 9);
        for (name, facts, error) in rows {
            builder.add(name, facts, *error).unwrap();
        }
        builder.build()
    }

    #[test]
    fn a_row_takes_64_bytes_and_round_trips() {
        assert_eq!(size_of::<Packed>(), 64);
        let odd = Facts {
            device: Some(67),
            inode_high: Some(1),
            links: Some(1 << 40),
            errno: Some(13),
            allocated_bytes: Some(u64::MAX),
            hash: Some(ContentHash::Sha256([3; 32])),
            ..facts(2)
        };
        let rows = [
            (&b"a"[..], facts(1), None),
            (b"b", odd, Some("open: Permission denied")),
            (b"c", Facts::NOTHING, None),
            (b"ca", Facts { allocated_bytes: Some(0), ..facts(4) }, None),
            (b"cb", Facts { allocated_bytes: Some(4096), ..facts(5) }, None),
            (b"cc", Facts { allocated_bytes: Some(7), ..facts(6) }, None),
            (b"cd", Facts { size_bytes: Some(1 << 40), allocated_bytes: Some(512), ..facts(7) }, None),
            (b"ce", Facts { size_bytes: Some(u64::MAX), allocated_bytes: Some(0), ..facts(8) }, None),
            (b"d", Facts { device: None, kind: FileType::Whiteout, ..facts(3) }, None),
            (b"e", Facts { accessed_ns: Some(-8), ..facts(9) }, None),
            (
                b"f",
                Facts { accessed_ns: Some(i64::MAX), hash: Some(ContentHash::Blake3([4; 32])), ..facts(10) },
                None,
            ),
            (&[b'x'; 255], facts(u64::MAX), Some("an error alone")),
        ];
        let block = block(&rows);
        assert_eq!(block.len(), rows.len());
        for (index, (name, facts, error)) in rows.iter().enumerate() {
            assert_eq!((block.name(index), block.facts(index), block.error(index)), (*name, *facts, *error));
            assert!(block.is_same(index, facts), "{index}");
            assert_eq!(block.find(name), Some(index));
            let row = block.row(index, b"some/where");
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
        let sparse = Facts { allocated_bytes: Some(4096), ..of };
        assert!(block.is_same(0, &sparse), "the space on disk may change by itself");
        assert!(block.is_same(0, &Facts { accessed_ns: Some(1), ..of }), "reading is no change");
        assert!(block.is_same(1, &Facts { accessed_ns: Some(1), errno: Some(1), ..of }));
        // A hash is no attribute.
        assert!(block.is_same(1, &Facts { errno: Some(1), ..of }));
    }
}
