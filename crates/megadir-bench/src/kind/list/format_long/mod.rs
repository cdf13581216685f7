//! The lines of a long listing: those of `ls -l` on Linux, of PowerShell's `Get-ChildItem` on Windows.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod owners;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Lines before the first entry's.
pub(crate) const HEADINGS: u64 = 1;
/// Signs of life come every so many entries.
const STEP: usize = 1024;
