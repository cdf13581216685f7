//! Work on single files: create, read, rewrite, stat, unlink; by one worker or several.
//!
//! ```text
//! setup   each worker: its files, their order, names and contents of the first batch    untimed
//! run     barrier; each worker: batch, pause to compute the next, batch ...; syncfs     the block
//! ```
//!
//! A block lasts from the first worker's start to the last one's end, without that worker's pauses to
//! compute names and contents. An operation's time is the time of its system calls, see [`mod@file`]; the
//! rest is recorded as gaps. Files are created with `O_EXCL`, and links are never followed.
//!
//! | file | subject |
//! |---|---|
//! | `task.rs`, `order.rs` | the files of a worker, their order, names and contents |
//! | `file.rs`, `by_directory.rs` | one operation; access by name or directory by directory |
//! | `worker.rs` | a worker in one block |
//! | `processes.rs`, `transport/` | workers as threads and processes |
//! | `ranks.rs`, `shared.rs` | workers as ranks, and the directory that all of them see |

mod by_directory;
mod file;
mod order;
mod processes;
pub(crate) mod ranks;
mod shared;
mod task;
pub(crate) mod transport;
mod worker;

use std::io;
use std::path::Path;

use file::Outcome;
use megadir::Dir;
use megadir::limits::{Limit, explain_at};
use megadir_record::{
    Access, Axes, Counted, Data, DataSource, FileOperation, FileOrder, FileWork, Note, Plan, Refused,
    Sharing, SyncPolicy, Work, WorkerKind, Workers,
};
use megadir_stats::permutation::SplitMix64;
use order::LISTED_MAX;
use processes::Processes;
use task::Task;
use worker::{Report, Worker};

use crate::control::{Result, WorkError};
use crate::kind::cost::{BLOCK_NS, MAKE_NS};
use crate::kind::{BlockKey, BlockUsage, Traits, WorkBlock, WorkerSource, Workload};
use crate::measure::Stopwatch;
use crate::note::NoteKind;
use crate::os::{self, At, Borrowed};

#[cfg(test)]
mod tests;

pub use processes::serve;
pub use ranks::RankWorkers;
pub use shared::{SharedDirectory, prove_shared};

pub(crate) fn traits(work: &FileWork) -> Traits {
    Traits { block_ns: BLOCK_NS + work.files() * MAKE_NS, ..Traits::default() }
}

/// The workload of an arm on single files. The workers of `crew` are prepared by the setup of a block and
/// used up by it. `entries` counts the files of one tree: each worker has one of its own, or all share one.
pub(crate) struct Files<'a> {
    work: FileWork,
    data: Data,
    /// Files of a tree.
    entries: u64,
    seed: u64,
    source: WorkerSource<'a>,
    crew: Crew<'a>,
    taken: Option<BlockUsage>,
}

/// The workers of a block, from its setup to its end.
enum Crew<'a> {
    Threads(Vec<Worker>),
    Processes(Processes),
    /// The workers of rank 0; the other ranks have their own.
    Ranks(&'a RankWorkers, Vec<Worker>),
}

impl<'a> Files<'a> {
    /// `sharers`: most workers that share the data's tree.
    pub(crate) fn new(
        work: &FileWork,
        (data, sharers): (&Data, u32),
        seed: u64,
        source: WorkerSource<'a>,
    ) -> Self {
        let entries = match work.workers.sharing {
            Sharing::Own => data.entries,
            Sharing::Same => data.entries.saturating_mul(u64::from(sharers.max(1))),
        };
        let crew = Crew::Threads(Vec::new());
        Self { work: work.clone(), data: data.clone(), entries, seed, source, crew, taken: None }
    }

    /// Returns the tasks of a block, one per worker; `None` for an existing directory.
    fn tasks(&self, key: BlockKey) -> Option<Vec<Task>> {
        let made = self.data.source.made()?;
        let task = |worker| Task {
            work: self.work.clone(),
            made: made.clone(),
            entries: self.entries,
            seed: self.seed,
            block_seed: self.seed ^ SplitMix64::new(key.place() ^ (u64::from(worker) << 16)).next_u64(),
            worker,
        };
        Some((0..self.work.workers.count).map(task).collect())
    }
}

impl Workload for Files<'_> {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        let DataSource::Made(made) = &self.data.source else {
            return Some(
                "it changes files, so it needs files created by the run, not a directory of yours".into(),
            );
        };
        if let Some(reason) = self.source.lacking(&self.work.workers) {
            return Some(reason);
        }
        let reason = refused(&self.work).or_else(|| file::refused(&self.work, directory.at()));
        if reason.is_some() {
            return reason;
        }
        let set = match self.tasks(BlockKey::FIRST)?.pop()?.set() {
            Ok(set) => set,
            Err(error) => return Some(error.to_string()),
        };
        if matches!(made.spread, megadir_record::Spread::Shape { .. }) && self.work.to > self.entries {
            return Some("a copied shape has no directories for additional files".into());
        }
        let unknown =
            self.work.operation == FileOperation::MakeDirectories && set.files.directories().is_none();
        unknown.then(|| "the directories of this layout are unknown before the names".into())
    }

    fn remark(&self) -> Option<Note> {
        let workers = &self.work.workers;
        let threads = workers.kind == WorkerKind::Thread && workers.count > 1;
        let error = threads.then(processes::shares_descriptors).flatten()?;
        let text = format!("threads share one descriptor table and wait for its lock: {error}");
        Some(NoteKind::SharedDescriptors.note(text))
    }

    fn setup(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        let WorkBlock { directory, key, control, .. } = *block;
        // End the workers of an earlier block first.
        (self.crew, self.taken) = (Crew::Threads(Vec::new()), None);
        let tasks = self.tasks(key).unwrap_or_default();
        self.crew = match (self.work.workers.kind, self.source) {
            (WorkerKind::Process, WorkerSource { command: Some(command), .. }) => {
                Crew::Processes(Processes::prepare(tasks, directory, command, control)?)
            }
            (WorkerKind::Rank, WorkerSource { ranks: Some(ranks), .. }) => {
                Crew::Ranks(ranks, ranks.prepare(tasks, directory, control)?)
            }
            _ => Crew::Threads(processes::prepare(tasks, directory, control)?),
        };
        Ok(())
    }

    fn run(&mut self, block: &WorkBlock<'_>, stopwatch: &mut Stopwatch) -> Result<Counted> {
        let WorkBlock { directory, control, .. } = *block;
        // Dropping the crew on return ends workers that are not done.
        let mut times = None;
        let reports = match std::mem::replace(&mut self.crew, Crew::Threads(Vec::new())) {
            Crew::Threads(mut workers) => {
                processes::work_threads(&mut workers, directory, stopwatch, || (), control)?
            }
            Crew::Processes(mut processes) => processes.work(directory, stopwatch, control)?,
            Crew::Ranks(ranks, workers) => {
                let (reports, of_ranks) = ranks.work(workers, directory, stopwatch, control)?;
                times = of_ranks;
                reports
            }
        };
        let all = sum_up(&reports, reports.iter().map(|report| report.start_ns).min().unwrap_or(0));
        self.taken = Some(BlockUsage { ranks: times, ..BlockUsage::new(all.end_ns, all.used) });
        Ok(Counted { entries: all.files, hash: all.wrong, calls: None, written_bytes: 0 })
    }

    fn usage(&mut self) -> Option<BlockUsage> {
        self.taken.take()
    }
}

/// Most workers of an arm that have trees of their own, or share one.
pub(crate) fn workers_max(plan: &Plan, data: &Data, sharing: Sharing) -> Option<u32> {
    let on_data = plan.arms.iter().filter(|arm| arm.data == data.id);
    let workers = on_data.filter_map(|arm| match &arm.work {
        Work::Files(FileWork { workers, .. }) => Some(*workers),
        _ => None,
    });
    workers.filter(|workers| workers.sharing == sharing).map(|workers| workers.count).max()
}

/// Returns the reason why work is unsupported: no requested property is silently ignored.
///
/// Combinations that make no sense are refused as a table, because the reasons are independent and each is a
/// sentence of its own. Study files and records may have any combination, so this is tested for each arm and
/// not where the arms are built.
fn refused(work: &FileWork) -> Option<String> {
    let FileWork { operation, access, sync, owner_and_mode, workers, .. } = work;
    let writes = matches!(operation, FileOperation::Create | FileOperation::Rewrite);
    let only_looks = matches!(operation, FileOperation::Read | FileOperation::Stat);
    let makes_directories = *operation == FileOperation::MakeDirectories;
    let listed = matches!(access, Access::Name { order: FileOrder::Listing | FileOrder::Inode });
    let as_written = matches!(access, Access::Directory | Access::Name { order: FileOrder::AsWritten });
    let all_in_one = workers.count > 1 && workers.sharing == Sharing::Same;
    let lists = *access == Access::Directory && (only_looks || *operation == FileOperation::Unlink);
    let reasons = [
        (
            *operation == FileOperation::Create && listed,
            "files that do not exist yet have no listing or inode order",
        ),
        (makes_directories && !as_written, "directories can only be created in the order as-written"),
        (all_in_one && lists, "workers that list one shared tree would each process all files"),
        (*owner_and_mode && !writes, "owner and mode can only be set on files that are created or rewritten"),
        (only_looks && *sync != SyncPolicy::Never, "reads and attribute queries have no data to sync"),
        (!writes && *sync == SyncPolicy::EachFile, "only written files can be synced one by one"),
        (
            makes_directories && *sync == SyncPolicy::FileAndDirectory,
            "directories can only be synced at the end or never",
        ),
        (workers.count == 0 || work.from >= work.to, "it has no files to work on"),
    ];
    if let Some((_, reason)) = reasons.into_iter().find(|(is_refused, _)| *is_refused) {
        return Some(reason.to_owned());
    }
    let files = work.to - work.from;
    (listed && files > LISTED_MAX).then(|| {
        format!("the listing or inode order of {files} files is too large for memory (at most {LISTED_MAX})")
    })
}

/// All workers as one that began at 0: its end is the elapsed time since `began_ns`, without pauses.
/// Clocks of other hosts are not comparable, so ranks pass their own barrier.
fn sum_up(reports: &[Report], began_ns: u64) -> Report {
    let worked = |report: &Report| report.end_ns.saturating_sub(began_ns + report.paused_ns);
    Report {
        start_ns: 0,
        end_ns: reports.iter().map(worked).max().unwrap_or(0),
        paused_ns: 0,
        used: reports.iter().map(|report| report.used).sum(),
        files: reports.iter().map(|report| report.files).sum(),
        wrong: reports.iter().map(|report| report.wrong).sum(),
    }
}

/// Converts a call's error; for a full directory or file system, names the limit.
fn explained(top: Borrowed<'_>, directory: &[u8], met: Outcome) -> WorkError {
    let Outcome { stage, step, error } = met;
    let below = match directory {
        b"" => None,
        path => os::open_below(top, path).ok(),
    };
    let at = below.as_ref().map_or(top, At::at);
    let source = match explain_at(at, Path::new("."), step, &error) {
        Some(explanation) if explanation.limit == Limit::DirectoryIndex => {
            return match entries_of(at) {
                Ok(entries) => WorkError::Refused(Refused { entries, cause: explanation.to_string() }),
                Err(error) => WorkError::at("counting a directory's entries")(error),
            };
        }
        Some(explanation) => io::Error::other(explanation.to_string()),
        None => error,
    };
    WorkError::Stage { stage, source }
}

/// Entries of the full directory: the number at which it refused is the result of such a block.
fn entries_of(directory: Borrowed<'_>) -> io::Result<u64> {
    let mut count = 0;
    os::each_entry(directory, &mut |_, _| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

pub(crate) const SINGLE_WORKER: Workers =
    Workers { count: 1, kind: WorkerKind::Thread, sharing: Sharing::Same };

/// More workers than any study needs; processes have pipes and descriptors each.
pub(crate) const WORKERS_MAX: u32 = 256;

/// Axes that name ranks: an arm of ranks has another name than one of a process.
pub(crate) fn by(workers: &Workers, axes: Axes) -> Axes {
    match workers.kind {
        WorkerKind::Rank => Axes { workers: Some(workers.count), worker_kind: Some(workers.kind), ..axes },
        _ => axes,
    }
}

pub(crate) fn by_name(operation: FileOperation, order: FileOrder, (from, to): (u64, u64)) -> FileWork {
    let access = Access::Name { order };
    FileWork {
        operation,
        from,
        to,
        access,
        sync: SyncPolicy::Never,
        owner_and_mode: false,
        workers: SINGLE_WORKER,
    }
}
