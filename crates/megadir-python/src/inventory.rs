//! `scan` and `changes`: inventories of trees, and what differs since.
//!
//! Both functions work without the interpreter's lock, and their results are complete before any of it
//! becomes an object of Python.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::{BinaryArray, BooleanArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray};
use megadir::policy::processors;
use megadir::{Conditions, Dir, ErrorKind, TreeEvent, names};
use megadir_inventory::changes::{
    Change, CompareOptions, Compared, Selection, Watch, compare, compare_inventories,
};
use megadir_inventory::{Facts, GROUP_ROWS, Inventory, Rows, ScanOptions, TreePath, WriteOptions, Writer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::access::{Access, Given};
use crate::attention::{Callbacks, attentive, report};
use crate::columns::{BATCH_ROWS, table_of, texts, times, types};
use crate::conditions::conditions;
use crate::failure::{exception, of_inventory};
use crate::names::{Named, Naming};
use crate::recorded::check_recorded;
use crate::stream::{Source, Stream};

/// Rows waiting to be sorted, bytes; further rows wait in temporary files next to the output.
const MEMORY_BYTES: usize = 256 << 20;
/// Higher levels take longer than the scan and save little: most of the data is names.
const LEVEL: i32 = 1;

/// Rows, failed, unread directories, bytes of the file.
type Scanned = (u64, u64, u64, u64);

/// See `megadir.scan`.
#[pyfunction]
#[pyo3(signature = (paths, output, access, progress, given))]
pub(crate) fn scan(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    access: Given,
    progress: Option<Py<PyAny>>,
    given: &Bound<'_, PyDict>,
) -> PyResult<Scanned> {
    let (paths, naming) = Named::several(paths)?;
    let output = Named::from(output)?.path;
    let conditions = conditions(given)?;
    let access = Access::new(access, &conditions)?;
    let conditions = (!conditions.is_none()).then(|| Arc::new(conditions));
    // Shared by the scan and the thread that looks for signals.
    let (read, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let watched = (|| read.load(Ordering::Relaxed), || stop.store(true, Ordering::Relaxed));
    let scanned = attentive(py, progress, watched, || {
        let mut watch = |event: TreeEvent<'_>| {
            if let TreeEvent::Read(entries) = event {
                read.store(entries, Ordering::Relaxed);
            }
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        write(&paths, &output, access, conditions, &mut watch)
    })?;
    // Stopped work raised its reason before.
    let scanned = scanned.map_err(|error| exception(&error, naming))?;
    scanned.ok_or_else(|| PyValueError::new_err("the scan was stopped; nothing was written"))
}

/// The writer is created before the trees are opened, so that an output that cannot be written fails before anything
/// is read; its files are excluded from the scan, because they may lie in a tree. The trees may be on different file
/// systems, and the scan has one number of threads: the largest that suits any of them. `None` means that `watch`
/// stopped the scan; then nothing is written.
fn write(
    paths: &[PathBuf],
    output: &Path,
    access: Access,
    conditions: Option<Arc<Conditions>>,
    watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
) -> megadir::Result<Option<Scanned>> {
    let roots =
        paths.iter().map(|path| megadir_inventory::root_path(path)).collect::<megadir::Result<_>>()?;
    let options = WriteOptions { threads: processors(), level: LEVEL, group_rows: GROUP_ROWS };
    let mut writer = Writer::create(output, roots, options)?;
    // Conditions do not matter for the number of threads.
    let all = Arc::default();
    let (mut threads, mut threads_max) = (1, 1);
    for path in paths {
        let walk = access.walk_options(&Dir::open(path)?, None, &all)?;
        (threads, threads_max) = (threads.max(walk.threads), threads_max.max(walk.threads_max));
    }
    let options = ScanOptions {
        threads_max,
        cross_mounts: access.cross_mounts,
        stat_backend: access.stat_backend,
        exclude: writer.excluded(),
        conditions,
        ..ScanOptions::new(threads, MEMORY_BYTES, spill_directory(output))
    };
    let Some(metadata) = megadir_inventory::scan(paths, &options, watch, &mut writer)? else {
        return Ok(None);
    };
    let bytes = writer.finish(&metadata)?;
    Ok(Some((metadata.rows, metadata.failed, metadata.unread_directories, bytes)))
}

fn spill_directory(output: &Path) -> PathBuf {
    // A relative name has an empty parent, which is the current directory.
    match output.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => std::env::temp_dir(),
    }
}

/// See `megadir.changes`.
#[pyfunction]
#[pyo3(signature = (inventory, path, any_root, callbacks, given))]
pub(crate) fn changes(
    py: Python<'_>,
    inventory: &Bound<'_, PyAny>,
    path: Option<&Bound<'_, PyAny>>,
    any_root: bool,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Stream> {
    let (on_error, progress) = callbacks;
    let conditions = conditions(given)?;
    let inventory = Named::from(inventory)?;
    let now = path.map(Named::from).transpose()?;
    let naming = now.as_ref().map_or(inventory.naming, |now| now.naming);
    let watch = Watch::default();
    let watched = (|| watch.entries.load(Ordering::Relaxed), || watch.stop.store(true, Ordering::Relaxed));
    let now = now.map(|now| now.path);
    let compared =
        attentive(py, progress, watched, || compared(&inventory.path, now, (any_root, conditions), &watch))?;
    let compared = compared.map_err(|error| of_inventory(&error, naming))?;
    // After the comparison: a function that raises must not end it half-way.
    for error in &compared.failures {
        report(on_error.as_ref(), exception(error, naming))?;
    }
    let rows = Changed { changes: compared.changes.into_iter(), naming };
    Ok(Stream::new(table(&[], naming)?.schema(), Box::new(rows)))
}

/// Compares with another inventory if there is one at `now`, otherwise with a tree: the one given, or the recorded
/// roots where they lie today. Both inventories must have recorded the times that the conditions need, which is
/// checked before any row is read. The files of the inventories themselves are excluded, or they would count as
/// added. An inventory that may lack parts is reported as a failure, in addition to the changes, and the
/// comparison continues.
fn compared(
    inventory: &Path,
    now: Option<PathBuf>,
    (any_root, conditions): (bool, Conditions),
    watch: &Watch,
) -> megadir::Result<Compared> {
    let inventory = Inventory::open(inventory)?;
    let newer = now.as_deref().filter(|now| Inventory::is_at(now)).map(Inventory::open).transpose()?;
    [Some(&inventory), newer.as_ref()]
        .into_iter()
        .flatten()
        .try_for_each(|of| check_recorded(&conditions, of))?;
    let selection = selection(conditions, &inventory)?;
    let mut options = CompareOptions {
        threads: processors(),
        skip_unchanged: true,
        any_root,
        keep: None,
        exclude: inventory.excluded().into_iter().collect(),
        conditions: selection.sight.clone(),
        gains: None,
        fresh: false,
    };
    // Asked before the inventories move into the comparison.
    let unfinished = [Some(&inventory), newer.as_ref()].into_iter().flatten().find_map(Inventory::unfinished);
    let mut compared = match (newer, now) {
        (Some(newer), _) => {
            options.exclude.extend(newer.excluded());
            compare_inventories(inventory, newer, &options, watch)?
        }
        (None, Some(now)) => compare(inventory, vec![Dir::open(now)], &options, watch)?,
        (None, None) => {
            let roots = inventory.metadata().roots.iter();
            let roots = roots.map(|root| Dir::open(&*names::to_os(&root.path)?)).collect();
            compare(inventory, roots, &options, watch)?
        }
    };
    compared.failures.extend(unfinished);
    selection.choose(&mut compared.changes);
    Ok(compared)
}

/// Entries that have no row because of their age, size or owner would count as added.
fn selection(asked: Conditions, inventory: &Inventory) -> megadir::Result<Selection> {
    // Conditions on names and depth are repeatable now; conditions on attributes are not, since these have
    // changed.
    let refused =
        |reason: String| megadir::Error::new("compare", inventory.path(), ErrorKind::BadOption, reason);
    let recorded = match &inventory.metadata().scanned.selected {
        Some(selected) if selected.by_attributes => {
            return Err(refused(
                "it has only entries that met conditions on time, size or owner at its scan, so every other entry would count \
                 as added; write an inventory without such conditions"
                    .to_owned(),
            ));
        }
        Some(selected) => Some(selected.conditions()?),
        None => None,
    };
    Selection::new(asked, recorded).map_err(|bad| refused(bad.to_string()))
}

struct Changed {
    changes: std::vec::IntoIter<Change>,
    naming: Naming,
}

// Changes are in memory; a batch is a window of them.
impl Source for Changed {
    fn next(&mut self) -> PyResult<Option<RecordBatch>> {
        let changes: Vec<Change> = self.changes.by_ref().take(BATCH_ROWS).collect();
        if changes.is_empty() {
            return Ok(None);
        }
        table(&changes, self.naming).map(Some)
    }
}

fn table(changes: &[Change], naming: Naming) -> PyResult<RecordBatch> {
    // The number of the tree, for inventories of several.
    let text = |of: fn(&Change) -> String| StringArray::from_iter_values(changes.iter().map(of));
    let number = |of: fn(&Change) -> Option<i64>| changes.iter().map(of).collect::<Int64Array>();
    let root = |change: &Change| i32::try_from(change.root).unwrap_or(i32::MAX);
    // The new type, or the old one of an entry that was removed.
    let kind = |change: &Change| change.new.or(change.old).map_or(0, |facts| facts.kind as i8);
    let paths = BinaryArray::from_iter_values(changes.iter().map(|change| change.path.to_vec()));
    let sources = changes.iter().map(|change| change.from.as_ref().map(TreePath::to_vec));
    let suspects: Vec<bool> = changes.iter().map(|change| change.suspect).collect();
    table_of([
        ("kind", Arc::new(text(|change| change.kind.name().to_owned())), false),
        ("root", Arc::new(Int32Array::from_iter_values(changes.iter().map(root))), false),
        ("path", texts(paths, naming)?, false),
        ("from", texts(sources.collect(), naming)?, true),
        ("fields", Arc::new(text(|change| change.fields.names().collect::<Vec<_>>().join(","))), false),
        ("suspect", Arc::new(BooleanArray::from(suspects)), false),
        ("type", types(Int8Array::from_iter_values(changes.iter().map(kind)))?, false),
        ("size", Arc::new(number(|change| size(change.new))), true),
        ("mtime", times(number(|change| change.new?.modified_ns)), true),
        ("old_size", Arc::new(number(|change| size(change.old))), true),
        ("old_mtime", times(number(|change| change.old?.modified_ns)), true),
    ])
}

fn size(facts: Option<Facts>) -> Option<i64> {
    i64::try_from(facts?.size_bytes?).ok()
}
