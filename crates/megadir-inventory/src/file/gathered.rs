//! Packed rows on their way to an encoder; rare fields (errors, hashes) are stored separately.

use std::ops::Range;

use crate::packed::{Numbers, PackedRows, pack};
use crate::path::common_bytes as common;
use crate::row::{ContentHash, Key, Row, Stored};

/// A row group on its way from the thread that sorts to a thread that encodes: bytes with as few allocations
/// as possible, because millions of rows pass. Rows of one directory follow each other in `bytes`, in the
/// form that `directories` names. `directory_path_bytes` and `row_path_bytes` are lengths as they would be
/// written, and end the row group at their limits. `memory` is a buffer that the encoder returns for the next
/// group.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) directories: Vec<Directory>,
    /// Without the prefix shared with the previous path: whole paths would be quadratic in the depth.
    pub(super) paths: Vec<u8>,
    pub(super) last_path: Vec<u8>,
    /// Size of the directory paths if written once a directory.
    pub(super) directory_path_bytes: usize,
    pub(super) row_path_bytes: usize,
    pub(super) bytes: Vec<u8>,
    pub(super) odd: Vec<Odd>,
    /// With the number of the row.
    pub(super) stored: Vec<(usize, Stored)>,
    pub(super) rows: usize,
    pub(super) memory: Vec<u8>,
}

/// `rest` is the range of this directory's own part in [`Gathered::paths`]. With `in_columns` its rows are
/// columns in `bytes`, else packed rows one after the other. The same directory may occur several times in a
/// row if it has rows of both forms.
pub(super) struct Directory {
    pub(super) root: u32,
    /// Bytes shared with the previous directory's path.
    pub(super) common: usize,
    pub(super) rest: Range<usize>,
    pub(super) rows: u32,
    pub(super) in_columns: bool,
}

pub(super) struct Odd {
    pub(super) row: usize,
    pub(super) error: Option<String>,
    pub(super) hash: Option<ContentHash>,
}

impl Gathered {
    pub(super) fn add(&mut self, row: &Row<'_>) {
        self.directory(&row.key, 1, false);
        pack(&mut self.bytes, &Numbers::new(&row.facts), row.key.name);
        if row.error.is_some() || row.facts.hash.is_some() {
            let (error, hash) = (row.error.map(str::to_owned), row.facts.hash);
            self.odd.push(Odd { row: self.rows, error, hash });
        }
        self.rows += 1;
    }

    pub(super) fn add_packed(&mut self, rows: &PackedRows<'_>) {
        if rows.is_empty() {
            return;
        }
        let key = Key { root: rows.root, parent: rows.parent, name: b"" };
        self.directory(&key, rows.rows, rows.in_columns);
        self.bytes.extend_from_slice(rows.bytes);
        self.rows += rows.len();
    }

    /// Continues the last directory if the rows are of the same one and in the same form. Otherwise the part
    /// of the path that differs is stored. Lengths are counted here, because they decide when a row group
    /// ends.
    fn directory(&mut self, key: &Key<'_>, rows: u32, in_columns: bool) {
        self.row_path_bytes += key.parent.len() * rows as usize;
        if let Some(last) = self.directories.last_mut()
            && !last.in_columns
            && !in_columns
            && last.root == key.root
            && self.last_path == *key.parent
        {
            last.rows += rows;
            return;
        }
        let common = common(&self.last_path, key.parent);
        let start = self.paths.len();
        self.paths.extend_from_slice(&key.parent[common..]);
        self.last_path.truncate(common);
        self.last_path.extend_from_slice(&key.parent[common..]);
        self.directory_path_bytes += key.parent.len();
        let rest = start..self.paths.len();
        self.directories.push(Directory { root: key.root, common, rest, rows, in_columns });
    }

    pub(super) fn clear(&mut self) {
        self.directories.clear();
        self.paths.clear();
        self.last_path.clear();
        (self.directory_path_bytes, self.row_path_bytes) = (0, 0);
        self.bytes.clear();
        self.odd.clear();
        self.stored.clear();
        self.rows = 0;
    }
}
