//! Carries a plan out: set up, warm up, measure, verify, remove; observers receive each event.
//!
//! The run decides nothing: [`crate::next()`] returns the next step. If the run fails or is interrupted, the record still gets its last
//! line and the run's own directory is removed.
//!
//! | file | subject |
//! |---|---|
//! | `lifecycle` | a run from start to end: header, epochs, last line |
//! | `setup` | capacity, volumes, data sets, and the arms that are possible on them |
//! | `volumes` | the named directory, or the file systems made for the run |
//! | `data_sets` | filling and aging the data sets; what they occupy |
//! | `expected` | what listings must see; file times; recreated files |
//! | `data_dirs` | the directories of data sets while arms work on them |
//! | `rounds`, `block` | the loop over blocks; one block |
//! | `resume` | checks and replay before a record is continued |

mod block;
mod data_dirs;
mod data_sets;
mod expected;
mod lifecycle;
mod resume;
mod rounds;
mod setup;
mod volumes;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_record::{CellId, Note, Plan, Record};

use crate::control::{WorkError, words};
use crate::dataset::FillError;
use crate::event::{Event, Listener};
use crate::host::Program;
use crate::kind::WorkerCommand;
use crate::lab::LabError;
use crate::plan::PlanError;

pub use lifecycle::run;
pub use setup::check;

/// Arguments of a run.
#[derive(Debug)]
pub struct RunRequest<'a> {
    /// The plan.
    pub plan: Plan,
    /// Notes from planning.
    pub notes: Vec<Note>,
    /// Directory below which data sets are made, or the existing directory that is listed.
    pub directory: PathBuf,
    /// The command line that repeats the run, for the record.
    pub command: Vec<String>,
    /// The record that the run continues; its plan is [`RunRequest::plan`].
    pub resume: Option<Record>,
    /// Commit and compiler of the program.
    pub program: Program,
    /// Set from outside when the run is to end; looked at every few milliseconds.
    pub stop: &'a AtomicBool,
    /// Counted up by the run, so that a watcher can distinguish work from a hang.
    pub heartbeat: &'a AtomicU64,
    /// `true` if what a device of the plan holds may be lost.
    pub erase_device: bool,
    /// Command that starts worker processes; without it arms with such workers are omitted.
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

/// Formats an amount: bytes in the largest binary unit that leaves three digits, other numbers unchanged.
fn amount(what: &str, number: u64) -> String {
    if what != "space" || number < 1 << 10 {
        return number.to_string();
    }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (number.ilog2() / 10).min(units.len() as u32);
    format!("{:.1} {}", number as f64 / 2_f64.powi(10 * power as i32), units[power as usize - 1])
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    /// `true` if all planned rounds were measured.
    pub complete: bool,
    /// `true` if the caller stopped it.
    pub interrupted: bool,
    /// Blocks that saw other entries than there are.
    pub unequal_blocks: u64,
}

/// Reason why a run gave no complete record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory cannot be used.
    #[error("cannot use '{}': {}{}", .path.display(), words(.source), way_out(.source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error or the reason.
        source: io::Error,
    },
    /// Not enough space or inodes for the plan's data sets.
    #[error("'{}' has not enough {what}: about {} are needed and {} are free", .path.display(), amount(.what, *.needed), amount(.what, *.free))]
    Room {
        /// The directory.
        path: PathBuf,
        /// The resource that is short.
        what: &'static str,
        /// The amount needed.
        needed: u64,
        /// The amount free.
        free: u64,
    },
    /// Making a data set failed.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// The remaining plan is not possible.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An arm's work failed.
    #[error("{arm}: {reason}")]
    Arm {
        /// The arm.
        arm: String,
        /// The system's error or the reason.
        reason: String,
    },
    /// A data set does not hold the files that were made in it.
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
        /// The failure.
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
        /// The system's error or the reason.
        source: io::Error,
    },
    /// It failed, and so did cleaning up after that.
    #[error("{error}; after that: {cleaning}")]
    Uncleaned {
        /// The first failure.
        error: Box<Self>,
        /// The failure during cleanup.
        cleaning: Box<Self>,
    },
    /// A record was begun elsewhere, or its data have changed.
    #[error("the record cannot be gone on with: {reason}")]
    Resume {
        /// The system's error or the reason.
        reason: String,
    },
    /// The caller stopped it before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl RunError {
    /// Adds the result of cleaning up after this error, which is reported first.
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
