//! An inventory: one file, or a folder of parts.

use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};

use super::folder::{Folder, PARTS_FILE, is_folder};
use super::open::Part;
use crate::metadata::Metadata;
use crate::open_at_once::open_to_read;
use crate::recognize::is_parquet_inventory;
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
pub struct Inventory {
    path: PathBuf,
    rows: Box<dyn Rows + Send + Sync>,
    is_unfinished: bool,
    has_footer_checksum: bool,
    has_access_times: bool,
    /// `true` after an error, when `rows` must not be read again.
    failed: bool,
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
        let path = path.to_owned();
        if path.is_dir() {
            let folder = Folder::open(&path)?;
            let Folder { is_unfinished, has_footer_checksum, has_access_times, .. } = folder;
            return Ok(Self {
                path,
                rows: Box::new(folder),
                is_unfinished,
                has_footer_checksum,
                has_access_times,
                failed: false,
            });
        }
        let file = Part::open(&path)?;
        Ok(Self {
            path,
            is_unfinished: false,
            has_footer_checksum: file.has_footer_checksum(),
            has_access_times: file.has_access_times(),
            rows: Box::new(file),
            failed: false,
        })
    }

    /// `true` for a file, and for a directory with a [`PARTS_FILE`].
    pub fn is_at(path: &Path) -> bool {
        path.is_file() || is_folder(path)
    }

    /// `true` for a Parquet file with the metadata of an inventory, which is read from its end, and for a damaged Parquet file, which
    /// [`Inventory::open`] refuses with the reason. Any other file is the user's data.
    pub fn recognizes(path: &Path) -> bool {
        path.is_file() && open_to_read(path).is_ok_and(is_parquet_inventory)
    }

    /// Error of a folder of parts without [`PARTS_FILE`]: some parts may be missing.
    pub fn unfinished(&self) -> Option<Error> {
        self.is_unfinished.then(|| {
            let reason = format!(
                "incomplete: it has no {PARTS_FILE}, which is written after the last part; finish or repeat its scan"
            );
            Error::new("read", &self.path, ErrorKind::Malformed, reason)
        })
    }

    /// Path that the inventory was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `true` if a checksum covers [`Rows::metadata`]; older files have none.
    pub fn has_footer_checksum(&self) -> bool {
        self.has_footer_checksum
    }

    /// `false` for older files.
    pub fn has_access_times(&self) -> bool {
        self.has_access_times
    }

    /// Identity of the file or folder, for comparisons of a tree that contains it.
    pub fn excluded(&self) -> Option<crate::scan::Excluded> {
        crate::replacement::excluded(&self.path)
    }
}

impl Rows for Inventory {
    /// The numbers of rows and failures in a folder of parts are exact after the last row; before, they
    /// include rows that several parts have.
    fn metadata(&self) -> &Metadata {
        self.rows.metadata()
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        if self.failed {
            return Ok(None);
        }
        let row = self.rows.next_row();
        self.failed = row.is_err();
        row
    }

    fn build(&mut self, building: &mut Building) -> Result<bool> {
        if self.failed {
            return Ok(false);
        }
        let built = self.rows.build(building);
        self.failed = built.is_err();
        built
    }
}

impl std::fmt::Debug for Inventory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inventory").field("path", &self.path).finish_non_exhaustive()
    }
}
