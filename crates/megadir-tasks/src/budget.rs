//! Budget of a running task, and the loop over its directories.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use megadir::Dir;

use crate::job::{Budget, Item, Outcome, Task, TaskError};
use crate::reach::Roots;

/// Items to visit next, the first one last.
pub(crate) type Next = Result<Vec<Item>, TaskError>;

/// Visits the items of a task until its budget is spent; `visit` gets the item and the root of its tree.
pub(crate) fn visit_items(
    task: &Task,
    stop: &AtomicBool,
    mut visit: impl FnMut(&Item, megadir::Result<&Dir>, &mut Spending<'_>, &mut Outcome) -> Next,
) -> Result<Outcome, TaskError> {
    let (mut spending, mut outcome) = (Spending::begin(task.job.budget, stop), Outcome::default());
    let mut roots = Roots::new(&task.job);
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
        items.extend(visit(&item, roots.open(item.root), &mut spending, &mut outcome)?);
    }
    outcome.entries = spending.entries;
    Ok(outcome)
}

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
