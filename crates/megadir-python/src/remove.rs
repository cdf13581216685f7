//! `remove`: removes trees and the contents of directories, relative to descriptors.

use std::path::Path;

use megadir::remove::target::{Guards, Links, Resolver, Target};
use megadir::remove::{Counts, Failures, Progress, RemoveOptions, Removed, remove_contents, remove_tree};
use megadir::{Error, names, policy};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attention::{Callbacks, attentive};
use crate::conditions::conditions;
use crate::failure::exception;
use crate::names::Named;

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
    let (failures, counts) = (Failures::new(FAILURES_MAX), Progress::new());
    let done = || {
        let Counts { entries, directories, .. } = counts.counts();
        entries + directories
    };
    let removed = attentive(py, progress, (done, || counts.cancel()), || -> megadir::Result<Removed> {
        let on_failure = |failure: Error| failures.add(failure);
        let options =
            RemoveOptions { conditions, dry_run, ..RemoveOptions::new(policy::processors(), &on_failure) };
        let target = resolve(&path, contents)?;
        match contents {
            true => remove_contents(&target.open()?, &options, &counts),
            false => remove_tree(&target.parent, &target.name, &options, &counts),
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

/// Refuses the current directory and the directories above it.
fn resolve(path: &Path, contents: bool) -> megadir::Result<Target> {
    let target = Resolver::new(Links::Followed).resolve(names::from_os(path.as_os_str()), false);
    let checked = target.and_then(|target| {
        Guards::find().check(&target, contents)?;
        Ok(target)
    });
    checked.map_err(|none| none.into_error(path))
}
