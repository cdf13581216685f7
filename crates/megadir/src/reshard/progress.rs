//! Number of files moved so far, and the flag that cancels the work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of files moved so far, and the flag that cancels the work.
#[derive(Debug, Default)]
pub struct Progress {
    moved: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Starts with 0 files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of files moved so far.
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// Cancels the work before the next file. Only sets a flag, so a signal handler may call it.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// `true` if the work was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(super) fn more(&self, files: u64) {
        self.moved.fetch_add(files, Ordering::Relaxed);
    }
}
