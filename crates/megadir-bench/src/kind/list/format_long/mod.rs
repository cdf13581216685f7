//! Lines of a long listing: `ls -l` on Linux, PowerShell's `Get-ChildItem` on Windows.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Lines before the first entry.
pub(crate) const HEADINGS: u64 = 1;
/// Entries between two heartbeats.
const STEP: usize = 1024;
