//! `scan`: inventories of trees, on request with hashes of contents.
//!
//! The function works without the interpreter's lock, and its result is complete before any of it becomes an object of
//! Python.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use megadir::policy::processors;
use megadir::{Conditions, Dir, Error, TreeEvent};
use megadir_inventory::changes::{HashCounts, Hashed, Hashing};
use megadir_inventory::{Excluded, GROUP_ROWS, ScanOptions, ScanWatch, WriteOptions, Writer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::access::{Access, Given};
use crate::attention::{Callbacks, attentive, report};
use crate::conditions::conditions;
use crate::failure::exception;
use crate::names::Named;
use crate::reading::{self, Contents, Hashes, hashed, hashes};

/// Messages that are kept: on a failing disk there may be one for every file.
pub(crate) const FAILURES_MAX: usize = 1000;
/// Rows waiting to be sorted, bytes; further rows wait in temporary files next to the output.
const MEMORY_BYTES: usize = 256 << 20;
/// Higher levels take longer than the scan and save little: most of the data is names.
const LEVEL: i32 = 1;

/// Rows, failed, unread directories, bytes of the file, hashes.
type Scanned = (u64, u64, u64, u64, Option<Hashes>);

/// See `megadir.scan`.
// Signals are looked for by another thread, which shares `read` and `stop` with the scan. Files whose contents could not be
// read are reported at the end: an exception of `on_error` must not lose the inventory.
#[pyfunction]
#[pyo3(signature = (paths, output, access, reading, callbacks, given))]
pub(crate) fn scan(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    output: &Bound<'_, PyAny>,
    access: Given,
    reading: reading::Given<'_>,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Scanned> {
    let (on_error, progress) = callbacks;
    let (paths, naming) = Named::several(paths)?;
    let output = Named::from(output)?.path;
    let conditions = conditions(given)?;
    let access = Access::new(access, &conditions)?;
    let asked = Asked {
        access,
        conditions: (!conditions.is_none()).then(|| Arc::new(conditions)),
        contents: hashed(reading)?,
        stop: Arc::new(AtomicBool::new(false)),
    };
    let (read, mut failures) = (AtomicU64::new(0), Vec::new());
    let watched = (|| read.load(Ordering::Relaxed), || asked.stop.store(true, Ordering::Relaxed));
    let scanned = attentive(py, progress, watched, || {
        let mut watch = |event: TreeEvent<'_>| {
            if let TreeEvent::Read(entries) = event {
                read.store(entries, Ordering::Relaxed);
            }
            if asked.stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        write(&paths, &output, &asked, &mut watch, &mut failures)
    })?;
    // Stopped work raised its reason before.
    let scanned = scanned.map_err(|error| exception(&error, naming))?;
    for error in failures.iter().filter(|_| on_error.is_some()) {
        report(on_error.as_ref(), exception(error, naming))?;
    }
    scanned.ok_or_else(|| PyValueError::new_err("the scan was stopped; nothing was written"))
}

/// Everything that a scan needs except its paths. `stop` ends the walk and also the reading of a large file.
struct Asked {
    access: Access,
    conditions: Option<Arc<Conditions>>,
    contents: Contents<Hashed>,
    stop: Arc<AtomicBool>,
}

/// The writer is created before the trees are opened, so that an output that cannot be written fails before anything
/// is read; its files are excluded from the scan, because they may lie in a tree. The trees may be on different file
/// systems, and the scan has one number of threads: the largest that suits any of them. `None` means that `watch`
/// stopped the scan; then nothing is written, and hashes of all files stay in their journal for the next scan. The
/// journal ends when the inventory is complete. Changes from `started_ns` on make a file suspect, so the clock is read
/// before the scan.
fn write(
    paths: &[PathBuf],
    output: &Path,
    asked: &Asked,
    watch: &mut ScanWatch<'_>,
    failures: &mut Vec<Error>,
) -> megadir::Result<Option<Scanned>> {
    let roots: Vec<Vec<u8>> =
        paths.iter().map(|path| megadir_inventory::root_path(path)).collect::<megadir::Result<_>>()?;
    let options = WriteOptions { threads: processors(), level: LEVEL, group_rows: GROUP_ROWS };
    let mut writer = Writer::create(output, roots.clone(), options)?;
    let mut options = scan_options(paths, output, asked, writer.excluded())?;
    let Some((hashed, rate)) = asked.contents else {
        let Some(metadata) = megadir_inventory::scan(paths, &options, watch, &mut writer)? else {
            return Ok(None);
        };
        let bytes = writer.finish(&metadata)?;
        return Ok(Some((metadata.rows, metadata.failed, metadata.unread_directories, bytes, None)));
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let started_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    let trees = paths.iter().map(|path| Dir::open(path).ok()).collect();
    let read = rate.options(Arc::clone(&asked.stop));
    let mut hashing = Hashing::new(writer, hashed, trees, started_ns, &read)?.reporting(|error| {
        if failures.len() < FAILURES_MAX {
            failures.push(error);
        }
    });
    let (_, journal) = hashing.continue_from(output, &roots, MEMORY_BYTES / 4)?;
    options.exclude.extend(journal);
    let Some(metadata) = megadir_inventory::scan(paths, &options, watch, &mut hashing)? else {
        return Ok(None);
    };
    let (writer, counts, journal): (Writer, HashCounts, _) = hashing.finish()?;
    let bytes = writer.finish(&metadata)?;
    journal.remove()?;
    Ok(Some((metadata.rows, metadata.failed, metadata.unread_directories, bytes, Some(hashes(counts)))))
}

fn scan_options(
    paths: &[PathBuf],
    output: &Path,
    asked: &Asked,
    exclude: Vec<Excluded>,
) -> megadir::Result<ScanOptions> {
    let Asked { access, conditions, .. } = asked;
    // Conditions do not matter for the number of threads.
    let all = Arc::default();
    let (mut threads, mut threads_max) = (1, 1);
    for path in paths {
        let walk = access.walk_options(&Dir::open(path)?, None, &all)?;
        (threads, threads_max) = (threads.max(walk.threads), threads_max.max(walk.threads_max));
    }
    Ok(ScanOptions {
        threads_max,
        cross_mounts: access.cross_mounts,
        stat_backend: access.stat_backend,
        exclude,
        conditions: conditions.clone(),
        ..ScanOptions::new(threads, MEMORY_BYTES, spill_directory(output))
    })
}

fn spill_directory(output: &Path) -> PathBuf {
    // A relative name has an empty parent, which is the current directory.
    match output.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => std::env::temp_dir(),
    }
}
