//! From the error of a create to its explanation: what the decision needs is found out after the fact (Linux).

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::io::Errno;

use super::{Explanation, Refusal, Step, decide};
use crate::dir::Dir;
use crate::limits::{Asked, limits};

/// Tells which limit a refused create or write has met; `None` if the error is not one that limits give.
///
/// Costs some milliseconds, whatever the directory's size; makes nothing and tries nothing again. Best called at once: what
/// others free meanwhile is no longer evidence.
///
/// ```no_run
/// use megadir::limits::{Step, explain};
/// # fn main() -> megadir::Result<()> {
/// let directory = megadir::Dir::open("cache")?;
/// if let Err(error) = std::fs::File::create_new("cache/name")
///     && let Some(explanation) = explain(&directory, Step::Create, &error)
/// {
///     eprintln!("{}: {explanation}", explanation.limit);
/// }
/// # Ok(())
/// # }
/// ```
pub fn explain(directory: &Dir, step: Step, error: &io::Error) -> Option<Explanation> {
    let refusal = refusal(error)?;
    // What cannot be looked at cannot be explained: the error stands for itself.
    let limits = limits(directory, &Asked::MORE_OF_THE_SAME).ok()?;
    Some(decide(&limits, refusal, step, rustix::process::geteuid().is_root()))
}

/// As [`explain`], for a directory that is open by other means; `path` is for messages.
pub fn explain_at(
    directory: BorrowedFd<'_>,
    path: &Path,
    step: Step,
    error: &io::Error,
) -> Option<Explanation> {
    refusal(error)?;
    explain(&Dir::sharing(directory, path).ok()?, step, error)
}

fn refusal(error: &io::Error) -> Option<Refusal> {
    match Errno::from_io_error(error)? {
        Errno::NOSPC => Some(Refusal::NoSpace),
        Errno::DQUOT => Some(Refusal::Quota),
        Errno::MLINK => Some(Refusal::Links),
        Errno::OVERFLOW => Some(Refusal::Overflow),
        _ => None,
    }
}
