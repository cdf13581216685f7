//! What long work tells and is told, and why it gave no result.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use megadir_record::Refused;

use crate::words::words;

/// Why work gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    /// The backend failed.
    #[error(transparent)]
    Read(#[from] megadir::Error),
    /// A call of a later stage failed.
    #[error("{stage}: {}", words(.source))]
    Stage {
        /// The stage.
        stage: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A directory takes no more names, though there is room.
    #[error("a directory of {} entries takes no more: {}", .0.entries, .0.cause)]
    Refused(Refused),
    /// Its file system could not be unmounted and mounted again.
    #[error("fs-cold: {0}")]
    Remount(String),
    /// The run is to end.
    #[error("interrupted")]
    Stopped,
}

/// What a long operation tells and is told while it works.
#[derive(Clone, Copy)]
pub struct Signals<'a> {
    /// Set when the run is to end.
    pub stop: &'a AtomicBool,
    /// Counted up as a sign of life.
    pub beat: &'a AtomicU64,
}

impl Signals<'_> {
    /// Gives a sign of life; an error when the run is to end.
    #[inline]
    pub(crate) fn check(self) -> Result<(), ListError> {
        self.beat.fetch_add(1, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(ListError::Stopped) } else { Ok(()) }
    }
}
