//! Where rows come from and go to.

use megadir::Result;

use crate::file::Inventory;
use crate::metadata::Metadata;
use crate::packed::PackedRows;
use crate::row::{Key, OwnedRow, Row};

/// Rows in ascending order of their keys, one after another.
pub trait Rows {
    /// Returns what holds for all rows.
    fn metadata(&self) -> &Metadata;

    /// Returns the next row, or `None` after the last.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`](megadir::ErrorKind::Malformed) where the inventory is damaged or its rows do not ascend,
    /// or whatever reading gives. Nothing follows an error.
    fn next_row(&mut self) -> Result<Option<Row<'_>>>;

    /// Returns the file that the rows are read from, which gives those of a directory at once.
    #[doc(hidden)]
    fn as_inventory(&mut self) -> Option<&mut Inventory> {
        None
    }
}

/// Takes rows in ascending order of their keys.
pub trait Sink {
    /// Takes a row.
    ///
    /// # Errors
    ///
    /// Whatever writing gives; nothing may be added after it.
    fn add(&mut self, row: &Row<'_>) -> Result<()>;

    /// Takes rows of one directory at once, which some can do for less.
    ///
    /// # Errors
    ///
    /// As [`Sink::add`].
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

/// Two sinks that both get every row, the first one first.
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

/// Rows that lie in memory, sorted already.
#[derive(Clone, Debug)]
pub struct SliceRows<'a> {
    metadata: &'a Metadata,
    rows: std::slice::Iter<'a, OwnedRow>,
}

impl<'a> SliceRows<'a> {
    /// Gives rows in the order they lie in, which is to ascend.
    pub fn new(metadata: &'a Metadata, rows: &'a [OwnedRow]) -> Self {
        Self { metadata, rows: rows.iter() }
    }
}

impl Rows for SliceRows<'_> {
    fn metadata(&self) -> &Metadata {
        self.metadata
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        Ok(self.rows.next().map(OwnedRow::row))
    }
}

/// Tells whether keys ascend, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ascending {
    last: Option<(u32, Vec<u8>, Vec<u8>)>,
}

impl Ascending {
    /// Tells whether rows follow the last key, and makes their last one it. They are sorted among themselves.
    pub(crate) fn admits_packed(&mut self, rows: &PackedRows<'_>) -> bool {
        let Some((first, last)) = rows.ends() else { return true };
        let admits = self.admits(&Key { root: rows.root, parent: rows.parent, name: first });
        if admits {
            self.go_on(&Key { root: rows.root, parent: rows.parent, name: last });
        }
        admits
    }

    /// Makes a key of the same directory as the last one the last.
    pub(crate) fn go_on(&mut self, key: &Key<'_>) {
        debug_assert!(self.last.as_ref().is_some_and(|last| (last.0, &last.1[..]) == (key.root, key.parent)));
        if let Some((_, _, name)) = &mut self.last {
            name.clear();
            name.extend_from_slice(key.name);
        }
    }

    /// Tells whether a key follows the last one, and makes it the last.
    #[inline]
    pub(crate) fn admits(&mut self, key: &Key<'_>) -> bool {
        let Some((root, parent, name)) = &mut self.last else {
            self.last = Some((key.root, key.parent.to_vec(), key.name.to_vec()));
            return true;
        };
        let same_directory = *root == key.root && parent == key.parent;
        if !same_directory {
            if (*root, &parent[..]) > (key.root, key.parent) {
                return false;
            }
            *root = key.root;
            parent.clear();
            parent.extend_from_slice(key.parent);
        } else if &name[..] >= key.name {
            return false;
        }
        name.clear();
        name.extend_from_slice(key.name);
        true
    }
}
