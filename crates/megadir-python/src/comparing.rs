//! `changes`: what differs since an inventory was written, and contents that are read again (`verify`).
//!
//! ```text
//! inventory + tree -> compared -> suspects decided by their hashes -> changes -----------> Stream
//!                            `--> files of the share read again ----> rotten, counts ----> Found
//! ```
//!
//! Rotten contents are no change, so they are no rows of the stream. They come before any failure, because a caller that
//! copies what changed must not copy them: what was found is returned also if the reading fails or is stopped, and
//! `megadir/__init__.py` raises the reason afterwards.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{BinaryArray, BooleanArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray};
use megadir::policy::processors;
use megadir::{Conditions, Dir, Error, ErrorKind, names};
use megadir_inventory::changes::{
    Change, CompareOptions, Compared, Fields, ReadOptions, Selection, Share, Verified, Verify, VerifyOptions,
    Watch, compare, compare_inventories, verify, verify_contents,
};
use megadir_inventory::{Facts, Inventory, Rows, TreePath};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attention::attentive;
use crate::columns::{BATCH_ROWS, table_of, texts, times, types};
use crate::conditions::conditions;
use crate::failure::{exception, of_inventory};
use crate::inventory::FAILURES_MAX;
use crate::names::{Named, Naming};
use crate::reading::{self, Contents, Found, found, verified};
use crate::recorded::check_recorded;
use crate::stream::{Source, Stream};

/// Changes, contents that were verified, failures for `on_error`, and the exception that ended the reading of contents.
type Answer = (Stream, Option<Found>, Vec<Raised>, Option<Raised>);

/// Exception as an object, which Python raises later.
type Raised = Py<pyo3::exceptions::PyBaseException>;

/// See `megadir.changes`.
// What was verified is outside of the work, because a stop drops the result of the work, and rotten files that were found
// before it must not be lost. Exceptions become objects here and are raised by the caller, in the order that it needs.
#[pyfunction]
#[pyo3(signature = (inventory, path, any_root, reading, progress, given))]
pub(crate) fn changes(
    py: Python<'_>,
    inventory: &Bound<'_, PyAny>,
    path: Option<&Bound<'_, PyAny>>,
    any_root: bool,
    reading: reading::Given<'_>,
    progress: Option<Py<PyAny>>,
    given: &Bound<'_, PyDict>,
) -> PyResult<Answer> {
    let asked = Asked { any_root, conditions: conditions(given)?, contents: verified(reading)? };
    let inventory = Named::from(inventory)?;
    let now = path.map(Named::from).transpose()?;
    let naming = now.as_ref().map_or(inventory.naming, |now| now.naming);
    let (watch, seen) = (Watch::default(), Mutex::new(Seen::default()));
    let watched = (|| watch.entries.load(Ordering::Relaxed), || watch.stop.store(true, Ordering::Relaxed));
    let now = now.map(|now| now.path);
    let is_share = matches!(asked.contents, Some((Verify::Contents(_), _)));
    let compared = attentive(py, progress, watched, || {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        compared(&inventory.path, now, &asked, &watch, &mut seen)
    });
    let compared = compared.and_then(|done| done.map_err(|error| of_inventory(&error, naming)));
    let Seen { verified, read_bytes, failures } = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (compared, ended) = match compared {
        Ok(compared) => (compared, None),
        Err(error) if verified.rotten.is_empty() => return Err(error),
        Err(error) => (Compared::default(), Some(error.into_value(py))),
    };
    let failures = compared.failures.iter().chain(&failures);
    let failures = failures.map(|error| exception(error, naming).into_value(py)).collect();
    let read_bytes = read_bytes.load(Ordering::Relaxed);
    let found = is_share.then(|| found(py, verified, read_bytes, naming)).transpose()?;
    let rows = Changed { changes: compared.changes.into_iter(), naming };
    Ok((Stream::new(table(&[], naming)?.schema(), Box::new(rows)), found, failures, ended))
}

struct Asked {
    any_root: bool,
    conditions: Conditions,
    contents: Contents<Verify>,
}

/// Result of reading contents so far.
#[derive(Default)]
struct Seen {
    verified: Verified,
    read_bytes: Arc<AtomicU64>,
    /// At most [`FAILURES_MAX`]; `verified` has the number.
    failures: Vec<Error>,
}

/// Compares with another inventory if there is one at `now`, otherwise with a tree: the one given, or the recorded
/// roots where they lie today. Both inventories must have recorded the times that the conditions need, which is
/// checked before any row is read. The files of the inventories themselves are excluded, or they would count as
/// added. An inventory that may lack parts is reported as a failure, in addition to the changes, and the
/// comparison continues.
fn compared(
    path: &Path,
    now: Option<PathBuf>,
    asked: &Asked,
    watch: &Watch,
    seen: &mut Seen,
) -> megadir::Result<Compared> {
    let inventory = Inventory::open(path)?;
    let newer = now.as_deref().filter(|now| Inventory::is_at(now)).map(Inventory::open).transpose()?;
    [Some(&inventory), newer.as_ref()]
        .into_iter()
        .flatten()
        .try_for_each(|of| check_recorded(&asked.conditions, of))?;
    let selection = selection(asked.conditions.clone(), &inventory)?;
    let mut options = CompareOptions {
        any_root: asked.any_root,
        exclude: inventory.excluded().into_iter().collect(),
        conditions: selection.sight.clone(),
        ..CompareOptions::new(processors())
    };
    // Asked before the inventories move into the comparison.
    let unfinished = [Some(&inventory), newer.as_ref()].into_iter().flatten().find_map(Inventory::unfinished);
    let mut compared = match newer {
        Some(newer) if asked.contents.is_some() => {
            let reason = "two inventories have no contents to hash; give the path of the tree";
            return Err(Error::new("verify", newer.path(), ErrorKind::BadOption, reason));
        }
        Some(newer) => {
            options.exclude.extend(newer.excluded());
            compare_inventories(inventory, newer, &options, watch)?
        }
        None => {
            let trees = trees(now, &inventory)?;
            let roots = trees.iter().map(Dir::open).collect();
            let mut compared = compare(inventory, roots, &options, watch)?;
            if let Some((which, rate)) = asked.contents {
                let roots: Vec<Option<Dir>> = trees.iter().map(|tree| Dir::open(tree).ok()).collect();
                let read = rate.options(Arc::clone(&watch.stop));
                verify(&mut compared, &roots, &read)?;
                if let Verify::Contents(share) = which {
                    verify_share(path, &roots, (share, &selection, read), seen)?;
                }
            }
            compared
        }
    };
    compared.failures.extend(unfinished);
    selection.choose(&mut compared.changes);
    Ok(compared)
}

fn trees(now: Option<PathBuf>, inventory: &Inventory) -> megadir::Result<Vec<PathBuf>> {
    let recorded = || inventory.metadata().roots.iter();
    let paths = || recorded().map(|root| Ok(PathBuf::from(&*names::to_os(&root.path)?))).collect();
    now.map_or_else(paths, |now| Ok(vec![now]))
}

/// Reads the share of the files again. A share without any hash is a failure, or a wrong argument if all files were
/// asked for: nothing was verified, which must not look like intact files.
fn verify_share(
    path: &Path,
    roots: &[Option<Dir>],
    (share, selection, read): (Share, &Selection, ReadOptions),
    seen: &mut Seen,
) -> megadir::Result<()> {
    seen.read_bytes = Arc::clone(&read.read_bytes);
    let options = VerifyOptions { share, ignored: Fields::NOTHING, selection: selection.clone(), read };
    let Seen { verified, failures, .. } = seen;
    let mut failed = |error| {
        if failures.len() < FAILURES_MAX {
            failures.push(error);
        }
    };
    verify_contents(Inventory::open(path)?, roots, &options, verified, &mut failed)?;
    if !verified.has_no_hash() {
        return Ok(());
    }
    let kind = if share == Share::ALL { ErrorKind::BadOption } else { ErrorKind::Unavailable };
    let reason = "no file of this share has a hash in the inventory: make them with scan(..., hash=\"all\")";
    let error = Error::new("verify", path, kind, reason);
    if share == Share::ALL {
        return Err(error);
    }
    failed(error);
    Ok(())
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
