//! Executes a plan: set up, warm up, measure, verify, remove; observers receive each event. [`crate::next()`] makes all
//! decisions. If the run fails or is interrupted, the record still gets its last line and the run's own directory is removed.
//!
//! | file | subject |
//! |---|---|
//! | `lifecycle.rs` | the frame of a run: setup, rounds, removal |
//! | `setup.rs`, `volumes.rs`, `data_sets.rs` | capacity, volumes and data sets |
//! | `expected.rs`, `trial.rs`, `intact.rs` | expected results; programs before the run; their data sets after each round |
//! | `rounds.rs`, `block.rs` | the loop over blocks, and one block |
//! | `data_dirs.rs` | when directories begin empty |
//! | `resume.rs` | checks and replays an interrupted record |
//!
//! No file writes into another's structure: what a step finds, it returns. The next step follows from the plan and the
//! samples, so that a resumed run restores only the state that the next block needs, untimed. The record is synced when
//! a round of arms ends that work on the results of others.
//!
//! ```text
//!  run -> prepare -> record_expected -> begin or go_on -> record -> all_epochs -> measure -> clean
//!         volumes    hashes of names    header or         check of   one epoch     the loop   always,
//!         room       from the seed      "resumed"         the clock  after the     of blocks  even after
//!         data sets                                       and end    other                    an error
//! ```
//!
//! Resuming takes the same way as a new run: data sets are made again from the seed (nothing of the old run
//! is left on disk), compared with the record, and the blocks of the current round are replayed.

mod block;
mod data_dirs;
mod data_sets;
mod expected;
mod intact;
mod lifecycle;
mod resume;
mod rounds;
mod setup;
#[cfg(target_os = "linux")]
mod trial;
mod volumes;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::Dir;
use megadir_record::{Built, Counted, Line, Note, Plan, Record};

use crate::cache::Caches;
use crate::control::{RunControl, Stopped, WorkError, words};
use crate::dataset::FillError;
use crate::event::{Event, Listener};
use crate::host::Program;
use crate::kind::{NameSource, RankWorkers, WorkerCommand};
use crate::lab::LabError;
use crate::plan::PlanError;

pub use lifecycle::run;
pub use setup::check;
use volumes::Volumes;

/// Everything that a run is given from outside; the engine reads no environment and no options. `command` is
/// recorded as the way to repeat the run. `stop` and `heartbeat` are shared with a signal handler and a
/// watcher on other threads; all else belongs to the run's thread.
#[derive(Debug)]
pub struct RunRequest<'a> {
    pub plan: Plan,
    pub notes: Vec<Note>,
    pub directory: PathBuf,
    pub command: Vec<String>,
    /// Record to continue; its plan is [`RunRequest::plan`].
    pub resume: Option<Record>,
    pub program: Program,
    /// Ends the run; polled every few milliseconds.
    pub stop: &'a AtomicBool,
    /// Shows a watcher that the run does not hang.
    pub heartbeat: &'a AtomicU64,
    /// `true` if the contents of the plan's device may be erased.
    pub erase_device: bool,
    /// Without it arms with worker processes are omitted.
    pub worker: Option<WorkerCommand>,
    /// Ranks as workers; this process is rank 0.
    pub ranks: Option<&'a RankWorkers>,
}

/// A run after setup. The vectors `data`, `truths` and `names` have one element for each data set of the
/// plan, in its order, and pruned arms leave these orders unchanged. The value owns the directories and files on disk,
/// through `volumes`, and `clean` must be called however the run ends.
pub(crate) struct Prepared<'a> {
    /// The plan of all epochs. Set by `run` once the expected entries are known.
    pub(crate) whole: Plan,
    /// The plan of the epoch.
    pub(crate) plan: Plan,
    pub(crate) epoch: u32,
    /// Block times count from here on the monotonic clock. Set by `run` once the expected entries are known.
    pub(crate) zero_ns: u64,
    pub(crate) unequal_blocks: u64,
    pub(crate) notes: Vec<Note>,
    pub(crate) command: Vec<String>,
    pub(crate) program: Program,
    pub(crate) directory: Dir,
    pub(crate) data: Vec<Dir>,
    pub(crate) built: Option<Built>,
    pub(crate) truths: Vec<Counted>,
    pub(crate) names: Vec<NameSource>,
    pub(crate) control: RunControl<'a>,
    pub(crate) worker: Option<WorkerCommand>,
    pub(crate) ranks: Option<&'a RankWorkers>,
    pub(crate) caches: Caches,
    pub(crate) volumes: Volumes,
}

/// Hint for errors that another directory would avoid.
fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; data is created below it, so name a writable directory with --dir"
        }
        _ => "",
    }
}

/// An amount of space in a binary unit, and any other resource (inodes, names) as a plain number.
fn amount(resource: &str, number: u64) -> String {
    if resource != "space" || number < 1 << 10 {
        return number.to_string();
    }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (number.ilog2() / 10).min(units.len() as u32);
    format!("{:.1} {}", number as f64 / 2_f64.powi(10 * power as i32), units[power as usize - 1])
}

fn before(error: Option<&RunError>) -> String {
    error.map_or_else(String::new, |error| format!("{error}; "))
}

/// Outcome of a run whose record has its last line. `complete` is `false` if it was interrupted, by the
/// user or by a time limit of the caller; `interrupted` is `true` only if `stop` was set.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEnd {
    pub complete: bool,
    pub interrupted: bool,
    pub unequal_blocks: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot use '{}': {}{}", .path.display(), words(.source), way_out(.source))]
    Directory { path: PathBuf, source: io::Error },
    #[error("'{}' has not enough {resource}: about {} needed, {} \
        free", .path.display(), amount(.resource, *.needed), amount(.resource, *.free))]
    Room { path: PathBuf, resource: &'static str, needed: u64, free: u64 },
    #[error(transparent)]
    Fill(#[from] FillError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("{arm}: {reason}")]
    Arm { arm: String, reason: String },
    #[error("the data set of {made} files lists {seen} entries")]
    Lost { made: u64, seen: u64 },
    #[error("the data set of {made} files has unexpected names")]
    OtherNames { made: u64 },
    #[error(transparent)]
    Lab(LabError),
    #[error("{error}; '{}', which holds the images, is full: free some space, or name another directory \
        with --dir", .path.display())]
    ImagesFull { path: PathBuf, error: Box<Self> },
    #[error("{}the disk of {name} refused writes beyond the {} of memory that it may take, so figures from there on would be wrong: \
        make the study smaller, or allow more with --disk memory:limit=SIZE", before(.error.as_deref()), amount("space", *.limit_bytes))]
    MemoryFull {
        name: String,
        limit_bytes: u64,
        /// Failure that this caused, if it did.
        error: Option<Box<Self>>,
    },
    #[error("{}the process that serves the modelled disk of {name} has ended; was it killed?", before(.error.as_deref()))]
    DiskLost {
        name: String,
        /// Failure that this caused, if it did.
        error: Option<Box<Self>>,
    },
    #[error("cannot write the record: {}", words(.0))]
    Listener(#[source] io::Error),
    #[error("cannot remove '{}': {}; the next run removes it", .path.display(), words(.source))]
    Clean { path: PathBuf, source: io::Error },
    #[error("{error}; after that: {cleaning}")]
    Uncleaned { error: Box<Self>, cleaning: Box<Self> },
    #[error("the record cannot be resumed: {reason}")]
    Resume { reason: String },
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl RunError {
    fn unusable<E: Into<io::Error>>(path: &Path) -> impl Fn(E) -> Self {
        move |source| Self::Directory { path: path.to_owned(), source: source.into() }
    }

    fn of_arm(arm: impl Display, error: WorkError) -> Self {
        match error {
            WorkError::Stopped => Self::Interrupted,
            error => Self::Arm { arm: arm.to_string(), reason: error.to_string() },
        }
    }

    /// The first error with the error of cleaning up after it: both matter, since something may be left on
    /// the disk.
    fn and_cleaned(self, cleaned: Result<(), Self>) -> Self {
        match cleaned {
            Ok(()) => self,
            Err(cleaning) => Self::Uncleaned { error: Box::new(self), cleaning: Box::new(cleaning) },
        }
    }
}

impl From<Stopped> for RunError {
    fn from(_: Stopped) -> Self {
        Self::Interrupted
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

/// Observers in the order given. The first that fails ends the event, and with it the run.
pub(crate) struct Listeners<'a, 'b>(pub(crate) &'a mut [&'b mut dyn Listener]);

impl Listeners<'_, '_> {
    pub(crate) fn emit(&mut self, event: &Event<'_>) -> Result<(), RunError> {
        self.0.iter_mut().try_for_each(|listener| listener.event(event)).map_err(RunError::Listener)
    }

    pub(crate) fn record(&mut self, line: &Line) -> Result<(), RunError> {
        self.emit(&Event::Recorded(line))
    }

    pub(crate) fn notes(&mut self, notes: impl IntoIterator<Item = Note>) -> Result<(), RunError> {
        notes.into_iter().try_for_each(|note| self.record(&Line::Note(note)))
    }
}
