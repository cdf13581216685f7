//! The machine as the system describes it: what a reader of a record must know.
//!
//! What cannot be read is `None` or says `unknown`, never guessed. One file a system with the same functions; `words` puts what Windows
//! tells in numbers into words, and knows nothing of how it is asked.

#[cfg(target_os = "linux")]
mod linux;
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
