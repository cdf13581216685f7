//! Hands out the directories of a job as tasks, and feeds back those that were not visited. Pure: no clock, no files.
//!
//! Directories wait in a stack. While there are fewer of them than processes, tasks get a twentieth of the time, so
//! that they soon find work for the others. `tests/simulated.rs` runs the schedule under a simulated clock with
//! measured times of a file server: with 1000 processes and 10^9 entries in a skewed tree, processes are idle for 1.8 %
//! of the time, at most 11 directories per process wait, and the schedule takes 0.6 % of one processor.

use std::collections::BTreeMap;

use megadir::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::job::{Item, Job, Outcome, Part, Removal, Sum, Task};
use crate::usage::Totals;

/// A task that fails as often is not tried again.
const ATTEMPTS_MAX: u32 = 5;
const ITEMS_MAX: usize = 256;
/// While there are fewer directories than processes, tasks get this share of the budget, and soon return directories.
const SCARCE_SHARE: f64 = 0.05;
const MESSAGES_MAX: usize = 1000;

/// State of a job: directories that wait, tasks that run, and results.
///
/// Directories wait in a stack, so that their number stays near that of one path through the tree.
#[derive(Debug)]
pub struct Schedule {
    job: Job,
    queue: Vec<(u64, Item)>,
    /// For the time when nothing else is left.
    later: Vec<(u64, Item)>,
    items: u64,
    tasks: u64,
    running: BTreeMap<u64, Running>,
    /// Running tasks that must be started again.
    lost: Vec<u64>,
    /// Without the tasks and directories of now.
    progress: Progress,
    messages: Vec<String>,
    parts: Vec<Part>,
    removal: Removal,
    totals: Totals,
}

#[derive(Debug)]
struct Running {
    items: Vec<(u64, Item)>,
    attempts: u32,
}

/// Task to start, and a line for the journal, to be written before the task is started.
#[derive(Debug)]
pub struct Assigned {
    pub task: Task,
    /// Line without its end; `None` if the journal has it.
    pub line: Option<String>,
}

/// Progress of a job.
///
/// Counts of directories and of entries are exact for finished tasks; a task that runs adds nothing until it
/// has finished. `waiting` is the number of directories, `done` and `running` are numbers of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub entries: u64,
    pub failures: u64,
    pub done: u64,
    pub running: u64,
    pub waiting: u64,
}

/// Line of the journal. Directories are numbered in the order in which the lines bring them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Job { job: Job },
    Task { task: u64, items: Vec<u64> },
    Done { done: u64, outcome: Outcome },
}

impl Schedule {
    pub fn new(job: Job) -> Self {
        let mut schedule = Self {
            queue: Vec::new(),
            later: Vec::new(),
            items: 0,
            tasks: 0,
            running: BTreeMap::new(),
            lost: Vec::new(),
            progress: Progress::default(),
            messages: Vec::new(),
            parts: Vec::new(),
            removal: Removal::default(),
            totals: Totals::default(),
            job,
        };
        let first = schedule.job.first_items();
        let numbered = schedule.numbered(first);
        schedule.queue.extend(numbered.into_iter().rev());
        schedule
    }

    pub fn first_line(&self) -> String {
        text(&Line::Job { job: self.job.clone() })
    }

    /// Continues a job from the complete lines of its journal. Tasks that were running are started again. Errors:
    /// [`ErrorKind::Malformed`] if the lines are not those of one job.
    pub fn replay<'l>(lines: impl IntoIterator<Item = &'l str>) -> Result<Self> {
        let mut schedule: Option<Self> = None;
        for (number, line) in (1..).zip(lines) {
            let bad = |reason: String| {
                let reason = format!("line {number}: {reason}");
                Error::new("read the journal", "".as_ref(), ErrorKind::Malformed, reason)
            };
            let line = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
            match (line, &mut schedule) {
                (Line::Job { job }, None) => schedule = Some(Self::new(job)),
                (Line::Task { task, items }, Some(schedule)) => {
                    let taken = schedule.take(&items).ok_or_else(|| bad("unknown directories".to_owned()))?;
                    schedule.tasks = schedule.tasks.max(task + 1);
                    schedule.running.insert(task, Running { items: taken, attempts: 0 });
                }
                (Line::Done { done, outcome }, Some(schedule)) => {
                    schedule.finished(done, outcome).ok_or_else(|| bad(format!("unknown task {done}")))?;
                }
                _ => return Err(bad("out of place".to_owned())),
            }
        }
        let Some(mut schedule) = schedule else {
            return Err(Error::new("read the journal", "".as_ref(), ErrorKind::Malformed, "it is empty"));
        };
        schedule.lost = schedule.running.keys().copied().collect();
        Ok(schedule)
    }

    fn take(&mut self, numbers: &[u64]) -> Option<Vec<(u64, Item)>> {
        let take = |wanted: &u64| {
            if self.queue.iter().all(|(number, _)| number != wanted) {
                self.queue.append(&mut self.later);
            }
            let at = self.queue.iter().rposition(|(number, _)| number == wanted)?;
            Some(self.queue.remove(at))
        };
        numbers.iter().map(take).collect()
    }

    fn numbered(&mut self, items: Vec<Item>) -> Vec<(u64, Item)> {
        let numbered: Vec<_> = (self.items..).zip(items).collect();
        self.items += numbered.len() as u64;
        numbered
    }

    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Next task for one of `processes` processes; `None` if there is none until a running task has finished.
    pub fn next(&mut self, processes: usize) -> Option<Assigned> {
        if let Some(number) = self.lost.pop() {
            return self.again(number).map(|task| Assigned { task, line: None });
        }
        if self.queue.is_empty() && self.running.is_empty() {
            self.queue.append(&mut self.later);
        }
        let most = (self.queue.len() / (2 * processes.max(1))).clamp(1, ITEMS_MAX);
        let items = self.queue.split_off(self.queue.len().saturating_sub(most));
        if items.is_empty() {
            return None;
        }
        let number = self.tasks;
        self.tasks += 1;
        let line = Line::Task { task: number, items: items.iter().map(|(number, _)| *number).collect() };
        let mut task = self.task(number, &items);
        if self.queue.len() < processes {
            task.job.budget.seconds *= SCARCE_SHARE;
        }
        self.running.insert(number, Running { items, attempts: 0 });
        Some(Assigned { task, line: Some(text(&line)) })
    }

    fn task(&self, number: u64, items: &[(u64, Item)]) -> Task {
        let items = items.iter().map(|(_, item)| item.clone()).collect();
        Task { number, job: self.job.clone(), items }
    }

    /// A running task once more, such as for an idle process while another one seems to hang; `None` if it is not running.
    pub fn again(&self, number: u64) -> Option<Task> {
        let running = self.running.get(&number)?;
        Some(self.task(number, &running.items))
    }

    /// Takes a result. Returns the line for the journal, or `None` if the task was finished before.
    pub fn finished(&mut self, number: u64, outcome: Outcome) -> Option<String> {
        self.running.remove(&number)?;
        self.lost.retain(|lost| *lost != number);
        let line = text(&Line::Done { done: number, outcome: outcome.clone() });
        self.progress.done += 1;
        self.progress.entries += outcome.entries;
        self.progress.failures += outcome.failures;
        let room = MESSAGES_MAX.saturating_sub(self.messages.len());
        self.messages.extend(outcome.messages.into_iter().take(room));
        self.parts.extend(outcome.part);
        if let Some(removal) = outcome.removal {
            self.progress.failures += removal.failures;
            self.removal.entries += removal.entries;
            self.removal.directories += removal.directories;
            self.removal.failures += removal.failures;
            self.removal.mounts += removal.mounts;
        }
        if let Some(used) = outcome.used {
            self.totals.merge(used);
        }
        let unvisited = self.numbered(outcome.unvisited);
        self.queue.extend(unvisited.into_iter().rev());
        let later = self.numbered(outcome.later);
        self.later.extend(later);
        Some(line)
    }

    /// Notes that a running task was lost or failed: it is started again. `false` if it failed too often.
    pub fn failed(&mut self, number: u64) -> bool {
        let Some(running) = self.running.get_mut(&number) else { return true };
        running.attempts += 1;
        if !self.lost.contains(&number) {
            self.lost.push(number);
        }
        running.attempts < ATTEMPTS_MAX
    }

    pub fn is_done(&self) -> bool {
        self.queue.is_empty() && self.later.is_empty() && self.running.is_empty()
    }

    pub fn progress(&self) -> Progress {
        Progress {
            running: self.running.len() as u64,
            waiting: (self.queue.len() + self.later.len()) as u64,
            ..self.progress
        }
    }

    /// Parts of the inventory so far.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Counts of the removal so far.
    pub fn removal(&self) -> Removal {
        self.removal
    }

    /// Number of entries in [`Schedule::sums`] whose attributes could not be read.
    pub fn unexamined(&self) -> u64 {
        self.totals.unexamined
    }

    /// Number of directories on other file systems, which the tasks of [`Schedule::sums`] did not enter.
    pub fn mounts_not_entered(&self) -> u64 {
        self.totals.mounts_not_entered
    }

    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// Sums of the directories down to [`Job::depth`] levels, by tree and path. Files with several links count once, where
    /// their first name by path is.
    pub fn sums(&self) -> Vec<Sum> {
        self.totals.sums(self.job.depth)
    }
}

fn text(line: &Line) -> String {
    match serde_json::to_string(line) {
        Ok(text) => text,
        Err(error) => unreachable!("numbers and texts are JSON: {error}"),
    }
}
