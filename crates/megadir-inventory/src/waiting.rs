//! Rows that wait in memory, in key order.

use crate::row::{Facts, Key, Row};

/// Rows in key order: names and errors one after the other in `bytes`, and a path once for all of its entries.
#[derive(Debug, Default)]
pub(crate) struct WaitingRows {
    bytes: Vec<u8>,
    parents: Vec<(u32, Vec<u8>)>,
    parent_bytes: usize,
    rows: Vec<Waiting>,
}

/// One row: `parent` is an index in `parents`, and the other numbers are places in `bytes`, where the name and then the error are, so that a row
/// takes no allocation of its own.
#[derive(Debug)]
struct Waiting {
    parent: usize,
    name_begin: usize,
    name_end: usize,
    /// End of the error, if there is one.
    error_end: Option<usize>,
    facts: Facts,
}

impl WaitingRows {
    pub(crate) fn push(&mut self, row: &Row<'_>) {
        let Key { root, parent, name } = row.key;
        let is_same = self.parents.last().is_some_and(|last| (last.0, &last.1[..]) == (root, parent));
        if !is_same {
            self.parents.push((root, parent.to_vec()));
            self.parent_bytes += parent.len();
        }
        let name_begin = self.bytes.len();
        self.bytes.extend_from_slice(name);
        let name_end = self.bytes.len();
        self.bytes.extend_from_slice(row.error.unwrap_or_default().as_bytes());
        let error_end = row.error.map(|_| self.bytes.len());
        let parent = self.parents.len() - 1;
        self.rows.push(Waiting { parent, name_begin, name_end, error_end, facts: row.facts });
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// `true` from a number of rows or of bytes of names and paths on.
    pub(crate) fn is_full(&self, rows: usize, bytes: usize) -> bool {
        self.rows.len() >= rows || self.bytes.len() + self.parent_bytes >= bytes
    }

    pub(crate) fn row(&self, index: usize) -> Row<'_> {
        let Waiting { parent, name_begin, name_end, error_end, facts } = &self.rows[index];
        let (root, parent) = &self.parents[*parent];
        let key = Key { root: *root, parent, name: &self.bytes[*name_begin..*name_end] };
        let error = error_end.map(|end| &self.bytes[*name_end..end]);
        let error = error.map(|error| std::str::from_utf8(error).unwrap_or("unknown error"));
        Row { key, facts: *facts, error }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parents.clear();
        self.parent_bytes = 0;
        self.rows.clear();
    }
}
