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
//!
//! A task gets directories (path from the root, inode) and walks depth first, with at most 16 384 waiting directories
//! for each of its own. If there are more, in a directory that cannot be divided, the budget gives way. A large
//! directory is not read but divided into ranges of positions.
//!
//! The name of a part contains a digest of the task's directories: a journal that lost its last line gives the number
//! to other directories. A directory that cannot be opened is a row with an error and without attributes, which the
//! task that found it has recorded. Tasks identify a root by inode, time of birth and file system, because device
//! numbers differ between machines. A directory with another inode than the one found is left alone.
//!
//! The crate is its own because a task needs removal and usage from `megadir` and parts from `megadir-inventory`, and
//! has JSON forms, which neither has. Its drivers are `cmd/ranked.rs` of the program, over the ranks of an MPI
//! launcher, and `megadir/_driver.py` over an executor; any program that starts processes can run `megadir task`, a
//! hidden subcommand: a task on standard input, its outcome on standard output.
//!
//! | file | subject |
//! |---|---|
//! | `job.rs`, `journal.rs` | jobs, tasks and outcomes as JSON; the file that a job continues from |
//! | `prepare.rs`, `schedule.rs` | trees of a job; the next task, and feedback |
//! | `visit.rs` | directories of a task, until the budget is spent |
//! | `scan.rs`, `publish.rs` | a part of an inventory, and its name |
//! | `usage.rs`, `remove.rs` | sums; removal |

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
