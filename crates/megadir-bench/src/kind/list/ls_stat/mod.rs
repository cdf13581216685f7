//! What programs that print attributes ask about every entry, one by one: as `ls -l` on Linux, by the whole path on Windows.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Signs of life come every so many entries.
const STEP: usize = 1024;

/// What came of asking about every entry.
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
