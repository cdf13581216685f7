//! Systems without a lab.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::LabFacts;
use crate::lab::{LINUX_ONLY, LabError, Spec};
use crate::request::FileSystemFact;

pub fn file_system_facts(
    _directory: &Path,
    asked: &[(Spec, Option<&Path>)],
    _stop: &AtomicBool,
    _beat: &AtomicU64,
) -> Result<LabFacts, LabError> {
    let gone = || Err(LINUX_ONLY.to_owned());
    let fact = |(spec, _): &(Spec, Option<&Path>)| FileSystemFact {
        name: spec.to_string(),
        spec: Some(spec.clone()),
        found: gone(),
    };
    Ok(LabFacts { file_systems: asked.iter().map(fact).collect(), room_bytes: 0 })
}
