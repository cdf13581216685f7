//! `compare`: a tree and its copy, each a directory or an inventory.
//!
//! The library passes the differences on one by one; here they become record batches, which are all in memory when the
//! function returns. What could not be compared is a row or a number, and no exception.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::{BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use megadir::{Conditions, Dir, TreeEvent};
use megadir_inventory::copies::{
    CopyOptions, CopyWatch, Counts, Difference, Properties, Side, compare_copies,
};
use megadir_inventory::{Excluded, Facts, Inventory, ScanOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::access::{Access, Given};
use crate::attention::attentive;
use crate::columns::{BATCH_ROWS, table_of, texts, times};
use crate::conditions::conditions;
use crate::failure::of_inventory;
use crate::names::{Named, Naming};
use crate::stream::Stream;

/// Rows of both sides that wait to be sorted, bytes.
const MEMORY_BYTES: usize = 256 << 20;
const SIDES: [&str; 2] = ["a", "b"];

/// Agreeing, missing, extra, differing, unreadable, below unread directories, below mounts, mounts.
type Numbers = (u64, u64, u64, u64, u64, u64, u64, u64);

/// See `megadir.compare`.
// Both sides are opened before either is read. An exception of a signal or of the progress ends the scans of both sides, and
// nothing of their result is returned.
#[pyfunction]
#[pyo3(signature = (sides, by, access, progress, given))]
pub(crate) fn compare(
    py: Python<'_>,
    sides: (Bound<'_, PyAny>, Bound<'_, PyAny>),
    by: Vec<String>,
    access: Given,
    progress: Option<Py<PyAny>>,
    given: &Bound<'_, PyDict>,
) -> PyResult<(Stream, Numbers, bool)> {
    let paths = [Named::from(&sides.0)?, Named::from(&sides.1)?];
    let naming = paths[0].naming;
    let properties = by.iter().map(|name| property(name)).collect::<PyResult<Properties>>()?;
    let conditions = conditions(given)?;
    let access = Access::new(access, &conditions)?;
    if py.detach(|| paths.iter().all(|path| Inventory::is_at(&path.path))) {
        access.check_inventory(&paths[0].path)?;
    }
    let conditions = (!conditions.is_none()).then(|| Arc::new(conditions));
    let options = CopyOptions { properties, conditions };
    let (stop, read) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    let done = || read.iter().map(|side| side.load(Ordering::Relaxed)).sum();
    let event = |side: Option<usize>, event: &TreeEvent<'_>| {
        if let (Some(side), TreeEvent::Read(entries)) = (side, event) {
            read[side].store(*entries, Ordering::Relaxed);
        }
    };
    let mut found = Found::new(naming);
    let counts = attentive(py, progress, (done, || stop.store(true, Ordering::Relaxed)), || {
        let sides = opened(&paths, access)?;
        let watch = CopyWatch { stop: &stop, event: &event };
        compare_copies(sides, &options, &watch, &mut |difference| found.add(difference))
    })?;
    let counts = counts.map_err(|error| of_inventory(&error, naming))?;
    let batches = found.finish()?;
    let counts = counts.ok_or_else(|| PyValueError::new_err("the comparison was stopped"))?;
    let Counts { agreeing, missing, extra, differing, unreadable, below_unread, below_mounts, mounts } =
        counts;
    let numbers = (agreeing, missing, extra, differing, unreadable, below_unread, below_mounts, mounts);
    let stream = Stream::new(table(&[], naming)?.schema(), Box::new(batches.into_iter()));
    Ok((stream, numbers, counts.is_complete()))
}

fn property(name: &str) -> PyResult<Properties> {
    Properties::from_name(name).ok_or_else(|| {
        let choices = megadir::nearest::choices(name, Properties::all_names());
        PyValueError::new_err(format!("by: unknown property '{name}': {choices}"))
    })
}

/// An inventory is left out of a tree that contains it.
fn opened(paths: &[Named; 2], access: Access) -> megadir::Result<[Side; 2]> {
    let open = |path: &Path| Inventory::is_at(path).then(|| Inventory::open(path)).transpose();
    let inventories = [open(&paths[0].path)?, open(&paths[1].path)?];
    let exclude: Vec<Excluded> = inventories.iter().flatten().filter_map(Inventory::excluded).collect();
    let [a, b] = inventories;
    Ok([side(&paths[0].path, a, access, &exclude)?, side(&paths[1].path, b, access, &exclude)?])
}

/// The two sides share the memory.
fn side(
    path: &Path,
    inventory: Option<Inventory>,
    access: Access,
    exclude: &[Excluded],
) -> megadir::Result<Side> {
    if let Some(inventory) = inventory {
        return Ok(Side::Inventory(Box::new(inventory)));
    }
    let walk = access.walk_options(&Dir::open(path)?, None, &Arc::new(Conditions::default()))?;
    let options = ScanOptions {
        threads_max: walk.threads_max,
        cross_mounts: access.cross_mounts,
        stat_backend: access.stat_backend,
        exclude: exclude.to_vec(),
        ..ScanOptions::new(walk.threads, MEMORY_BYTES / 2, std::env::temp_dir())
    };
    Ok(Side::Tree(path.to_owned(), Box::new(options)))
}

/// One difference that outlives the rows of both sides. `path` is relative to the tree with the index `root`, and `facts` and the
/// number in `unreadable` are in the order of the sides, the original first.
struct Owned {
    kind: &'static str,
    root: u32,
    path: Vec<u8>,
    fields: String,
    unreadable: Option<(usize, String)>,
    facts: [Option<Facts>; 2],
}

/// Differences so far: complete batches, and those since the last one. The first batch that cannot be made ends the comparison.
struct Found {
    naming: Naming,
    batches: Vec<RecordBatch>,
    waiting: Vec<Owned>,
    failed: Option<PyErr>,
}

impl Found {
    fn new(naming: Naming) -> Self {
        Self { naming, batches: Vec::new(), waiting: Vec::new(), failed: None }
    }

    fn add(&mut self, difference: &Difference<'_>) -> ControlFlow<()> {
        let Difference { kind, key, properties, facts, unreadable } = *difference;
        let mut path = Vec::new();
        key.path_into(&mut path);
        let fields = properties.names().collect::<Vec<_>>().join(",");
        let unreadable = unreadable.map(|(side, reason)| (side, reason.to_owned()));
        let facts = facts.map(Option::<&Facts>::copied);
        self.waiting.push(Owned { kind: kind.name(), root: key.root, path, fields, unreadable, facts });
        match self.waiting.len() < BATCH_ROWS || self.flush() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn flush(&mut self) -> bool {
        match table(&self.waiting, self.naming) {
            Ok(batch) => self.batches.push(batch),
            Err(error) => self.failed = Some(error),
        }
        self.waiting.clear();
        self.failed.is_none()
    }

    fn finish(mut self) -> PyResult<Vec<RecordBatch>> {
        if !self.waiting.is_empty() {
            self.flush();
        }
        self.failed.map_or(Ok(self.batches), Err)
    }
}

/// Makes a batch of differences. Facts are missing on the side that does not have the entry, so that all their columns may be
/// null; the properties that differ are one text, as in the table of changes.
fn table(rows: &[Owned], naming: Naming) -> PyResult<RecordBatch> {
    let kinds = StringArray::from_iter_values(rows.iter().map(|row| row.kind));
    let roots = rows.iter().map(|row| i32::try_from(row.root).unwrap_or(i32::MAX));
    let fields = StringArray::from_iter_values(rows.iter().map(|row| &row.fields));
    let sides: StringArray =
        rows.iter().map(|row| row.unreadable.as_ref().map(|(side, _)| SIDES[*side])).collect();
    let errors: StringArray =
        rows.iter().map(|row| row.unreadable.as_ref().map(|(_, reason)| reason.as_str())).collect();
    let types = |side: usize| -> StringArray {
        rows.iter().map(|row| row.facts[side].map(|facts| facts.kind.name())).collect()
    };
    let number = |side: usize, of: fn(Facts) -> Option<i64>| -> Int64Array {
        rows.iter().map(|row| row.facts[side].and_then(of)).collect()
    };
    let size = |facts: Facts| i64::try_from(facts.size_bytes?).ok();
    let modified = |facts: Facts| facts.modified_ns;
    table_of([
        ("kind", Arc::new(kinds), false),
        ("root", Arc::new(Int32Array::from_iter_values(roots)), false),
        ("path", texts(BinaryArray::from_iter_values(rows.iter().map(|row| &row.path)), naming)?, false),
        ("fields", Arc::new(fields), false),
        ("side", Arc::new(sides), true),
        ("error", Arc::new(errors), true),
        ("a_type", Arc::new(types(0)), true),
        ("a_size", Arc::new(number(0, size)), true),
        ("a_mtime", times(number(0, modified)), true),
        ("b_type", Arc::new(types(1)), true),
        ("b_size", Arc::new(number(1, size)), true),
        ("b_mtime", times(number(1, modified)), true),
    ])
}
