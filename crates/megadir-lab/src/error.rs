//! Errors of the lab, each one line.

use std::io;
use std::path::PathBuf;

use crate::control::words;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(
        "creating file systems needs a private mount namespace (CAP_SYS_ADMIN) and loop devices \
         (CAP_DAC_OVERRIDE or group disk): run it as root (sudo)"
    )]
    Privileges,
    /// Shown as a table row; the run continues.
    #[error("{name} is unavailable: {reason}")]
    Unavailable { name: String, reason: String },
    #[error(
        "'{}' has not enough space for the image of {name}: {} needed, {} free; name another \
         directory with --dir, or make the study \
         smaller", .path.display(), megadir::sizes::text(*.needed_bytes), megadir::sizes::text(*.free_bytes)
    )]
    Room {
        path: PathBuf,
        name: String,
        /// Includes the growth still possible for earlier images.
        needed_bytes: u64,
        free_bytes: u64,
    },
    #[error(
        "the disks up to that of {name} may take {} of memory together, and {} are available; allow less with \
         --disk memory:limit=SIZE, or make the study \
         smaller", megadir::sizes::text(*.needed_bytes), megadir::sizes::text(*.free_bytes)
    )]
    Memory { name: String, needed_bytes: u64, free_bytes: u64 },
    #[error("--device '{}' was left alone: {reason}", .path.display())]
    Device {
        path: PathBuf,
        /// After "was left alone:".
        reason: String,
    },
    #[error("cannot {doing}: {}", words(.source))]
    Failed {
        /// After "cannot".
        doing: String,
        source: io::Error,
    },
    #[error("{name} was unmounted, but {left}")]
    NotCold {
        name: String,
        /// After "but".
        left: String,
    },
    #[error("{reason}")]
    Elsewhere { reason: &'static str },
    #[error("interrupted while file systems were created")]
    Interrupted,
}

/// Kinds are separate where a caller treats them differently: `Unavailable` becomes a row of the report and
/// the run continues, `Device` guarantees that nothing was written to the device, `NotCold` makes a cache
/// state impossible. The rest ends the run with its one line.
impl LabError {
    pub fn failed<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        let doing = doing.into();
        move |source| Self::Failed { doing, source: source.into() }
    }
}
