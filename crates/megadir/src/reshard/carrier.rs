//! Moves groups of files in a thread of its own, while the caller's reads, sorts and opens the next ones.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::relink::{Done, Refusal, Relinker, Taken, rename, taken_by};
use super::window::{Group, Waiting};
use super::{Progress, ReshardOptions};
use crate::dir::Dir;
use crate::pace::Pace;

/// Refusals that are passed on at once.
const BATCH: usize = 256;
/// Batches that wait; then the thread does too.
const BATCHES_MAX: usize = 16;

pub(super) enum Job {
    Move {
        group: Group,
        sources: Arc<Vec<Arc<Dir>>>,
        /// `None` if it could not be opened.
        targets: Vec<Option<Arc<Dir>>>,
    },
    /// A file outside of the groups.
    MoveOne { source: Arc<Dir>, name: Box<[u8]>, target: Arc<Dir>, file: Box<[u8]> },
    /// Parent and name, the deepest first. Directories that are not empty stay.
    RemoveEmptied(Vec<(Arc<Dir>, Box<[u8]>)>),
}

/// Sent in parts while a job runs, so that refusals take bounded memory, with `is_last` in the final part.
/// The thread that reads counts and reports them: callbacks of the caller never run in this thread.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) moved: u64,
    pub(super) removed: u64,
    pub(super) unopened: u64,
    pub(super) refused: Vec<Refusal>,
    is_last: bool,
}

/// The only thread that renames, since the kernel has one lock for renames between directories of a file
/// system. `is_ended` is set by an error after which nothing can succeed; jobs that follow are then answered
/// without doing them.
pub(super) struct Worker<'a> {
    progress: &'a Progress,
    pace: Option<Pace>,
    /// `None` to rename.
    relinker: Option<Relinker>,
    is_ended: bool,
    outcome: Outcome,
}

impl<'a> Worker<'a> {
    fn new(options: &ReshardOptions<'_>, progress: &'a Progress) -> Self {
        let start = || Relinker::start(options.files_per_second_max.is_some());
        Self {
            progress,
            pace: options.files_per_second_max.map(Pace::new),
            relinker: options.offline.then(start).flatten(),
            is_ended: false,
            outcome: Outcome::default(),
        }
    }

    /// Cancellation is looked at before each file, so that a run ends within one system call. Links of an
    /// offline run are waited for at the end of each job: afterwards every file of the job has one path
    /// again, and directories may be removed.
    fn work(&mut self, job: Job, report: &mut dyn FnMut(Outcome)) {
        match job {
            Job::Move { group, sources, targets } => {
                for file in group.files() {
                    if !self.goes_on() {
                        break;
                    }
                    let source = &sources[file.source];
                    match &targets[file.target] {
                        Some(target) => self.carry(source, target, &file),
                        None => self.outcome.unopened += 1,
                    }
                    if self.outcome.refused.len() >= BATCH {
                        report(std::mem::take(&mut self.outcome));
                    }
                }
                self.finish_links();
            }
            Job::MoveOne { source, name, target, file } => {
                if self.goes_on() {
                    self.carry(&source, &target, &Waiting { target: 0, source: 0, name: &name, file: &file });
                }
                self.finish_links();
            }
            Job::RemoveEmptied(left) => {
                for (parent, name) in left {
                    if !self.is_ended
                        && !self.progress.is_cancelled()
                        && rustix::fs::unlinkat(&*parent, &*name, AtFlags::REMOVEDIR).is_ok()
                    {
                        self.outcome.removed += 1;
                    }
                }
            }
        }
        self.outcome.is_last = true;
        report(std::mem::take(&mut self.outcome));
    }

    /// Waits until the next file is within the rate; `false` if no more files are moved.
    fn goes_on(&self) -> bool {
        let cancelled = || self.progress.is_cancelled();
        let is_due = self.pace.as_ref().is_none_or(|pace| pace.wait(1, cancelled));
        is_due && !self.is_ended && !cancelled()
    }

    fn finish_links(&mut self) {
        if let Some(relinker) = &mut self.relinker {
            let done = relinker.wait();
            self.add(done);
        }
    }

    fn carry(&mut self, source: &Arc<Dir>, target: &Arc<Dir>, file: &Waiting<'_>) {
        let moved = match &mut self.relinker {
            Some(relinker) => relinker.link(source, target, file).map(|()| relinker.done()),
            None => rename(source, target, file).map(|()| Done { moved: 1, ..Done::default() }),
        };
        match moved {
            Ok(done) => self.add(done),
            Err(error) => {
                let is_taken = error == Errno::EXIST;
                let taken = if is_taken { taken_by(source, target, file) } else { Taken::Other };
                // No other file can be renamed either.
                self.is_ended |= matches!(error, Errno::INVAL | Errno::NOSYS);
                let (source, name) = (Arc::clone(source), file.name.into());
                self.outcome.refused.push(Refusal { source, name, error, taken });
            }
        }
    }

    fn add(&mut self, done: Done) {
        self.outcome.moved += done.moved;
        self.progress.more(done.moved);
        self.outcome.refused.extend(done.refused);
    }
}

pub(super) enum Carrier<'a> {
    Thread {
        jobs: Sender<Job>,
        outcomes: Receiver<Outcome>,
        is_busy: bool,
    },
    /// The system refuses a thread.
    Here(Box<Worker<'a>>),
}

impl<'a> Carrier<'a> {
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        options: &ReshardOptions<'_>,
        progress: &'a Progress,
    ) -> Self
    where
        'a: 'scope,
    {
        let (jobs, waiting) = channel();
        let (sender, outcomes) = sync_channel(BATCHES_MAX);
        let worker = Worker::new(options, progress);
        match Builder::new().spawn_scoped(scope, move || serve(worker, &waiting, &sender)) {
            Ok(_) => Self::Thread { jobs, outcomes, is_busy: false },
            Err(_) => Self::Here(Box::new(Worker::new(options, progress))),
        }
    }

    /// Begins with a job once the last one is done.
    pub(super) fn give(&mut self, job: Job, take: &mut dyn FnMut(Outcome)) {
        self.wait(take);
        match self {
            Self::Thread { jobs, is_busy, .. } => *is_busy = jobs.send(job).is_ok(),
            Self::Here(worker) => worker.work(job, take),
        }
    }

    pub(super) fn wait(&mut self, take: &mut dyn FnMut(Outcome)) {
        let Self::Thread { outcomes, is_busy, .. } = self else { return };
        while *is_busy && let Ok(outcome) = outcomes.recv() {
            *is_busy = !outcome.is_last;
            take(outcome);
        }
    }
}

fn serve(mut worker: Worker<'_>, jobs: &Receiver<Job>, sender: &SyncSender<Outcome>) {
    while let Ok(job) = jobs.recv() {
        // The receiver is gone if the reading failed.
        worker.work(job, &mut |outcome| drop(sender.send(outcome)));
    }
}
