//! Carries a plan out: prepare, warm up, measure, verify, clean; and tells listeners what happens.
//!
//! Decides nothing: what comes next is [`crate::next()`]'s to say. Whatever happens on the way, an error
//! or an interruption, the record is ended properly and the run's own directory removed.

mod aging;
mod anew;
mod block;
mod build;
mod expect;
mod grounds;
mod prepare;
mod refusals;
mod replay;
mod room;
mod rounds;
mod sites;
mod start;
pub(crate) mod survey;
mod tally;
mod timing;
mod truth;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_record::{CellId, Note, Plan, Record};

use crate::control::{WorkError, words};
use crate::dataset::FillError;
use crate::event::{Event, Listener};
use crate::lab::LabError;
use crate::machine::Program;
use crate::plan::PlanError;
use crate::workload::WorkerCommand;

pub use prepare::check;
pub use start::run;

/// What to run, and how to be told to end.
#[derive(Debug)]
pub struct RunRequest<'a> {
    /// The plan.
    pub plan: Plan,
    /// What was noticed while it was made.
    pub notes: Vec<Note>,
    /// Where data sets are made, in a directory of their own; or the existing directory that is listed.
    pub directory: PathBuf,
    /// The command line that repeats the run, for the record.
    pub command: Vec<String>,
    /// The record that the run goes on with, instead of beginning one; its plan is [`RunRequest::plan`].
    pub resume: Option<Record>,
    /// What the program was built from and with.
    pub program: Program,
    /// Set from outside when the run is to end; looked at every few milliseconds.
    pub stop: &'a AtomicBool,
    /// Counted up by the run as a sign of life, so that a watcher can tell work from a hang.
    pub heartbeat: &'a AtomicU64,
    /// Whether what a device of the plan holds may be lost.
    pub erase_device: bool,
    /// How processes that work are started; without it arms whose workers are processes are left out.
    pub worker: Option<WorkerCommand>,
}

/// Returns what to try where a directory cannot be used.
fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; data is made below it, so name a directory that you can write with --dir"
        }
        _ => "",
    }
}

/// Returns an amount as a person says it: bytes in the largest binary unit that leaves three digits, all else as it is.
fn amount(what: &str, number: u64) -> String {
    if what != "space" || number < 1 << 10 {
        return number.to_string();
    }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (number.ilog2() / 10).min(units.len() as u32);
    format!("{:.1} {}", number as f64 / 2_f64.powi(10 * power as i32), units[power as usize - 1])
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// Whether all planned rounds were measured.
    pub complete: bool,
    /// Whether it ended because it was told to.
    pub interrupted: bool,
    /// Blocks that saw other entries than there are.
    pub unequal_blocks: u64,
}

/// Why a run gave no complete record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory cannot be used.
    #[error("cannot use '{}': {}{}", .path.display(), words(.source), way_out(.source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not enough space or inodes for the plan's data sets.
    #[error("'{}' has not enough {what}: about {} are needed and {} are free", .path.display(), amount(.what, *.needed), amount(.what, *.free))]
    Room {
        /// The directory.
        path: PathBuf,
        /// What there is not enough of, with its unit.
        what: &'static str,
        /// How much is needed.
        needed: u64,
        /// How much there is.
        free: u64,
    },
    /// Making a data set failed.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// What is left of the plan makes no sense any more.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An arm's work failed.
    #[error("{arm}: {reason}")]
    Arm {
        /// The arm.
        arm: String,
        /// Why.
        reason: String,
    },
    /// A data set does not hold what was made in it.
    #[error("the data set of {made} files lists {seen} entries")]
    Lost {
        /// Files made.
        made: u64,
        /// Entries listed.
        seen: u64,
    },
    /// A data set holds as many files as were made in it, under other names.
    #[error("the data set of {made} files has other names than were made")]
    OtherNames {
        /// Files made.
        made: u64,
    },
    /// A file system could not be made, mounted or unmounted.
    #[error(transparent)]
    Lab(LabError),
    /// Something failed while the file system that holds the images had no room left.
    #[error("{error}; '{}', where the images lie, has no room left: make some, or name another directory with --dir", .path.display())]
    ImagesFull {
        /// The directory.
        path: PathBuf,
        /// What failed.
        error: Box<Self>,
    },
    /// A listener cannot go on: the record cannot be written.
    #[error("cannot write the record: {}", words(.0))]
    Listener(#[source] io::Error),
    /// The run's own directory could not be removed.
    #[error("cannot remove '{}': {}; the next run will", .path.display(), words(.source))]
    Clean {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It failed, and so did cleaning up after that.
    #[error("{error}; after that: {cleaning}")]
    Uncleaned {
        /// What failed first.
        error: Box<Self>,
        /// What failed when the run cleaned up.
        cleaning: Box<Self>,
    },
    /// A record was begun elsewhere, or on what has changed since.
    #[error("the record cannot be gone on with: {reason}")]
    Resume {
        /// Why.
        reason: String,
    },
    /// It was told to end before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl RunError {
    /// Adds what became of cleaning up after this error, which stays the first that is told.
    fn and_cleaned(self, cleaned: Result<(), Self>) -> Self {
        match cleaned {
            Ok(()) => self,
            Err(cleaning) => Self::Uncleaned { error: Box::new(self), cleaning: Box::new(cleaning) },
        }
    }
}

impl From<LabError> for RunError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => Self::Interrupted,
            error => Self::Lab(error),
        }
    }
}

/// Observers of a run.
pub(crate) struct Listeners<'a, 'b>(pub(crate) &'a mut [&'b mut dyn Listener]);

impl Listeners<'_, '_> {
    /// Passes an event to all.
    pub(crate) fn tell(&mut self, event: &Event<'_>) -> Result<(), RunError> {
        self.0.iter_mut().try_for_each(|listener| listener.event(event)).map_err(RunError::Listener)
    }

    pub(crate) fn note(&mut self, note: &Note) -> Result<(), RunError> {
        self.tell(&Event::Noted(note))
    }
}

/// Returns the error of a run whose arm failed; `None` if it is no failure but the run is to end.
pub(crate) fn failed(plan: &Plan, cell: CellId, error: WorkError) -> Option<RunError> {
    match error {
        WorkError::Stopped => None,
        error => {
            let arm = plan.cells[cell.0 as usize].name.clone();
            Some(RunError::Arm { arm, reason: error.to_string() })
        }
    }
}
