//! Which file systems this machine can have, for lists: proven where the caller may mount.

#[cfg(target_os = "linux")]
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_record::LabFileSystem;

#[cfg(target_os = "linux")]
use super::LabError;
use super::Spec;
use crate::leftovers::Leftovers;

/// What is known of a file system on this machine.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Which one.
    pub spec: Spec,
    /// Why it cannot be had; `None` if it can, as far as is known.
    pub unavailable: Option<String>,
    /// How it was when it was made and mounted; `None` where that was not tried or failed.
    pub proven: Option<LabFileSystem>,
    /// The program that makes it with its version.
    pub tool: Option<String>,
}

/// What a survey found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Each that was asked about, in that order.
    pub facts: Vec<Fact>,
    /// Whether each was really made and mounted; else that is told which can be without privileges.
    pub proven: bool,
    /// What was found of earlier runs that were killed.
    pub leftovers: Leftovers,
}

/// Finds out which of these can be had: makes and mounts each on a small image below `directory` where the caller may,
/// else looks for drivers and programs.
///
/// # Errors
///
/// [`LabError::Interrupted`], and [`LabError::Failed`] where the directory cannot be used.
#[cfg(target_os = "linux")]
pub fn survey(
    directory: &Path,
    specs: &[Spec],
    stop: &AtomicBool,
    beat: &AtomicU64,
) -> Result<Survey, LabError> {
    let signals = crate::workload::Signals { stop, beat };
    let lab = match super::Lab::open(directory, signals) {
        Ok(lab) => lab,
        Err(LabError::Privileges) => {
            let facts = super::facts(specs, signals)?;
            return Ok(Survey { facts, proven: false, leftovers: Leftovers::default() });
        }
        Err(error) => return Err(error),
    };
    let facts = super::probe(&lab, specs, signals, |_| ())?.into_iter().map(|(fact, _)| fact).collect();
    let leftovers = lab.leftovers().clone();
    lab.close(signals)?;
    Ok(Survey { facts, proven: true, leftovers })
}
