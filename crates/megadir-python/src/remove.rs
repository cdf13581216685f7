//! `remove`: removes trees and the contents of directories, relative to descriptors.

use std::ops::ControlFlow;
use std::sync::Arc;

use megadir::remove::budget::{Budget, SelectOptions, Selection, select};
use megadir::remove::target::{Guards, Target};
use megadir::remove::{Counts, Failures, Progress, RemoveOptions, Removed, remove_contents, remove_tree};
use megadir::{Conditions, Error, ErrorKind, TimeKind, TreeEvent};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attention::{Callbacks, attentive, report};
use crate::conditions::conditions_by;
use crate::failure::exception;
use crate::names::Named;
use crate::units::{bad, budget_text};

const FAILURES_MAX: usize = 1000;

/// Entries, directories, bytes, failures, mounts, directories kept, complete, what the budget counts then.
type Counted = (u64, u64, u64, u64, u64, u64, bool, Option<u64>);

/// A budget and its unit.
type Within<'py> = (Option<Bound<'py, PyAny>>, Option<String>);

/// See `megadir.remove`.
#[pyfunction]
#[pyo3(signature = (path, contents, dry_run, within, callbacks, given))]
pub(crate) fn remove(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    contents: bool,
    dry_run: bool,
    within: Within<'_>,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Counted> {
    let (on_error, progress) = callbacks;
    let Named { path, naming } = Named::from(path)?;
    let within = parsed(within, contents)?;
    let conditions = Arc::new(conditions_by(given, within.map(|_| TimeKind::Used))?);
    let (failures, counts) = (Failures::new(FAILURES_MAX), Progress::new());
    let done = || {
        let Counts { entries, directories, .. } = counts.counts();
        entries + directories
    };
    type Done = megadir::Result<(Removed, Option<Selection>)>;
    let removed = attentive(py, progress, (done, || counts.cancel()), || -> Done {
        // With a budget the directory stays too, and may be a mount point.
        let target = Guards::resolve(&path, contents || within.is_some());
        let target = target.map_err(|error| match within {
            Some(_) if error.kind() == ErrorKind::NotADirectory => no_directory(&path),
            _ => error,
        })?;
        let selection = match within {
            None => None,
            Some(within) => match selected(&target, within, &conditions, &failures, &counts)? {
                // Without a selection everything would be removed.
                None => {
                    return Ok((Removed { counts: counts.counts(), complete: false, cancelled: true }, None));
                }
                selection => selection,
            },
        };
        let budget = selection.as_ref();
        let on_failure = |failure: Error| {
            if !budget.is_some_and(|selection| selection.has_reported(&failure)) {
                failures.add(failure);
            }
        };
        // Those of a selection are its own.
        let conditions = (!conditions.is_none() && budget.is_none()).then_some(&*conditions);
        let options = RemoveOptions { conditions, budget, dry_run, ..RemoveOptions::new(None, &on_failure) };
        let removed = match contents || budget.is_some() {
            true => remove_contents(&target.open()?, &options, &counts)?,
            false => remove_tree(&target.parent, &target.name, &options, &counts)?,
        };
        Ok((removed, selection))
    })?;
    let (removed, selection) = removed.map_err(|error| exception(&error, naming))?;
    for failure in failures.take() {
        report(on_error.as_ref(), exception(&failure, naming))?;
    }
    let Counts { entries, directories, bytes, failures, mounts, directories_kept, .. } = removed.counts;
    let outcome = selection.map(|selection| selection.outcome());
    let complete = removed.complete && outcome.is_none_or(|outcome| outcome.is_met && outcome.unread == 0);
    // The removal may have ended before it met them.
    let failures = failures.max(outcome.map_or(0, |outcome| outcome.unread));
    let now = outcome.map(|outcome| outcome.now);
    Ok((entries, directories, bytes, failures, mounts, directories_kept, complete, now))
}

fn no_directory(path: &std::path::Path) -> Error {
    let reason = "keep_within needs the directory that holds the files";
    Error::new("remove", path, ErrorKind::BadOption, reason)
}

/// The budget, and whether directories are its units.
fn parsed((keep_within, unit): Within<'_>, contents: bool) -> PyResult<Option<(Budget, bool)>> {
    let by_directory = match unit.as_deref() {
        Some(_) if keep_within.is_none() => return Err(bad("unit", "needs keep_within")),
        None | Some("file") => false,
        Some("directory") => true,
        Some(other) => return Err(bad("unit", &format!("'{other}' is neither file nor directory"))),
    };
    let Some(value) = keep_within else { return Ok(None) };
    if contents {
        return Err(bad("contents", "excludes keep_within, with which the directory stays anyway"));
    }
    let text = budget_text("keep_within", &value)?;
    let budget = Budget::parse(&text).map_err(|reason| bad("keep_within", &reason))?;
    Ok(Some((budget, by_directory)))
}

/// `None` if the work is to end. What cannot be read is a failure, which the removal does not report again.
fn selected(
    target: &Target,
    (budget, by_directory): (Budget, bool),
    conditions: &Arc<Conditions>,
    failures: &Failures,
    counts: &Progress,
) -> megadir::Result<Option<Selection>> {
    let options =
        SelectOptions { conditions: Arc::clone(conditions), by_directory, ..SelectOptions::new(budget) };
    let watch = &mut |event: TreeEvent<'_>| {
        match event {
            TreeEvent::Failed(error) => {
                failures.add(Error::new(error.operation(), error.path(), error.kind(), error.reason()));
            }
            TreeEvent::Unexamined { directory, errno, .. } => {
                let error = std::io::Error::from_raw_os_error(errno);
                failures.add(Error::io("stat an entry of", directory, error));
            }
            _ => {}
        }
        if counts.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    select(&target.open()?, &options, watch)
}
