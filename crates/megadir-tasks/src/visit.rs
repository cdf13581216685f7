//! Visits the directories of a task until its budget is spent. Each is reached from the root of its tree: name by name, without links and
//! other mounts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use megadir::{Dir, Error, ErrorKind, Result, StatMask};

use crate::job::{Budget, Item, Job, Outcome, Root, Task, TaskError};

/// Items to visit next, the first one last.
pub(crate) type Next = std::result::Result<Vec<Item>, TaskError>;

/// Visits the items of a task until its budget is spent; `visit` gets the item and the root of its tree.
pub(crate) fn visit_items(
    task: &Task,
    stop: &AtomicBool,
    mut visit: impl FnMut(&Item, Result<&Dir>, &mut Spending<'_>, &mut Outcome) -> Next,
) -> std::result::Result<Outcome, TaskError> {
    let (mut spending, mut outcome) = (Spending::begin(task.job.budget, stop), Outcome::default());
    let mut roots: Vec<Option<Dir>> = task.job.roots.iter().map(|_| None).collect();
    let mut items: Vec<Item> = task.items.iter().rev().cloned().collect();
    let mut visited = 0_u64;
    while let Some(item) = items.pop() {
        if visited > 0 && spending.is_spent() {
            outcome.unvisited.push(item);
            continue;
        }
        if spending.is_stopped() {
            return Err(TaskError::Stopped);
        }
        visited += 1;
        items.extend(visit(&item, opened(&task.job, &mut roots, item.root), &mut spending, &mut outcome)?);
    }
    outcome.entries = spending.entries;
    Ok(outcome)
}

/// Time counts from the start of the task in this process and includes waiting for the file system. `stop` is
/// the caller's flag, set from any thread; it is looked at between buffers. The first item is visited even if
/// the budget is spent by then, otherwise a job with a small budget would never end.
pub(crate) struct Spending<'s> {
    started: Instant,
    time: Duration,
    entries_max: u64,
    pub(crate) entries: u64,
    stop: &'s AtomicBool,
}

impl<'s> Spending<'s> {
    fn begin(budget: Budget, stop: &'s AtomicBool) -> Self {
        let time = Duration::try_from_secs_f64(budget.seconds).unwrap_or(Duration::MAX);
        Self { started: Instant::now(), time, entries_max: budget.entries, entries: 0, stop }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.entries >= self.entries_max || self.started.elapsed() >= self.time
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.time.saturating_sub(self.started.elapsed())
    }

    pub(crate) fn entries_left(&self) -> u64 {
        self.entries_max.saturating_sub(self.entries)
    }
}

pub(crate) enum Reached {
    Directory(Dir),
    /// Gone, or replaced by another directory: nothing in a changing tree.
    Vanished,
    OtherMount,
}

/// Errors: the root cannot be opened, or is another directory than the job's.
fn opened<'r>(job: &Job, roots: &'r mut [Option<Dir>], index: u32) -> Result<&'r Dir> {
    let (Some(root), Some(open)) = (job.roots.get(index as usize), roots.get_mut(index as usize)) else {
        let reason = format!("no tree {index}");
        return Err(Error::new("open", "".as_ref(), ErrorKind::BadOption, reason));
    };
    match open {
        Some(directory) => Ok(directory),
        None => Ok(open.insert(open_root(root)?)),
    }
}

/// Errors: one of the job's directories cannot be opened here, or is another directory.
pub fn check_roots(job: &Job) -> Result<()> {
    job.roots.iter().try_for_each(|root| open_root(root).map(drop))
}

fn open_root(root: &Root) -> Result<Dir> {
    let directory = Dir::open(root.path.to_path()?)?;
    let facts = directory.attributes(StatMask::BORN | StatMask::INODE)?;
    let born = facts.have.contains(StatMask::BORN);
    let born_ns = born.then(|| megadir_inventory::nanoseconds(facts.born));
    let is_other_birth = root.born_ns.is_some() && born_ns.is_some() && root.born_ns != born_ns;
    let file_system = directory.file_system().to_string();
    let is_same_number = facts.inode == root.inode || root.lasting_inodes == Some(false);
    if is_same_number && !is_other_birth && file_system == root.file_system {
        return Ok(directory);
    }
    let reason =
        "not the directory that the job began with: it was replaced, or is another one on this machine";
    Err(Error::new("open", directory.path(), ErrorKind::Malformed, reason))
}

/// Errors: the directory or one above it cannot be opened.
pub(crate) fn reach(root: &Dir, item: &Item) -> Result<Reached> {
    let mut directory = root.again()?;
    for name in item.path.0.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        directory = match directory.open_below_on_this_mount(name) {
            Ok(Some(below)) => below,
            Ok(None) => return Ok(Reached::OtherMount),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Reached::Vanished);
            }
            Err(error) => return Err(error),
        };
    }
    let is_other = match item.inode {
        Some(inode) => directory.id()?.inode != inode,
        None => false,
    };
    Ok(if is_other { Reached::Vanished } else { Reached::Directory(directory) })
}
