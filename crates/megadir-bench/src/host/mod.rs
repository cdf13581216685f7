//! The machine as the system describes it, for readers of a record.
//!
//! A value that cannot be read is `None` or `unknown`, never guessed. Each system has one file with the same functions; `words` turns the
//! numbers of Windows into words and makes no system call.

#[cfg(target_os = "linux")]
mod linux;
pub(crate) mod noise;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod words;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Commit and compiler that the program was built from, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The commit, with `-dirty` where files differed from it.
    pub commit: Option<String>,
    /// Compiler and profile.
    pub by: Option<String>,
}
