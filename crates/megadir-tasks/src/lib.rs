//! Scanning, summing up and removing trees in tasks, for engines that start them on many processes or machines.
//!
//! ```text
//! prepare -> Job -> Schedule --next--> Task -> run (any process) -> Outcome --finished--> Schedule: unvisited directories
//!                      ^                                                        |
//!                      +------------------------ replay <-------------- journal +
//! ```
//!
//! A [`Task`] visits its directories until its budget is spent and returns those that it did not visit. It may run twice, end
//! at any moment, or run on two machines at once: the part of an inventory gets its name only if that is free, and holds
//! the whole [`Outcome`]. The [`Schedule`] is pure: no clock, no files; lines of the [`Journal`] are values.

mod job;
mod journal;
mod prepare;
mod publish;
mod remove;
mod scan;
mod schedule;
mod usage;
mod visit;

pub use job::{
    Budget, Bytes, Item, Job, Kind, Linked, Outcome, Part, Removal, Root, Sum, Task, TaskError, Used,
};
pub use journal::{JOURNAL, Journal};
pub use prepare::{Request, prepare};
pub use publish::{check_folder, finish_folder};
pub use schedule::{Assigned, Progress, Schedule};
pub use visit::check_roots;

use std::sync::atomic::AtomicBool;

use megadir::{Error, ErrorKind};

use job::VERSION;

/// Runs a task on the caller's thread, until its directories are visited or its budget is spent.
///
/// Errors: [`TaskError::Stopped`] if `stop` was set; a root or the folder of the parts cannot be used. Failures below a root are
/// parts of the outcome. The task may be run again after any error.
pub fn run(task: &Task, stop: &AtomicBool) -> Result<Outcome, TaskError> {
    if task.job.version != VERSION {
        let reason = format!(
            "a task of version {}, but this program runs version {VERSION}: use the same version everywhere",
            task.job.version
        );
        return Err(Error::new("run", "".as_ref(), ErrorKind::Unavailable, reason).into());
    }
    match task.job.kind {
        Kind::Scan => scan::scan(task, stop),
        Kind::Usage => usage::usage(task, stop),
        Kind::Remove => remove::remove(task, stop),
    }
}
