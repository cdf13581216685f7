//! Description of the machine for readers of a record. A value that cannot be read is `None` or `unknown`,
//! never guessed. One file per system with the same functions.

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The commit, with `-dirty` if the work tree was modified.
    pub commit: Option<String>,
    pub by: Option<String>,
}
