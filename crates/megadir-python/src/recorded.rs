//! Listing of an inventory: its rows with the columns of a tree's listing. The tree is not read.
//!
//! ```text
//! Inventory -> [SeenRows: only directories that the conditions let in] -> step: a row -> Held: one directory -> Rows
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use megadir::{Attributes, Conditions, Entry, Error, ErrorKind, FileType, Place, TimeKind, TreePath, names};
use megadir_inventory::{Inventory, Key, Row, Rows as _, SeenRows};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::access::Asked;
use crate::attention::{Attention, report};
use crate::columns::Rows;
use crate::failure::{exception, of_inventory, unexamined};
use crate::names::{Named, Naming};
use crate::stream::Source;

/// Entries of one directory are added to the columns together.
const HELD_ROWS: usize = 1 << 12;
const EIO: i32 = 5;

/// Any other file is no directory.
pub(crate) fn is_at(path: &Path) -> bool {
    // The first bytes of a file, since any file may be named like an inventory.
    let is_parquet = |path: &Path| {
        let mut head = [0; 4];
        File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok_and(|()| head == *b"PAR1")
    };
    Inventory::is_at(path) && (path.is_dir() || is_parquet(path))
}

/// Reads an inventory in the order of its rows, in which the entries of a directory follow each other. `held`
/// collects the accepted entries of one directory before they are added to the columns, and `place` is the place of
/// that directory for the conditions. `root` is only for messages, and empty if the recorded path is none of this
/// system.
pub(crate) struct Recorded {
    inventory: Box<dyn megadir_inventory::Rows + Send>,
    root: PathBuf,
    recursive: bool,
    conditions: Arc<Conditions>,
    place: Place,
    rows: Rows,
    held: Held,
    on_error: Option<Py<PyAny>>,
    naming: Naming,
    attention: Attention,
    read: u64,
    ended: bool,
}

/// Accepted entries of one directory.
#[derive(Default)]
struct Held {
    parent: Vec<u8>,
    names: Vec<u8>,
    starts: Vec<usize>,
    attributes: Vec<Attributes>,
}

// Names lie one behind the other, each ending where the next one starts.
impl Held {
    fn name(&self, index: usize) -> &[u8] {
        let end = self.starts.get(index + 1).copied().unwrap_or(self.names.len());
        &self.names[self.starts[index]..end]
    }

    fn move_to(&mut self, rows: &mut Rows) {
        // An iterator of the same form as a listing, so that both fill columns by the same code.
        let entries = (0..self.starts.len()).map(|index| {
            let attributes = &self.attributes[index];
            let (name, inode, kind) = (self.name(index), attributes.inode, attributes.kind);
            (Entry { name, inode, kind, cookie: None, record_bytes: 0 }, attributes)
        });
        rows.extend(&self.parent, entries.len(), entries);
        self.names.clear();
        self.starts.clear();
        self.attributes.clear();
    }
}

impl Recorded {
    pub(crate) fn open(path: &Named, asked: Asked<'_>) -> PyResult<Self> {
        asked.access.check_inventory(&path.path)?;
        let (inventory, root) = opened(path)?;
        check_recorded(&asked.conditions, &inventory).map_err(|error| exception(&error, path.naming))?;
        let root = names::to_os(&root).map(|root| PathBuf::from(&*root)).unwrap_or_default();
        let (on_error, progress) = asked.callbacks;
        // An inventory that may lack parts is read, and its gap reported.
        if let Some(error) = inventory.unfinished() {
            report(on_error.as_ref(), exception(&error, path.naming))?;
        }
        let conditions = Arc::new(asked.conditions);
        let inventory: Box<dyn megadir_inventory::Rows + Send> = match conditions.limits_sight() {
            true => Box::new(SeenRows::new(inventory, Arc::clone(&conditions))),
            false => Box::new(inventory),
        };
        Ok(Self {
            inventory,
            root,
            recursive: asked.recursive,
            conditions,
            place: Place::TOP,
            rows: Rows::new(asked.columns, asked.names.unwrap_or(path.naming)),
            held: Held::default(),
            on_error,
            naming: path.naming,
            attention: Attention::new(progress),
            read: 0,
            ended: false,
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    /// Reads one row; `false` at the end. Rows of the top directory come first, so a listing that is not recursive
    /// ends at the first row below it. A row that is accepted enters the columns with others of its directory, at
    /// most `HELD_ROWS`. The failure is reported only after that, because the caller's function may raise, and the
    /// row must not be lost then. Signals are looked for every `HELD_ROWS` rows, which takes far less time than to
    /// look for each.
    fn step(&mut self) -> PyResult<bool> {
        let Self { inventory, held, rows, conditions, place, .. } = self;
        let row = inventory.next_row().map_err(|error| of_inventory(&error, self.naming))?;
        // The first row below the top ends a listing that is not recursive.
        let Some(row) = row.filter(|row| self.recursive || row.key.parent.is_empty()) else {
            held.move_to(rows);
            return Ok(false);
        };
        let Key { parent, name, .. } = row.key;
        if held.parent != parent {
            held.move_to(rows);
            held.parent.clear();
            held.parent.extend_from_slice(parent);
            *place = conditions.place(&TreePath::from(parent));
        }
        let attributes = row.facts.attributes();
        let is_accepted =
            !row.key.is_root() && conditions.may_accept(place, name, row.facts.kind, &attributes);
        let failed = failure(&row, is_accepted, (&self.root, self.naming));
        if is_accepted {
            held.starts.push(held.names.len());
            held.names.extend_from_slice(name);
            held.attributes.push(attributes);
        }
        if held.starts.len() == HELD_ROWS {
            held.move_to(rows);
        }
        if let Some(error) = failed {
            report(self.on_error.as_ref(), error)?;
        }
        self.read += 1;
        if self.read.is_multiple_of(HELD_ROWS as u64) {
            self.attention.pay(self.read)?;
        }
        Ok(true)
    }

    fn batch(&mut self) -> PyResult<Option<RecordBatch>> {
        while !self.ended && !self.rows.is_full() {
            self.ended = !self.step()?;
        }
        if self.ended {
            self.attention.look(self.read)?;
        }
        if self.rows.len() == 0 { Ok(None) } else { self.rows.take().map(Some) }
    }

    pub(crate) fn count(mut self) -> PyResult<usize> {
        while self.step()? {}
        self.attention.look(self.read)?;
        Ok(self.rows.len())
    }
}

/// `True` for a path that `megadir.list` takes for an inventory.
#[pyfunction]
pub(crate) fn is_inventory(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<bool> {
    let path = Named::from(path)?;
    Ok(py.detach(|| is_at(&path.path)))
}

/// `True` if every entry of the tree has a row: the scan had no conditions.
#[pyfunction]
pub(crate) fn has_all_entries(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<bool> {
    let path = Named::from(path)?;
    py.detach(|| opened(&path).map(|(inventory, _)| inventory.metadata().scanned.selected.is_none()))
}

/// Path of the tree that the inventory is of, as bytes.
#[pyfunction]
pub(crate) fn recorded_tree(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let path = Named::from(path)?;
    py.detach(|| opened(&path).map(|(_, root)| root))
}

/// Refuses conditions on access times that an inventory of an older version does not have: they would accept nothing.
pub(crate) fn check_recorded(conditions: &Conditions, inventory: &Inventory) -> megadir::Result<()> {
    if inventory.has_access_times() || !conditions.want().contains(TimeKind::Accessed.want()) {
        return Ok(());
    }
    let reason = "by: it has no access times, because an older version wrote it; use mtime, ctime or btime, or scan again";
    Err(Error::new("read", inventory.path(), ErrorKind::BadOption, reason))
}

/// A listing has one root: paths below several could be equal.
fn opened(path: &Named) -> PyResult<(Inventory, Vec<u8>)> {
    let inventory = Inventory::open(&path.path).map_err(|error| of_inventory(&error, path.naming))?;
    let [root] = &inventory.metadata().roots[..] else {
        let (path, trees) = (path.path.display(), inventory.metadata().roots.len());
        return Err(PyValueError::new_err(format!(
            "'{path}' has {trees} trees, and a listing is of one: scan each tree into an inventory of its own"
        )));
    };
    let root = root.path.clone();
    Ok((inventory, root))
}

impl Source for Recorded {
    fn next(&mut self) -> PyResult<Option<RecordBatch>> {
        let batch = self.batch();
        self.ended |= batch.is_err();
        batch
    }
}

/// Entries that the scan could not read are errors of the listing too.
fn failure(row: &Row<'_>, is_accepted: bool, (root, naming): (&Path, Naming)) -> Option<PyErr> {
    let is_directory = row.key.is_root() || row.facts.kind == FileType::Directory;
    // A directory that was not read is reported whether its own row is accepted or not: entries below it
    // are missing.
    match (row.error, row.facts.errno) {
        (Some(reason), errno) if is_directory => {
            let mut path = Vec::new();
            row.key.path_into(&mut path);
            let path =
                names::to_os(&path).map(|below| root.join(&*below)).unwrap_or_else(|_| root.to_owned());
            let reason = format!("not read at the scan: {reason}");
            Some(Python::attach(|py| match naming.path(py, &path) {
                Ok(path) => PyOSError::new_err((errno.unwrap_or(EIO), reason, path.unbind())),
                Err(undecodable) => undecodable,
            }))
        }
        (_, Some(errno)) if is_accepted => {
            let parent = names::to_os(row.key.parent).map(|below| root.join(&*below));
            Some(unexamined(&parent.unwrap_or_else(|_| root.to_owned()), row.key.name, errno, naming))
        }
        _ => None,
    }
}
