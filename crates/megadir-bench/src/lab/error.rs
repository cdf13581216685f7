//! Why the lab has no file system to give: one line each.

use std::io;
use std::path::PathBuf;

use crate::control::words;

/// Why a file system could not be made, mounted or unmounted.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The caller may not mount.
    #[error(
        "file systems are made and mounted in a mount namespace of the run's own, which needs CAP_SYS_ADMIN, and loop \
         devices, which need CAP_DAC_OVERRIDE or group disk: run it as root (sudo)"
    )]
    Privileges,
    /// It is not to be had on this machine: a row in tables, not the end of a run.
    #[error("{name} is not to be had here: {reason}")]
    Unavailable {
        /// As it was asked for.
        name: String,
        /// Why.
        reason: String,
    },
    /// There is no room for an image of the size that is needed.
    #[error(
        "'{}' has not enough room for the image of {name}: {} MiB are needed and {} MiB are free; name another \
         directory with --dir, or make the study smaller", .path.display(), .needed_bytes.div_ceil(1 << 20), .free_bytes >> 20
    )]
    Room {
        /// The directory of images, or what the memory is called.
        path: PathBuf,
        /// As it was asked for.
        name: String,
        /// The size of the image, and what those made before may still grow, bytes.
        needed_bytes: u64,
        /// What is free, bytes.
        free_bytes: u64,
    },
    /// The device must not be erased, or cannot be.
    #[error("--device '{}' is left alone: {reason}", .path.display())]
    Device {
        /// The device.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A step failed.
    #[error("cannot {doing}: {}", words(.source))]
    Failed {
        /// What was done, with its object.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A file system that was unmounted is still there.
    #[error("{name} was unmounted, but {left}")]
    NotCold {
        /// As it was asked for.
        name: String,
        /// What is left of it.
        left: String,
    },
    /// Not on this system.
    #[error("{reason}")]
    Elsewhere {
        /// Why.
        reason: &'static str,
    },
    /// It was told to end.
    #[error("interrupted while file systems were made")]
    Interrupted,
}

impl LabError {
    /// Makes the error of a step.
    #[cfg(target_os = "linux")]
    pub(super) fn failed<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        let doing = doing.into();
        move |source| Self::Failed { doing, source: source.into() }
    }
}
