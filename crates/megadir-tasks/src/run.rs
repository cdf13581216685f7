//! Runs a task: the one function that every engine starts.

use std::sync::atomic::AtomicBool;

use megadir::{Error, ErrorKind};

use crate::job::{Kind, Outcome, Task, TaskError, VERSION};
use crate::{remove, scan, usage};

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
