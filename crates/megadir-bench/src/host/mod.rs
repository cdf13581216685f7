//! Description of the machine for readers of a record. A value that cannot be read is `None` or `unknown`,
//! never guessed. One file per system with the same functions.

#[cfg(target_os = "linux")]
mod linux;
pub(crate) mod noise;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod words;

use std::path::{Path, PathBuf};

use megadir_record::Machine;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Returns an absolute path, so that the run can be resumed from anywhere; on Windows without `\\?\`.
pub(crate) fn whole_path(path: &Path) -> PathBuf {
    let whole = if cfg!(windows) { std::path::absolute(path) } else { path.canonicalize() };
    whole.unwrap_or_else(|_| path.to_owned())
}

/// Describes the machine, with the file system of `directory`, as a record does.
///
/// # Errors
///
/// The error of opening the directory.
pub fn machine(directory: &Path, program: &Program) -> std::io::Result<Machine> {
    use crate::os::At;
    Ok(describe(crate::os::open_directory(directory)?.at(), program))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The commit, with `-dirty` if the work tree was modified.
    pub commit: Option<String>,
    pub by: Option<String>,
}
