//! Tasks of jobs on many machines, and the schedule that hands them out. Both travel as text; `megadir/_driver.py` starts them.
//!
//! ```text
//! driver: Schedule.next -> task (JSON) -> run_task on any machine -> outcome (JSON) -> Schedule.finished -> journal
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use megadir::{Error, ErrorKind};
use megadir_tasks::{Budget, Kind, Outcome, Request, Task, TaskError, finish_folder, prepare, run};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

use crate::attention::attentive;
use crate::failure::exception;
use crate::names::{Named, Naming};
use crate::stream::Stream;
use crate::usage::rows_table;

type Counted = (u64, u64, u64, u64, u64);

/// Texts of tasks come from the driver, and are checked as any input is.
fn malformed(what: &str, error: &serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("no {what}: {error}"))
}

/// See `megadir_tasks::Schedule`.
#[pyclass(module = "megadir._megadir", frozen)]
pub(crate) struct Schedule {
    schedule: Mutex<megadir_tasks::Schedule>,
    naming: Naming,
}

impl Schedule {
    /// Calls are short and never wait, so the lock is held with the interpreter's.
    fn lock(&self) -> MutexGuard<'_, megadir_tasks::Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Schedule {
    #[new]
    fn new(
        kind: &str,
        paths: &Bound<'_, PyAny>,
        folder: Option<&Bound<'_, PyAny>>,
        budget: (f64, u64),
        depth: u32,
        contents: bool,
    ) -> PyResult<Self> {
        let (seconds, entries) = budget;
        let kind: Kind = serde_json::from_value(kind.into())
            .map_err(|_| PyValueError::new_err(format!("no kind of work '{kind}'")))?;
        let (paths, naming) = Named::several(paths)?;
        let folder = folder.map(Named::from).transpose()?.map(|folder| folder.path);
        let request = Request {
            kind,
            paths,
            folder,
            budget: Budget { seconds, entries },
            depth,
            contents,
            fresh: false,
        };
        let job = prepare(&request).map_err(|error| exception(&error, naming))?;
        Ok(Self { schedule: Mutex::new(megadir_tasks::Schedule::new(job)), naming })
    }

    /// Continues from the lines of a journal. The job must be the one of this schedule.
    fn replayed(&self, lines: Vec<String>) -> PyResult<Self> {
        let replayed = megadir_tasks::Schedule::replay(lines.iter().map(String::as_str));
        let replayed = replayed.map_err(|error| exception(&error, self.naming))?;
        // A journal continues its own job only; budget and depth may differ.
        let (old, new) = (replayed.job(), self.lock().job().clone());
        if (&old.roots, old.kind, &old.folder) != (&new.roots, new.kind, &new.folder) {
            let reason = "the journal is of another job: its trees are others, or were replaced";
            return Err(PyValueError::new_err(reason));
        }
        Ok(Self { schedule: Mutex::new(replayed), naming: self.naming })
    }

    fn first_line(&self) -> String {
        self.lock().first_line()
    }

    fn next(&self, processes: usize) -> PyResult<Option<(u64, String, Option<String>)>> {
        let Some(assigned) = self.lock().next(processes) else { return Ok(None) };
        let task = serde_json::to_string(&assigned.task).map_err(|error| malformed("task", &error))?;
        Ok(Some((assigned.task.number, task, assigned.line)))
    }

    fn again(&self, number: u64) -> PyResult<Option<String>> {
        let task = self.lock().again(number);
        let text = task.map(|task| serde_json::to_string(&task)).transpose();
        text.map_err(|error| malformed("task", &error))
    }

    fn finished(&self, number: u64, outcome: &str) -> PyResult<Option<String>> {
        let outcome: Outcome = serde_json::from_str(outcome).map_err(|error| malformed("outcome", &error))?;
        Ok(self.lock().finished(number, outcome))
    }

    fn failed(&self, number: u64) -> bool {
        self.lock().failed(number)
    }

    fn is_done(&self) -> bool {
        self.lock().is_done()
    }

    /// Entries, failures, done, running, waiting.
    fn progress(&self) -> Counted {
        let progress = self.lock().progress();
        (progress.entries, progress.failures, progress.done, progress.running, progress.waiting)
    }

    fn messages(&self) -> Vec<String> {
        self.lock().messages().to_vec()
    }

    /// Writes the number of parts into their folder. Returns rows, failed, unread directories, parts.
    fn finish_folder(&self, folder: &Bound<'_, PyAny>) -> PyResult<(u64, u64, u64, u64)> {
        let folder = Named::from(folder)?;
        let schedule = self.lock();
        let parts = schedule.parts();
        finish_folder(&folder.path, parts).map_err(|error| exception(&error, folder.naming))?;
        // Rows that two parts have count once.
        let rows = parts.iter().map(|part| part.rows - part.repeated).sum();
        let failed = parts.iter().map(|part| part.failed).sum();
        Ok((rows, failed, parts.iter().map(|part| part.unread_directories).sum(), parts.len() as u64))
    }

    /// Entries, directories, failures, mounts.
    fn removal(&self) -> (u64, u64, u64, u64) {
        let removal = self.lock().removal();
        (removal.entries, removal.directories, removal.failures, removal.mounts)
    }

    /// Rows of `megadir.usage`.
    fn sums(&self, top: usize) -> PyResult<Stream> {
        let sums = self.lock().sums();
        let mut rows: Vec<_> =
            sums.into_iter().map(|sum| (sum.root, sum.path.0.clone(), sum.depth(), sum.figures())).collect();
        // Trees first, then directories by their entries.
        rows.sort_by_key(|row| {
            (row.2 > 0, std::cmp::Reverse(if row.2 > 0 { row.3.amount.entries } else { 0 }))
        });
        let roots = rows.iter().take_while(|row| row.2 == 0).count();
        rows.truncate(roots.saturating_add(top));
        rows_table(&rows, self.naming)
    }
}

/// Runs a task. Ctrl-C ends it in the main thread.
#[pyfunction]
pub(crate) fn run_task(py: Python<'_>, task: &str) -> PyResult<String> {
    let task: Task = serde_json::from_str(task).map_err(|error| malformed("task", &error))?;
    let stop = AtomicBool::new(false);
    // The driver reports progress for whole tasks.
    let watched = (|| 0, || stop.store(true, Ordering::Relaxed));
    let outcome = attentive(py, None, watched, || run(&task, &stop))?;
    let outcome = outcome.map_err(|error| match error {
        TaskError::Failed(error) => exception(&error, Naming::Text),
        TaskError::Stopped => PyKeyboardInterrupt::new_err(()),
    })?;
    serde_json::to_string(&outcome).map_err(|error| malformed("outcome", &error))
}

/// Checks that a folder exists and has no parts yet.
#[pyfunction]
pub(crate) fn check_folder(folder: &Bound<'_, PyAny>) -> PyResult<()> {
    let folder = Named::from(folder)?;
    if !folder.path.is_dir() {
        let error = Error::new("scan into", &folder.path, ErrorKind::NotADirectory, "not a directory");
        return Err(exception(&error, folder.naming));
    }
    megadir_tasks::check_folder(&folder.path).map_err(|error| exception(&error, folder.naming))
}
