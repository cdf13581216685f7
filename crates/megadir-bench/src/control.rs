//! Errors of long work; its cancellation and heartbeat are the lab's.
//!
//! The kinds differ in their consequence. `Refused` and `Program` end an arm, and the sample keeps the
//! reason; `Remount` ends the run, since its file system may be unmounted; `Stopped` is no failure; the
//! rest are failures of the machine or of this program, which end the run.

use std::io;

use megadir_record::Refused;

pub use megadir_lab::control::{COMPUTING, RunControl, WRITING_BACK, marked};
pub(crate) use megadir_lab::control::{Stopped, words};

pub(crate) type Result<T, E = WorkError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error(transparent)]
    Read(#[from] megadir::Error),
    #[error("{stage}: {}", words(.source))]
    Stage { stage: &'static str, source: io::Error },
    /// A directory accepts no more names although its file system has space.
    #[error("a directory of {} entries takes no more: {}", .0.entries, .0.cause)]
    Refused(Refused),
    #[error("fs-cold: {0}")]
    Remount(String),
    /// A measured program failed; the sentence has no subject.
    #[error("{0}")]
    Program(String),
    #[error("interrupted")]
    Stopped,
}

/// `stage` is a phrase such as "counting files", so that messages name the step and not a function.
impl WorkError {
    pub(crate) fn at<E: Into<io::Error>>(stage: &'static str) -> impl Fn(E) -> Self + Copy {
        move |source| Self::Stage { stage, source: source.into() }
    }

    pub(crate) fn other(
        stage: &'static str,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Stage { stage, source: io::Error::other(reason) }
    }
}

impl From<Stopped> for WorkError {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}
