//! `remove`: removes trees and the contents of directories, relative to descriptors.

use megadir::Error;
use megadir::remove::target::Guards;
use megadir::remove::{Counts, Failures, Progress, RemoveOptions, Removed, remove_contents, remove_tree};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attention::{Callbacks, attentive, report};
use crate::conditions::conditions;
use crate::failure::exception;
use crate::names::Named;

/// Messages that are kept; a removal of a tree without permission may have millions.
const FAILURES_MAX: usize = 1000;

/// Entries, directories, bytes, failures, mounts, directories kept, complete.
type Counted = (u64, u64, u64, u64, u64, u64, bool);

/// See `megadir.remove`.
// Failures are collected while the interpreter's lock is free and reported after the removal, in the caller's thread;
// beyond `FAILURES_MAX` they are only counted. The path is resolved within the work, because the guards against
// removing the root or the current directory read the file system.
#[pyfunction]
#[pyo3(signature = (path, contents, dry_run, callbacks, given))]
pub(crate) fn remove(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    contents: bool,
    dry_run: bool,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Counted> {
    let (on_error, progress) = callbacks;
    let Named { path, naming } = Named::from(path)?;
    let conditions = conditions(given)?;
    let conditions = (!conditions.is_none()).then_some(&conditions);
    let (failures, counts) = (Failures::new(FAILURES_MAX), Progress::new());
    // Directories count, so that progress ends at the number of all entries.
    let done = || {
        let Counts { entries, directories, .. } = counts.counts();
        entries + directories
    };
    let removed = attentive(py, progress, (done, || counts.cancel()), || -> megadir::Result<Removed> {
        let on_failure = |failure: Error| failures.add(failure);
        let options = RemoveOptions { conditions, dry_run, ..RemoveOptions::new(None, &on_failure) };
        let target = Guards::resolve(&path, contents)?;
        match contents {
            true => remove_contents(&target.open()?, &options, &counts),
            false => remove_tree(&target.parent, &target.name, &options, &counts),
        }
    })?;
    let removed = removed.map_err(|error| exception(&error, naming))?;
    // By now nothing is removed any more, so a function that raises loses only messages.
    for failure in failures.take() {
        report(on_error.as_ref(), exception(&failure, naming))?;
    }
    let Counts { entries, directories, bytes, failures, mounts, directories_kept, .. } = removed.counts;
    Ok((entries, directories, bytes, failures, mounts, directories_kept, removed.complete))
}
