//! Rows on their way to an encoder, packed, with what few of them have beside.

use std::ops::Range;

use crate::packed::{Numbers, PackedRows, pack};
use crate::row::{Key, Row};

/// Rows of a row group, in their order.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) directories: Vec<Directory>,
    /// The paths of the directories.
    pub(super) parents: Vec<u8>,
    /// The rows, packed.
    pub(super) bytes: Vec<u8>,
    pub(super) odd: Vec<Odd>,
    pub(super) rows: usize,
    /// Memory for what is encoded.
    pub(super) memory: Vec<u8>,
}

/// Rows of one directory that follow each other.
pub(super) struct Directory {
    pub(super) root: u32,
    pub(super) parent: Range<usize>,
    pub(super) rows: u32,
    /// Whether they are columns.
    pub(super) in_columns: bool,
}

/// What few rows have.
pub(super) struct Odd {
    pub(super) row: usize,
    pub(super) error: Option<String>,
    pub(super) hash: Option<[u8; 32]>,
}

impl Gathered {
    /// Adds a row.
    pub(super) fn add(&mut self, row: &Row<'_>) {
        self.directory(&row.key, 1, false);
        pack(&mut self.bytes, &Numbers::new(&row.facts), row.key.name);
        if row.error.is_some() || row.facts.sha256.is_some() {
            let (error, hash) = (row.error.map(str::to_owned), row.facts.sha256);
            self.odd.push(Odd { row: self.rows, error, hash });
        }
        self.rows += 1;
    }

    /// Adds rows of a directory.
    pub(super) fn add_packed(&mut self, rows: &PackedRows<'_>) {
        if rows.is_empty() {
            return;
        }
        let key = Key { root: rows.root, parent: rows.parent, name: b"" };
        self.directory(&key, rows.rows, rows.in_columns);
        self.bytes.extend_from_slice(rows.bytes);
        self.rows += rows.len();
    }

    /// Notes that so many rows of a directory follow.
    fn directory(&mut self, key: &Key<'_>, rows: u32, in_columns: bool) {
        if let Some(last) = self.directories.last_mut()
            && !last.in_columns
            && !in_columns
            && last.root == key.root
            && self.parents[last.parent.clone()] == *key.parent
        {
            last.rows += rows;
            return;
        }
        let start = self.parents.len();
        self.parents.extend_from_slice(key.parent);
        let parent = start..self.parents.len();
        self.directories.push(Directory { root: key.root, parent, rows, in_columns });
    }

    /// Removes all rows and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.directories.clear();
        self.parents.clear();
        self.bytes.clear();
        self.odd.clear();
        self.rows = 0;
    }
}
