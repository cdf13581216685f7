//! Cancellation, heartbeat and errors of long work.
//!
//! The heartbeat is a counter with two marks:
//!
//! ```text
//! bit 63          bit 62            bits 0..62
//! computing       writing back      counted up
//! ```
//!
//! A watcher that sees neither the count move nor a mark may take the work for hung. A mark costs two atomic
//! operations a step, so it may be set in measured code, where a helper thread that counts could not run.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use megadir_record::Refused;

/// Mark in the heartbeat: the work computes for long without a system call that could hang, e.g. sorts.
pub const COMPUTING: u64 = 1 << 63;
/// Mark in the heartbeat: the system writes data to the disk, which takes as long as the disk needs.
pub const WRITING_BACK: u64 = 1 << 62;

/// Cancellation flag and heartbeat of a long operation.
#[derive(Clone, Copy, Debug)]
pub struct RunControl<'a> {
    /// Set by the caller when the run is to end; read every few milliseconds.
    pub stop: &'a AtomicBool,
    /// Counted up by the work, see [`COMPUTING`] and [`WRITING_BACK`] for its marks.
    pub heartbeat: &'a AtomicU64,
}

impl RunControl<'_> {
    /// Counts the heartbeat up; fails with [`WorkError::Stopped`] once the run is to end.
    #[inline]
    pub(crate) fn check(self) -> Result<(), WorkError> {
        self.heartbeat.fetch_add(1, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(WorkError::Stopped) } else { Ok(()) }
    }
}

/// Reason why a block gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    /// The backend failed.
    #[error(transparent)]
    Read(#[from] megadir::Error),
    /// A call of a later stage failed.
    #[error("{stage}: {}", words(.source))]
    Stage {
        /// The stage.
        stage: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A directory takes no more names, though its file system has space.
    #[error("a directory of {} entries takes no more: {}", .0.entries, .0.cause)]
    Refused(Refused),
    /// The data set's file system could not be unmounted and mounted again.
    #[error("fs-cold: {0}")]
    Remount(String),
    /// The run is to end.
    #[error("interrupted")]
    Stopped,
}

/// Does a step with a mark set in the heartbeat.
pub(crate) fn marked<R>(heartbeat: &AtomicU64, mark: u64, step: impl FnOnce() -> R) -> R {
    heartbeat.fetch_or(mark, Ordering::Relaxed);
    let result = step();
    heartbeat.fetch_and(!mark, Ordering::Relaxed);
    heartbeat.fetch_add(1, Ordering::Relaxed);
    result
}

/// Returns the system's words for an error, without the number that Rust adds.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_there_during_its_step_only_and_the_step_counts() {
        let heartbeat = AtomicU64::new(7);
        let seen = marked(&heartbeat, WRITING_BACK, || heartbeat.load(Ordering::Relaxed));
        assert_eq!((seen, heartbeat.load(Ordering::Relaxed)), (WRITING_BACK | 7, 8));
    }

    #[test]
    fn numbers_of_errors_are_left_out() {
        let missing = words(&io::Error::from_raw_os_error(2));
        assert!(!missing.is_empty() && !missing.contains("os error"), "{missing}");
        assert_eq!(words(&io::Error::other("of its own")), "of its own");
    }
}
