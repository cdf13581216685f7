//! One worker: preparation before the barrier, and the block.
//!
//! ```text
//!  prepare                       barrier  work
//!  files, order, first batch        |     batch | pause: next batch | batch | ...  -> syncfs  -> Report
//!                                start_ns                                             end_ns
//!                                         pauses are measured, and subtracted from time and usage
//! ```

use megadir::Dir;
use megadir_record::{Access, FileOperation, MakeDirectories, SyncPolicy};
use megadir_sys::clock::shared_ns;
use megadir_sys::usage::{Usage, thread_usage};
use serde::{Deserialize, Serialize};

use super::by_directory::{Directories, Entered, Listed, by_name, make_all};
use super::explained;
use super::file::{FileOps, Outcome};
use super::order::{Batch, Order, Planned};
use super::task::{Checksum, Set, Task};
use crate::control::{Result, RunControl, WRITING_BACK, WorkError, marked};
use crate::kind::UsageFields;
use crate::measure::Stopwatch;
use crate::os::{self, At};

/// Prepared before the barrier and consumed by the block. `batch` has names and contents of the next
/// `batched` files. `wrong` counts what the preparation found to be different, and is added to the block's
/// count. `expected` is the checksum of the names that a listing should see.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) task: Task,
    set: Set,
    order: Order,
    wrong: u64,
    batch: Batch,
    batched: u64,
    directories: Vec<Vec<u8>>,
    expected: Checksum,
}

/// Result of one worker for one block. The block lasts from the earliest start to the latest end, which is
/// why both are absolute; the times of ranks are set apart, since hosts have different clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// On the monotonic clock, which all processes of a host share, nanoseconds; 0 for ranks.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Time of computing names and contents, nanoseconds, included in the above.
    pub(crate) paused_ns: u64,
    /// Times without the pauses.
    #[serde(with = "UsageFields")]
    pub(crate) used: Usage,
    pub(crate) files: u64,
    pub(crate) wrong: u64,
}

/// Wall and processor time of computing names and contents, which belong to no operation.
#[derive(Default)]
struct Pauses {
    ns: u64,
    user_ns: u64,
    system_ns: u64,
}

impl Pauses {
    fn during<R>(&mut self, step: impl FnOnce() -> R) -> R {
        let (start_ns, before) = (shared_ns(), thread_usage());
        let result = step();
        let used = thread_usage().since(before);
        self.user_ns += used.user_ns;
        self.system_ns += used.system_ns;
        self.ns += shared_ns() - start_ns;
        result
    }
}

impl Worker {
    /// Does everything that can be done before the clock starts. Directories that are made in advance are
    /// made here, if making them is no arm of its own.
    pub(crate) fn prepare(task: Task, data: &Dir, control: RunControl<'_>) -> Result<Self> {
        let set = task.set().map_err(|error| WorkError::other("computing the files", error.to_string()))?;
        let top = task.top(data, true)?;
        let work = &task.work;
        if work.operation == FileOperation::Create && task.made.directories == MakeDirectories::Before {
            make_all(top.at(), &set, control)?;
        }
        let (order, wrong) = Order::prepare(&task, &set, &top, control)?;
        let mut worker = Self {
            set,
            order,
            wrong,
            batch: Batch::default(),
            batched: 0,
            directories: Vec::new(),
            expected: Checksum::default(),
            task,
        };
        if worker.lists() {
            let sizes = worker.task.work.operation != FileOperation::Unlink;
            (worker.expected, worker.directories) = Checksum::expected(&worker.set, sizes, control)?;
        } else {
            worker.batched = worker.fill(0)?;
        }
        Ok(worker)
    }

    /// `true` if the worker finds its files by listing. Files that are yet to be created cannot be listed.
    fn lists(&self) -> bool {
        let work = &self.task.work;
        let makes = matches!(
            work.operation,
            FileOperation::Create | FileOperation::Rewrite | FileOperation::MakeDirectories
        );
        work.access == Access::Directory && !makes
    }

    fn fill(&mut self, from: u64) -> Result<u64> {
        let writes = matches!(self.task.work.operation, FileOperation::Create | FileOperation::Rewrite);
        self.batch.fill(&self.set, &self.order, from, writes)
    }

    /// Runs the block once `barrier` returns. Closes every descriptor that it opens, so the thread may have its own table.
    pub(crate) fn work(
        &mut self,
        data: &Dir,
        stopwatch: &mut Stopwatch,
        barrier: impl FnOnce(),
        control: RunControl<'_>,
    ) -> Result<Report> {
        let top = self.task.top(data, false);
        let work = self.task.work.clone();
        let mut hand = FileOps::new(&work, control.heartbeat);
        let mut pauses = Pauses::default();
        // Even after an error: the other workers wait for this one.
        barrier();
        let top = top?;
        // Before the clock starts: this call may make the kernel switch to another thread.
        let before = thread_usage();
        let start_ns = shared_ns();
        let (files, wrong) = match (work.operation, self.lists()) {
            (FileOperation::MakeDirectories, _) => self.make_directories(&top, stopwatch, control)?,
            (_, true) => self.by_listing(&top, &mut hand, stopwatch, control)?,
            (_, false) => self.by_number(&top, &mut hand, stopwatch, &mut pauses, control)?,
        };
        if work.sync == SyncPolicy::AtEnd {
            marked(control.heartbeat, WRITING_BACK, || os::sync(top.at()))
                .map_err(WorkError::at("syncfs"))?;
        }
        let end_ns = shared_ns();
        let used = thread_usage().since(before);
        stopwatch.close((end_ns - start_ns).saturating_sub(pauses.ns));
        Ok(Report {
            start_ns,
            end_ns,
            paused_ns: pauses.ns,
            used: Usage {
                user_ns: used.user_ns.saturating_sub(pauses.user_ns),
                system_ns: used.system_ns.saturating_sub(pauses.system_ns),
                read_bytes: used.read_bytes,
            },
            files,
            wrong: wrong + self.wrong,
        })
    }

    /// Names and contents are computed a batch at a time, in pauses that are not part of any operation:
    /// computing them all in advance would take the memory of the data set. The choice between access by name
    /// and by directory is made for each batch, outside the timed closure, so that it costs no operation
    /// anything.
    fn by_number(
        &mut self,
        top: &Dir,
        hand: &mut FileOps<'_>,
        stopwatch: &mut Stopwatch,
        pauses: &mut Pauses,
        control: RunControl<'_>,
    ) -> Result<(u64, u64)> {
        let mut entered = Entered::default();
        let (mut done, mut wrong) = (0, 0);
        let count = self.set.count;
        let make_directories = self.task.work.operation == FileOperation::Create
            && self.task.made.directories == MakeDirectories::OnDemand;
        while done < count {
            if done > 0 {
                self.batched = pauses.during(|| self.fill(done))?;
                control.check()?;
            }
            let (top, files, batch) = (top.at(), &self.set.files, &self.batch);
            // 1 for an unexpected result.
            let wrong_of = |file: &Planned<'_>, done: Result<bool, Outcome>| match done {
                Ok(right) => Ok(u64::from(!right)),
                Err(met) => Err(explained(top, file.directory(), met)),
            };
            let between = || Ok(control.check()?);
            // The choice is not part of any operation's time.
            wrong += match self.task.work.access {
                Access::Name { .. } => {
                    let work = |index| {
                        let file = batch.get(index as usize, files);
                        wrong_of(&file, by_name(top, &file, hand, make_directories))
                    };
                    stopwatch.time(self.batched, work, between)?
                }
                Access::Directory => {
                    let work = |index| {
                        let file = batch.get(index as usize, files);
                        wrong_of(&file, entered.work(top, &file, hand))
                    };
                    stopwatch.time(self.batched, work, between)?
                }
            };
            done += self.batched;
        }
        Ok((done, wrong))
    }

    /// Works on entries as they are listed, and compares the sum over them with the expected sum. The
    /// listing continues past the expected number, in no operation's time, so that extra files are noticed.
    fn by_listing(
        &mut self,
        top: &Dir,
        hand: &mut FileOps<'_>,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<(u64, u64)> {
        let directories = self.directories.iter();
        let mut listed = Listed { top: top.at(), directories, hand, now: None, seen: Checksum::default() };
        let next = |_| listed.next().map(u64::from);
        stopwatch.time(self.expected.files, next, || Ok(control.check()?))?;
        while listed.next()? {
            control.check()?;
        }
        Ok((listed.seen.files, listed.seen.wrong(&self.expected)))
    }

    /// Makes the worker's share of the directories; the operation is one directory.
    fn make_directories(
        &self,
        top: &Dir,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<(u64, u64)> {
        let workers = &self.task.work.workers;
        let (first, step) = match workers.sharing {
            megadir_record::Sharing::Own => (0, 1),
            megadir_record::Sharing::Same => (u64::from(self.task.worker), u64::from(workers.count.max(1))),
        };
        let Some(mut directories) = Directories::new(top.at(), &self.set, first, step) else {
            return Ok((0, self.set.count));
        };
        let count = directories.count();
        stopwatch.time(count, |index| directories.make(index), || Ok(control.check()?))?;
        Ok((self.set.count, 0))
    }
}
