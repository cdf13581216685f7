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

mod budget;
mod job;
mod journal;
mod prepare;
mod publish;
mod reach;
mod remove;
mod run;
mod scan;
mod schedule;
mod usage;

pub use job::{
    Budget, Bytes, Item, Job, Kind, Linked, Outcome, Part, Removal, Root, Sum, Task, TaskError, Used,
};
pub use journal::{JOURNAL, Journal};
pub use prepare::{Request, prepare};
pub use publish::{check_folder, finish_folder};
pub use reach::check_roots;
pub use run::run;
pub use schedule::{Assigned, Progress, Schedule};
