//! The index of a pack: an inventory whose rows also have their places in the shards. Every reader of inventories reads it without these.

use std::path::Path;

use megadir::{Error, ErrorKind, Result};

use super::open::Part;
use crate::metadata::Metadata;
use crate::row::{Key, OwnedRow, Row, Stored};
use crate::rows::Rows;

/// Rows of the index of a pack, with their places.
pub struct PackIndex(Part);

impl PackIndex {
    /// Opens an index and reads its metadata. Errors: as [`Inventory::open`](crate::Inventory::open), and
    /// [`ErrorKind::Malformed`](megadir::ErrorKind::Malformed) for an inventory without places.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(Part::open(path).map_err(again)?.with_stored().map_err(again)?))
    }

    /// Describes the whole index.
    pub fn metadata(&self) -> &Metadata {
        self.0.metadata()
    }

    /// Returns the next row, and its place if the shards hold it; `None` after the last. Errors: as [`Rows::next_row`]; the index must not be
    /// read after one.
    pub fn next_row(&mut self) -> Result<Option<(Row<'_>, Option<Stored>)>> {
        if self.0.next_row().map_err(again)?.is_none() {
            return Ok(None);
        }
        let stored = self.0.stored().map_err(again)?;
        Ok(self.0.last_row().map(|row| (row, stored)))
    }

    /// Looks up an entry. Decodes a logarithm of the row groups at first and one later, or none if the last lookup was near; lookups in the order of
    /// keys are fastest. [`PackIndex::next_row`] must not follow.
    pub fn find(&mut self, key: &Key<'_>) -> Result<Option<(OwnedRow, Option<Stored>)>> {
        self.0.find(key).map_err(again)
    }
}

/// An index is not made by a scan.
fn again(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Malformed | ErrorKind::Unavailable => {
            let reason = error
                .reason()
                .replace("scan again", "pack again")
                .replace("megadir scan", "megadir pack create");
            Error::new(
                "read",
                error.path(),
                error.kind(),
                reason.replace("written by a scan", "written by megadir"),
            )
        }
        _ => error,
    }
}

impl std::fmt::Debug for PackIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackIndex").finish_non_exhaustive()
    }
}
