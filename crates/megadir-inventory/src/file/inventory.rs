//! An inventory: one file, or a folder of parts.

use std::path::Path;

use megadir::{Error, ErrorKind, Result};

use super::folder::{Folder, PARTS_FILE, is_folder};
use super::open::Part;
use crate::metadata::Metadata;
use crate::row::Row;
use crate::rows::{Building, Rows};

/// Inventory, read row by row: a file, or a folder of parts, which are merged.
///
/// ```no_run
/// use megadir_inventory::{Inventory, Rows};
/// let mut inventory = Inventory::open("inventory.parquet".as_ref())?;
/// while let Some(row) = inventory.next_row()? {
///     println!("{} {:?}", String::from_utf8_lossy(row.key.name), row.facts.size_bytes);
/// }
/// # Ok::<(), megadir::Error>(())
/// ```
pub struct Inventory(Source);

enum Source {
    File(Box<Part>),
    Folder(Box<Folder>),
}

impl Inventory {
    /// Opens an inventory and reads its metadata. A directory is a folder of parts: all its files `*.parquet`
    /// that are not hidden, inventories of the same roots. A directory may have a row in several parts, of
    /// which the one of the latest scan counts; any other entry has a row in one part.
    ///
    /// Memory: one row group of each part whose keys are being read.
    ///
    /// Errors: [`ErrorKind::Malformed`] if it is damaged or no inventory, or its parts do not belong together;
    /// [`ErrorKind::Unavailable`] if its version is newer.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(match path.is_dir() {
            true => Source::Folder(Box::new(Folder::open(path)?)),
            false => Source::File(Box::new(Part::open(path)?)),
        }))
    }

    /// `true` for a file, and for a directory with a [`PARTS_FILE`].
    pub fn is_at(path: &Path) -> bool {
        path.is_file() || is_folder(path)
    }

    /// Error of a folder of parts without [`PARTS_FILE`]: some parts may be missing.
    pub fn unfinished(&self) -> Option<Error> {
        match &self.0 {
            Source::Folder(folder) if folder.is_unfinished => {
                let reason = format!(
                    "incomplete: it has no {PARTS_FILE}, which is written after the last part; finish or repeat its scan"
                );
                Some(Error::new("read", &folder.path, ErrorKind::Malformed, reason))
            }
            _ => None,
        }
    }

    /// Path that the inventory was opened with.
    pub fn path(&self) -> &Path {
        match &self.0 {
            Source::File(file) => file.path(),
            Source::Folder(folder) => &folder.path,
        }
    }

    /// `true` if a checksum covers [`Rows::metadata`]; older files have none.
    pub fn has_footer_checksum(&self) -> bool {
        match &self.0 {
            Source::File(file) => file.has_footer_checksum(),
            Source::Folder(folder) => folder.has_footer_checksum,
        }
    }

    /// `false` for older files.
    pub fn has_access_times(&self) -> bool {
        match &self.0 {
            Source::File(file) => file.has_access_times(),
            Source::Folder(folder) => folder.has_access_times,
        }
    }

    /// Identity of the file or folder, for comparisons of a tree that contains it.
    pub fn excluded(&self) -> Option<crate::scan::Excluded> {
        crate::replacement::excluded(self.path())
    }
}

impl Rows for Inventory {
    /// The numbers of rows and failures in a folder of parts are exact after the last row; before, they
    /// include rows that several parts have.
    fn metadata(&self) -> &Metadata {
        match &self.0 {
            Source::File(file) => file.metadata(),
            Source::Folder(folder) => folder.metadata(),
        }
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        match &mut self.0 {
            Source::File(file) => file.next_row(),
            Source::Folder(folder) => folder.next_row(),
        }
    }

    fn build(&mut self, building: &mut Building) -> Result<bool> {
        match &mut self.0 {
            Source::File(file) => file.build(building),
            Source::Folder(folder) => folder.build(building),
        }
    }
}

impl std::fmt::Debug for Inventory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inventory").field("path", &self.path()).finish_non_exhaustive()
    }
}
