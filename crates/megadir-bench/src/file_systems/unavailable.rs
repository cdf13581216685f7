//! File systems where none can be made.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::lab::{LabError, Spec};
use crate::plan::FileSystemFact;

/// What is known before a plan is made over file systems.
#[derive(Debug)]
pub struct LabFacts {
    /// Each file system that was asked for.
    pub file_systems: Vec<FileSystemFact>,
    /// Bytes free for their images.
    pub room_bytes: u64,
}

/// Tells of each file system that it cannot be had on this system.
///
/// # Errors
///
/// None.
pub fn file_system_facts(
    _directory: &Path,
    asked: &[(Spec, Option<&Path>)],
    _stop: &AtomicBool,
    _beat: &AtomicU64,
) -> Result<LabFacts, LabError> {
    let gone = || Err("file systems are made and mounted on Linux only".to_owned());
    let fact = |(spec, _): &(Spec, Option<&Path>)| FileSystemFact { spec: spec.clone(), found: gone() };
    Ok(LabFacts { file_systems: asked.iter().map(fact).collect(), room_bytes: 0 })
}
