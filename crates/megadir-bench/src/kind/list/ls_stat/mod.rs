//! System calls of programs that print attributes, entry by entry: as `ls -l` on Linux, by whole path on
//! Windows.

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) calls: u64,
    /// Entries that no longer existed.
    pub(crate) vanished: u64,
}

impl Asked {
    /// Adds the counts of a later stage, which finds the same entries missing again.
    pub(crate) fn add(&mut self, later: Self) {
        self.calls += later.calls;
        self.vanished = self.vanished.max(later.vanished);
    }
}
