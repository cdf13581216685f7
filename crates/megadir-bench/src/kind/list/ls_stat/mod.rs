//! System calls of programs that print attributes, entry by entry: as `ls -l` on Linux, by the whole path on Windows.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Entries between two heartbeats.
const STEP: usize = 1024;

/// Counts of the system calls on all entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Calls made.
    pub(crate) calls: u64,
    /// Entries that were not there any more.
    pub(crate) vanished: u64,
}

impl Asked {
    /// Adds a later stage's, which finds gone what an earlier one did.
    pub(crate) fn add(&mut self, later: Self) {
        self.calls += later.calls;
        self.vanished = self.vanished.max(later.vanished);
    }
}
