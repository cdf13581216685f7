//! Explains the error of a create on Linux.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::io::Errno;

use super::{Explanation, Refusal, Step, decide};
use crate::dir::Dir;
use crate::limits::{Asked, limits};

/// Finds the limit behind a refused create or write; `None` if no limit gives this error.
///
/// Takes a few milliseconds whatever the directory's size; creates nothing and retries nothing. Call it at
/// once: space freed by other processes meanwhile hides the evidence.
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
    // Without evidence there is no explanation.
    let limits = limits(directory, &Asked::MORE_OF_THE_SAME).ok()?;
    Some(decide(&limits, refusal, step, rustix::process::geteuid().is_root()))
}

/// As [`explain`], for a directory that is already open; `path` is for messages.
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
