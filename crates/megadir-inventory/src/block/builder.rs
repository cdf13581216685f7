//! Builds blocks.

use megadir::{Error, ErrorKind, FileType, Result};

use super::Block;
use super::packed::{Odd, Packed, bit, fits, mode_and_kind, pack};
use crate::path::{Place, TreePath};
use crate::row::{Facts, NUMBERS};

const NAMES_BYTES_MAX: usize = u32::MAX as usize;

/// No [`nanoseconds`](crate::nanoseconds) have this value.
pub(super) const UNKNOWN_NS: i64 = i64::MIN;

pub(crate) enum Whole<'a> {
    Nothing,
    Same(i64),
    Each(&'a [i64]),
}

/// Rows of one directory as the columns of a row group have them, borrowed and not yet copied. `kind` is an
/// index into `kinds`, the dictionary of the row group; `numbers` are in the order of the columns. Values
/// that not every row has are not representable here: such rows go to a block one by one.
pub(crate) struct PlainRows<'a> {
    pub(crate) names: &'a [u8],
    /// The first name begins at `names_start`.
    pub(crate) ends: &'a [usize],
    pub(crate) names_start: usize,
    pub(crate) kind: Whole<'a>,
    pub(crate) kinds: &'a [FileType],
    pub(crate) numbers: [Whole<'a>; NUMBERS],
}

impl Whole<'_> {
    #[inline]
    fn get(&self, index: usize) -> i64 {
        match self {
            Self::Nothing => 0,
            Self::Same(number) => *number,
            Self::Each(numbers) => numbers[index],
        }
    }

    pub(crate) fn first_negative(&self) -> Option<usize> {
        match self {
            Self::Nothing => None,
            Self::Same(number) => (*number < 0).then_some(0),
            Self::Each(numbers) => numbers.iter().position(|number| *number < 0),
        }
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    fn same(&self) -> Option<Option<i64>> {
        match self {
            Self::Nothing => Some(None),
            Self::Same(number) => Some(Some(*number)),
            Self::Each(numbers) => {
                let (first, rest) = numbers.split_first()?;
                rest.iter().all(|number| number == first).then_some(Some(*first))
            }
        }
    }
}

impl PlainRows<'_> {
    pub(crate) fn ascend(&self) -> bool {
        self.each_name().is_sorted_by(|(_, before), (_, after)| before < after)
    }

    pub(crate) fn each_name(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut start = self.names_start;
        self.ends.iter().enumerate().map(move |(index, &end)| {
            let name = &self.names[start - self.names_start..end - self.names_start];
            start = end;
            (index, name)
        })
    }

    pub(crate) fn kind_of(&self, index: usize) -> FileType {
        self.kinds.get(self.kind.get(index) as usize).copied().unwrap_or(FileType::Unknown)
    }
}

/// Vectors grow here and become exact slices in [`Block`]; a snapshot holds a block for each directory
/// of a tree. `odd` ascends by row, because rows are only appended. The device of the first row becomes that
/// of the block.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    block: Block,
    rows: Vec<Packed>,
    accessed_ns: Vec<i64>,
    names: Vec<u8>,
    odd: Vec<(u32, Odd)>,
}

impl BlockBuilder {
    pub(crate) fn new(root: u32, path: TreePath, examined_ns: i64) -> Self {
        let (rows, accessed_ns, names, odd) = Default::default();
        Self { block: Block::empty(root, path, examined_ns), rows, accessed_ns, names, odd }
    }

    pub(crate) fn set_root_row(&mut self, facts: Facts, error: Option<&str>) {
        self.block.root_row = Some(Box::new((facts, error.map(Into::into))));
    }

    pub(crate) fn reserve(&mut self, rows: usize, name_bytes: usize) {
        self.rows.reserve_exact(rows);
        self.names.reserve_exact(name_bytes);
    }

    pub(crate) fn path(&self) -> &TreePath {
        &self.block.path
    }

    pub(crate) fn place(&self) -> Place {
        self.block.place()
    }

    pub(crate) fn is_of(&self, root: u32, path: &[u8]) -> bool {
        self.block.root == root && self.block.path == *path
    }

    /// Fails with [`ErrorKind::Unavailable`] if the names take more than 4 GiB.
    pub(crate) fn add(&mut self, name: &[u8], facts: &Facts, error: Option<&str>) -> Result<()> {
        let index = self.rows.len() as u32;
        let name_bytes = u16::try_from(name.len()).ok().filter(|_| {
            self.names.len() + name.len() <= NAMES_BYTES_MAX && self.rows.len() < u32::MAX as usize - 1
        });
        let Some(name_bytes) = name_bytes else {
            let path = self.block.path.to_vec();
            let path = megadir::names::to_os(&path)?;
            let reason = "the names of this directory take more than 4 GiB, which cannot be compared";
            return Err(Error::new("compare", std::path::Path::new(&path), ErrorKind::Unavailable, reason));
        };
        if self.rows.is_empty() {
            self.block.device = facts.device;
        }
        let (mut packed, mut odd) = pack(facts, self.block.device, self.names.len() as u32, name_bytes);
        if error.is_some() {
            (odd, packed.have) = (true, packed.have | bit::ODD);
        }
        if odd {
            self.add_odd(index, facts, error);
        }
        if let Some(accessed_ns) = facts.accessed_ns {
            self.accessed_ns.resize(self.rows.len(), UNKNOWN_NS);
            self.accessed_ns.push(accessed_ns);
        }
        self.names.extend_from_slice(name);
        self.rows.push(packed);
        Ok(())
    }

    /// `false`, with nothing added, if some rows need individual treatment.
    pub(crate) fn add_plain(&mut self, plain: &PlainRows<'_>) -> bool {
        // This is the fast way for the usual directory: all columns are whole, and the rows differ from the
        // columns only in their layout, so no row is built as [`Facts`] in between. Everything that needs an
        // entry in `odd` is refused: a device that differs, a second half of an inode number, an errno, more
        // links than 32 bits, space on disk that does not fit. The rows added so far are then taken back, and
        // the caller adds all rows of the directory one by one.
        let PlainRows { names, ends, names_start, kind, numbers, .. } = plain;
        let [size, modified, changed, born, inode, high, device, rest @ ..] = numbers;
        let [mode, user, group, links, errno, allocated, accessed] = rest;
        let Some(device) = device.same().map(|same| same.map(|device| device as u64)) else { return false };
        let is_room = self.names.len() + names.len() <= NAMES_BYTES_MAX
            && self.rows.len() + ends.len() < u32::MAX as usize
            && !ends.is_empty();
        let is_plain = high.is_nothing() && errno.is_nothing() && !kind.is_nothing();
        if !is_room || !is_plain || !self.rows.is_empty() && self.block.device != device {
            return false;
        }
        let of_bits = [
            (size, bit::SIZE),
            (modified, bit::MODIFIED),
            (changed, bit::CHANGED),
            (born, bit::BORN),
            (inode, bit::INODE),
            (mode, bit::MODE),
            (user, bit::USER),
            (group, bit::GROUP),
            (links, bit::LINKS),
        ];
        let present = of_bits.iter().filter(|(numbers, _)| !numbers.is_nothing());
        let have = present.fold(device.map_or(0, |_| bit::DEVICE), |have, (_, bit)| have | bit);
        let (rows_before, names_before) = (self.rows.len(), self.names.len());
        let mut last = *names_start;
        for (index, &end) in ends.iter().enumerate() {
            let (Ok(name_bytes), Ok(links)) = (u16::try_from(end - last), u32::try_from(links.get(index)))
            else {
                self.rows.truncate(rows_before);
                return false;
            };
            let mut row = Packed {
                size_bytes: size.get(index) as u64,
                modified_ns: modified.get(index),
                changed_ns: changed.get(index),
                born_ns: born.get(index),
                inode: inode.get(index) as u64,
                name_start: (names_before + last - names_start) as u32,
                links,
                user: user.get(index) as u32,
                group: group.get(index) as u32,
                mode_and_kind: mode_and_kind(mode.get(index) as u16, plain.kind_of(index)),
                have,
                name_bytes,
                more_units: 0,
            };
            if !row.set_allocated((!allocated.is_nothing()).then(|| allocated.get(index) as u64)) {
                self.rows.truncate(rows_before);
                return false;
            }
            self.rows.push(row);
            last = end;
        }
        if !accessed.is_nothing() {
            self.extend_accessed((0..ends.len()).map(|index| accessed.get(index)));
        }
        self.block.device = device;
        self.names.extend_from_slice(names);
        true
    }

    fn extend_accessed(&mut self, of_last: impl ExactSizeIterator<Item = i64>) {
        self.accessed_ns.reserve_exact(self.rows.len() - self.accessed_ns.len());
        self.accessed_ns.resize(self.rows.len() - of_last.len(), UNKNOWN_NS);
        self.accessed_ns.extend(of_last);
    }

    /// Called only if something of the row does not fit. The tests repeat the tests of [`pack`], since that
    /// returns only that there is something. Values are in the order of the list, all of one row together.
    fn add_odd(&mut self, index: u32, facts: &Facts, error: Option<&str>) {
        let device = facts.device.filter(|_| facts.device != self.block.device).map(Odd::Device);
        let links = facts.links.filter(|links| u32::try_from(*links).is_err()).map(Odd::Links);
        let allocated = facts.allocated_bytes.filter(|bytes| !fits(*bytes, facts.size_bytes));
        let odd = [
            device,
            facts.inode_high.map(Odd::InodeHigh),
            links,
            facts.errno.map(Odd::Errno),
            allocated.map(Odd::Allocated),
            error.map(|error| Odd::Error(error.into())),
            facts.hash.map(Odd::Hash),
        ];
        self.odd.extend(odd.into_iter().flatten().map(|odd| (index, odd)));
    }

    pub(crate) fn build(mut self) -> Block {
        if !self.accessed_ns.is_empty() {
            self.accessed_ns.resize(self.rows.len(), UNKNOWN_NS);
        }
        let Self { block, rows, accessed_ns, names, odd } = self;
        let (rows, accessed_ns, names, odd) = (rows.into(), accessed_ns.into(), names.into(), odd.into());
        Block { rows, accessed_ns, names, odd, ..block }
    }
}
