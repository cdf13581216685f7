//! `remove`: removes trees and the contents of directories, relative to descriptors; or the files that were not used for
//! the longest time, until the rest fits a budget.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use megadir::remove::budget::{AccessTimes, Budget, Measure, Outcome, SelectOptions, select};
use megadir::remove::target::Guards;
use megadir::remove::{Counts, Failures, Progress, RemoveOptions, Removed, remove_contents, remove_tree};
use megadir::{Conditions, Error, TimeKind, TreeEvent};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::attention::{Callbacks, attentive, report};
use crate::conditions::{conditions, conditions_and_time};
use crate::failure::{exception, unexamined};
use crate::names::{Named, Naming};
use crate::units::{bad, number, without_unit};

/// Messages that are kept; a removal of a tree without permission may have millions.
const FAILURES_MAX: usize = 1000;

/// Entries, directories, bytes, failures, mounts, directories kept, complete, budget.
type Counted = (u64, u64, u64, u64, u64, u64, bool, Option<Kept>);

/// Measure and whether it is of free; limit, now; met, out of reach, frees nothing; files and bytes held, files and bytes
/// linked, changed, unread; access times.
type Kept =
    ((&'static str, bool), (u64, u64), (bool, bool, bool), (u64, u64, u64, u64, u64, u64), &'static str);

/// See `megadir.remove`.
// Failures are collected while the interpreter's lock is free and reported after the removal, in the caller's thread;
// beyond `FAILURES_MAX` they are only counted. The path is resolved within the work, because the guards against
// removing the root or the current directory read the file system.
#[pyfunction]
#[pyo3(signature = (path, contents, keep_within, dry_run, callbacks, given))]
pub(crate) fn remove(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    contents: bool,
    keep_within: Option<&Bound<'_, PyAny>>,
    dry_run: bool,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Counted> {
    let (on_error, progress) = callbacks;
    let Named { path, naming } = Named::from(path)?;
    let within = keep_within.map(|budget| Within::new(budget, contents, given)).transpose()?;
    let conditions = if within.is_some() { Conditions::default() } else { conditions(given)? };
    let (failures, counts, read) = (Failures::new(FAILURES_MAX), Progress::new(), AtomicU64::new(0));
    let mut unread = Unread { naming, count: 0, errors: Vec::new() };
    // Directories count, so that progress ends at the number of all entries.
    let done = || {
        let Counts { entries, directories, .. } = counts.counts();
        read.load(Ordering::Relaxed) + entries + directories
    };
    let removed = attentive(py, progress, (done, || counts.cancel()), || -> megadir::Result<_> {
        if let Some(within) = within {
            return within.remove(&path, dry_run, &mut unread, (&failures, &counts, &read));
        }
        let conditions = (!conditions.is_none()).then_some(&conditions);
        let on_failure = |failure: Error| failures.add(failure);
        let options = RemoveOptions { conditions, dry_run, ..RemoveOptions::new(None, &on_failure) };
        let target = Guards::resolve(&path, contents)?;
        let removed = match contents {
            true => remove_contents(&target.open()?, &options, &counts),
            false => remove_tree(&target.parent, &target.name, &options, &counts),
        };
        Ok((removed?, None))
    })?;
    let (Removed { counts, complete, .. }, kept) = removed.map_err(|error| exception(&error, naming))?;
    // By now nothing is removed any more, so a function that raises loses only messages.
    let failures = failures.take().into_iter().map(|failure| exception(&failure, naming));
    for failure in unread.errors.into_iter().chain(failures) {
        report(on_error.as_ref(), failure)?;
    }
    let Counts { entries, directories, bytes, failures, mounts, directories_kept, .. } = counts;
    Ok((entries, directories, bytes, failures, mounts, directories_kept, complete, kept))
}

/// Failures of the pass that selects, before the removal.
struct Unread {
    naming: Naming,
    count: u64,
    /// At most [`FAILURES_MAX`].
    errors: Vec<PyErr>,
}

impl Unread {
    fn note(&mut self, event: &TreeEvent<'_>) {
        let (count, error) = match *event {
            TreeEvent::Failed(error) => (1, exception(error, self.naming)),
            TreeEvent::Unexamined { directory, first, errno, count } => {
                (count, unexamined(directory, first, errno, self.naming))
            }
            TreeEvent::Read(_) | TreeEvent::Written(_) | TreeEvent::OtherMount(_) => return,
        };
        self.count += count;
        if self.errors.len() < FAILURES_MAX {
            self.errors.push(error);
        }
    }
}

/// `keep_within`: the budget, and which files may go, in the order of their time.
struct Within {
    budget: Budget,
    conditions: Conditions,
}

impl Within {
    /// `by` may be given without an age, because it is the order too.
    fn new(budget: &Bound<'_, PyAny>, contents: bool, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let Ok(text) = budget.cast::<PyString>() else {
            let number = number(budget).unwrap_or(50);
            let lines = format!(
                "keep_within=\"{number}GB\", keep_within=\"{number} files\", keep_within=\"10% free\" or the like"
            );
            return Err(without_unit("keep_within", budget, &lines));
        };
        let budget =
            Budget::parse(&text.extract::<String>()?).map_err(|reason| bad("keep_within", &reason))?;
        if contents {
            return Err(bad("keep_within", "the directory stays anyway: leave contents out"));
        }
        let (conditions, by) = conditions_and_time(given)?;
        let by = by.unwrap_or(TimeKind::Used);
        Ok(Self { budget, conditions: Conditions { by, ..conditions } })
    }

    /// Selects and removes. What could not be read counts as a failure, because it may hold more than the budget allows. The
    /// selection reads the tree and counts again before the first removal, and a stop between the two leaves everything in its
    /// place.
    fn remove(
        self,
        path: &Path,
        dry_run: bool,
        unread: &mut Unread,
        (failures, counts, read): (&Failures, &Progress, &AtomicU64),
    ) -> megadir::Result<(Removed, Option<Kept>)> {
        let directory = Guards::resolve(path, true)?.open()?;
        let options =
            SelectOptions { conditions: Arc::new(self.conditions), ..SelectOptions::new(self.budget) };
        let mut watch = |event: TreeEvent<'_>| {
            match event {
                TreeEvent::Read(entries) => read.store(entries, Ordering::Relaxed),
                other => unread.note(&other),
            }
            if counts.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let Some(mut selection) = select(&directory, &options, &mut watch)? else {
            // The reason of the stop is raised instead.
            return Ok((Removed { counts: counts.counts(), complete: false, cancelled: true }, None));
        };
        let on_failure = |failure: Error| failures.add(failure);
        let options = RemoveOptions { dry_run, ..RemoveOptions::new(None, &on_failure) };
        let mut removed = selection.remove(&options, counts)?;
        removed.counts.failures += unread.count;
        removed.complete &= selection.outcome().is_surely_met();
        let kept = kept(&selection.outcome(), self.budget, AccessTimes::of(&directory));
        Ok((removed, Some(kept)))
    }
}

/// The fields of the command's `--json`, and what the mount records of accesses.
fn kept(outcome: &Outcome, budget: Budget, access_times: AccessTimes) -> Kept {
    let Outcome { held, linked, changed, limit, now, unread, .. } = *outcome;
    let measure = if budget.measure() == Measure::Bytes { "bytes" } else { "files" };
    let access_times = match access_times {
        AccessTimes::Recorded => "recorded",
        AccessTimes::Seldom => "seldom",
        AccessTimes::Never => "never",
    };
    let flags = (outcome.is_surely_met(), outcome.is_out_of_reach, outcome.frees_nothing);
    let amounts = (held.files, held.bytes, linked.files, linked.bytes, changed, unread);
    ((measure, budget.is_of_free()), (limit, now), flags, amounts, access_times)
}
