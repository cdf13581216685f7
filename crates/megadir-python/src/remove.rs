//! `remove`: removes trees and the contents of directories, relative to descriptors.

use std::path::Path;

use megadir::remove::{Counts, Failures, Progress, RemoveOptions, Removed, remove_contents, remove_tree};
use megadir::{Dir, Error, names};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attention::{Callbacks, attentive};
use crate::conditions::conditions;
use crate::failure::exception;
use crate::listing::processors;
use crate::names::Named;

/// Failures that are kept for the caller.
const FAILURES_MAX: usize = 1000;

/// Entries, directories, bytes, failures, mounts, directories kept, complete.
type Counted = (u64, u64, u64, u64, u64, u64, bool);

/// See `megadir.remove`.
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
    let (parent, name) = parts(&path)?;
    refuse_current(&path)?;
    let (failures, counts) = (Failures::new(FAILURES_MAX), Progress::new());
    let done = || {
        let Counts { entries, directories, .. } = counts.counts();
        entries + directories
    };
    let removed = attentive(py, progress, (done, || counts.cancel()), || -> megadir::Result<Removed> {
        let on_failure = |failure: Error| failures.add(failure);
        let options = RemoveOptions { conditions, dry_run, ..RemoveOptions::new(processors(), &on_failure) };
        let parent = Dir::open(parent)?;
        match contents {
            true => remove_contents(&parent.open_below(&name)?, &options, &counts),
            false => remove_tree(&parent, &name, &options, &counts),
        }
    })?;
    let removed = removed.map_err(|error| exception(&error, naming))?;
    for failure in failures.take() {
        let error = exception(&failure, naming);
        match &on_error {
            Some(on_error) => on_error.call1(py, (error.into_value(py),)).map(drop)?,
            None => return Err(error),
        }
    }
    let Counts { entries, directories, bytes, failures, mounts, directories_kept, .. } = removed.counts;
    Ok((entries, directories, bytes, failures, mounts, directories_kept, removed.complete))
}

/// Splits a path into the directory to open and the name in it. The path is resolved once.
fn parts(path: &Path) -> PyResult<(&Path, Vec<u8>)> {
    let bytes = names::from_os(path.as_os_str());
    let ends_in_dots =
        bytes.split(|byte| *byte == b'/').rfind(|part| !part.is_empty()).is_some_and(|part| part == b".");
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !ends_in_dots => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok((parent, names::from_os(name).to_vec()))
        }
        _ => Err(refused(path, "is not removed: it must end in a name, not in '.', '..' or '/'")),
    }
}

fn refused(path: &Path, reason: &str) -> PyErr {
    PyValueError::new_err(format!("'{}' {reason}", path.display()))
}

/// The working directory and those above it stay.
fn refuse_current(path: &Path) -> PyResult<()> {
    let is_link = path.symlink_metadata().is_ok_and(|status| status.is_symlink());
    let (Ok(current), Ok(real)) = (std::env::current_dir(), path.canonicalize()) else { return Ok(()) };
    match !is_link && current.starts_with(real) {
        true => Err(refused(
            path,
            "is not removed: it is the current directory, or above it (os.chdir elsewhere first)",
        )),
        false => Ok(()),
    }
}
