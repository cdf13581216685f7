//! Sources and destinations of rows.

use std::sync::Arc;

use megadir::{Conditions, Result};

use crate::block::{Block, BlockBuilder};
use crate::metadata::Metadata;
use crate::packed::PackedRows;
use crate::path::{Place, TreePath, common_bytes};
use crate::row::{Facts, Key, OwnedRow, Row};

/// Source of rows in ascending order of their keys.
pub trait Rows {
    /// Describes the whole inventory.
    fn metadata(&self) -> &Metadata;

    /// Returns the next row, or `None` after the last. Fails with
    /// [`ErrorKind::Malformed`](megadir::ErrorKind::Malformed) if the inventory is damaged or its rows do not
    /// ascend. The source ends after an error.
    fn next_row(&mut self) -> Result<Option<Row<'_>>>;

    /// Adds rows of one directory to `building`; `false` after the last row.
    #[doc(hidden)]
    fn build(&mut self, building: &mut Building) -> Result<bool> {
        let Some(row) = self.next_row()? else { return Ok(false) };
        building.add(&row)?;
        Ok(true)
    }
}

/// Destination of rows in ascending order of their keys.
pub trait Sink {
    /// Adds a row. Must not be called after an error.
    fn add(&mut self, row: &Row<'_>) -> Result<()>;

    /// Adds rows of one directory at once.
    fn add_packed(&mut self, rows: &PackedRows<'_>) -> Result<()> {
        rows.iter().try_for_each(|row| self.add(&row))
    }
}

impl Sink for Vec<OwnedRow> {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        self.push(OwnedRow::from(*row));
        Ok(())
    }
}

/// Gives every row to both sinks.
impl<A: Sink, B: Sink> Sink for (A, B) {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        self.0.add(row)?;
        self.1.add(row)
    }

    fn add_packed(&mut self, rows: &PackedRows<'_>) -> Result<()> {
        self.0.add_packed(rows)?;
        self.1.add_packed(rows)
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        (**self).add(row)
    }

    fn add_packed(&mut self, rows: &PackedRows<'_>) -> Result<()> {
        (**self).add_packed(rows)
    }
}

/// Rows of the entries that conditions let see, and the roots.
///
/// `place` is the state of the conditions in the directory of `current`, computed once for each directory.
/// `hidden` is `true` if a directory on the way to it is hidden: all of its rows are skipped then, as a walk
/// would not have entered it.
#[derive(Debug)]
pub struct SeenRows<R> {
    rows: R,
    conditions: Arc<Conditions>,
    current: OwnedRow,
    place: megadir::Place,
    hidden: bool,
}

impl<R: Rows> SeenRows<R> {
    /// Passes on the rows that the conditions let see.
    pub fn new(rows: R, conditions: Arc<Conditions>) -> Self {
        let (parent, name) = (Vec::new(), Vec::new());
        let current = OwnedRow { root: 0, parent, name, facts: Facts::NOTHING, error: None };
        Self { rows, conditions, current, place: megadir::Place::TOP, hidden: false }
    }
}

impl<R: Rows> Rows for SeenRows<R> {
    fn metadata(&self) -> &Metadata {
        self.rows.metadata()
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        let Self { rows, conditions, current, place, hidden } = self;
        loop {
            let Some(row) = rows.next_row()? else { return Ok(None) };
            if (row.key.root, row.key.parent) != (current.root, &current.parent[..]) {
                *hidden = is_hidden(conditions, row.key.parent);
                *place = conditions.place(&TreePath::from(row.key.parent));
            }
            let is_seen = row.key.is_root() || !*hidden && conditions.sees(place, row.key.name);
            *current = OwnedRow::from(row);
            if is_seen {
                return Ok(Some(current.row()));
            }
        }
    }
}

fn is_hidden(conditions: &Conditions, path: &[u8]) -> bool {
    let mut place = megadir::Place::TOP;
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).any(|name| {
        let hidden = !conditions.sees(&place, name);
        place = conditions.place_below(&place, name);
        hidden
    })
}

#[derive(Debug, Default)]
pub struct Building {
    block: Option<BlockBuilder>,
    done: Option<Block>,
    examined_ns: i64,
}

impl Building {
    pub(crate) fn add(&mut self, row: &Row<'_>) -> Result<()> {
        let Key { root, parent, name } = row.key;
        let block = self.enter(root, parent);
        match name.is_empty() {
            true => {
                block.set_root_row(row.facts, row.error);
                Ok(())
            }
            false => block.add(name, &row.facts, row.error),
        }
    }

    pub(crate) fn take(&mut self) -> Option<Block> {
        self.done.take()
    }

    pub(crate) fn end(self) -> Option<Block> {
        self.block.map(BlockBuilder::build)
    }

    pub(crate) fn enter(&mut self, root: u32, path: &[u8]) -> &mut BlockBuilder {
        let next = match &self.block {
            Some(block) if block.is_of(root, path) => None,
            Some(block) => Some(TreePath::sharing(path, block.path())),
            None => Some(path.into()),
        };
        if let Some(path) = next {
            let before = self.block.replace(BlockBuilder::new(root, path, self.examined_ns));
            self.done = before.map(BlockBuilder::build);
        }
        let Some(block) = &mut self.block else { unreachable!("a block was begun above") };
        block
    }
}

pub(crate) struct Blocks<R> {
    rows: R,
    building: Building,
}

impl<R: Rows> Blocks<R> {
    pub(crate) fn new(rows: R) -> Self {
        let examined_ns = rows.metadata().started_ns;
        Self { rows, building: Building { block: None, done: None, examined_ns } }
    }

    pub(crate) fn position(&self) -> Option<Place> {
        self.building.block.as_ref().map(BlockBuilder::place)
    }

    pub(crate) fn next_block(&mut self) -> Result<Option<Block>> {
        while self.rows.build(&mut self.building)? {
            if let Some(done) = self.building.take() {
                return Ok(Some(done));
            }
        }
        Ok(self.building.block.take().map(BlockBuilder::build))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ascending {
    last: Option<(u32, Vec<u8>, Vec<u8>)>,
}

impl Ascending {
    pub(crate) fn admits_packed(&mut self, rows: &PackedRows<'_>) -> bool {
        let Some((first, last)) = rows.ends() else { return true };
        let admits = self.admits(&Key { root: rows.root, parent: rows.parent, name: first });
        if admits {
            self.go_on(&Key { root: rows.root, parent: rows.parent, name: last });
        }
        admits
    }

    pub(crate) fn go_on(&mut self, key: &Key<'_>) {
        debug_assert!(self.last.as_ref().is_some_and(|last| (last.0, &last.1[..]) == (key.root, key.parent)));
        if let Some((_, _, name)) = &mut self.last {
            name.clear();
            name.extend_from_slice(key.name);
        }
    }

    /// Keeps the last key in buffers of its own, since the row's source overwrites it. Paths of neighbouring
    /// directories share most of their bytes, so only what differs is compared and copied.
    #[inline]
    pub(crate) fn admits(&mut self, key: &Key<'_>) -> bool {
        let Some((root, parent, name)) = &mut self.last else {
            self.last = Some((key.root, key.parent.to_vec(), key.name.to_vec()));
            return true;
        };
        let same_directory = *root == key.root && parent == key.parent;
        if !same_directory {
            let same = common_bytes(parent, key.parent);
            if (*root, &parent[same..]) > (key.root, &key.parent[same..]) {
                return false;
            }
            *root = key.root;
            // A copy for each directory takes time quadratic in the depth.
            parent.truncate(same);
            parent.extend_from_slice(&key.parent[same..]);
        } else if &name[..] >= key.name {
            return false;
        }
        name.clear();
        name.extend_from_slice(key.name);
        true
    }
}
