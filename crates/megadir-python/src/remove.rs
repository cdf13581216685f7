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
        let on_failure = |failure: Error| failures.add(failure);
        let target = Guards::resolve(&path, contents)?;
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
        let conditions = (!conditions.is_none() || within.is_some()).then_some(&*conditions);
        let budget = selection.as_ref();
        let options = RemoveOptions { conditions, budget, dry_run, ..RemoveOptions::new(None, &on_failure) };
        let removed = match contents {
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
    let complete = removed.complete && outcome.is_none_or(|outcome| outcome.is_met);
    let now = outcome.map(|outcome| outcome.now);
    Ok((entries, directories, bytes, failures, mounts, directories_kept, complete, now))
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

/// `None` if the work is to end. What cannot be read is a failure of the removal, which meets it again.
fn selected(
    target: &Target,
    (budget, by_directory): (Budget, bool),
    conditions: &Arc<Conditions>,
    failures: &Failures,
    counts: &Progress,
) -> megadir::Result<Option<Selection>> {
    if !target.is_directory {
        let reason = "keep_within needs the directory that holds the files";
        return Err(Error::new("remove", &target.path, ErrorKind::BadOption, reason));
    }
    let options =
        SelectOptions { conditions: Arc::clone(conditions), by_directory, ..SelectOptions::new(budget) };
    let mut unread = Vec::new();
    let watch = &mut |event: TreeEvent<'_>| {
        match event {
            TreeEvent::Failed(error) => {
                unread.push(Error::new(error.operation(), error.path(), error.kind(), error.reason()));
            }
            TreeEvent::Unexamined { directory, errno, .. } => {
                let error = std::io::Error::from_raw_os_error(errno);
                unread.push(Error::io("stat an entry of", directory, error));
            }
            _ => {}
        }
        if counts.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let selection = select(&target.open()?, &options, watch)?;
    if selection.as_ref().is_some_and(Selection::is_empty) {
        unread.into_iter().for_each(|error| failures.add(error));
    }
    Ok(selection)
}
