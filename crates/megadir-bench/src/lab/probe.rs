//! File systems that this machine can make, verified by making each one if the caller may mount.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_record::FsId;

use megadir_lab::{Backing, LabError, Mounted, Spec, missing, tool};

use super::{Fact, Lab, Survey};
use crate::control::RunControl;
use crate::workspace::Leftovers;

/// At most one part in this many of a probe image is written. mkfs and mount write 1 MiB (ext2), 5 MiB (btrfs),
/// 33 MiB (ext4) or 65 MiB (XFS) of a 1 GiB image; the rest stays a hole.
const WRITTEN_SHARE: u64 = 4;

/// Calls `look` on a small mounted image of each file system. An unavailable one has the reason in its
/// [`Fact`]. Fails only if interrupted or if unmounting fails.
pub fn probe<T>(
    lab: &Lab,
    specs: &[Spec],
    control: RunControl<'_>,
    mut look: impl FnMut(&Mounted) -> T,
) -> Result<Vec<(Fact, Option<T>)>, LabError> {
    let mut facts = Vec::with_capacity(specs.len());
    for spec in specs {
        let bytes = spec.entry.smallest_bytes;
        let backing = Backing::Image { bytes, written_bytes: bytes / WRITTEN_SHARE };
        let mut fact = Fact { spec: spec.clone(), unavailable: None, proven: None, tool: None };
        let seen = match lab.make(spec, &backing, control) {
            Ok(mounted) => {
                let file_system = mounted.describe(FsId(0));
                fact.tool.clone_from(&file_system.tool);
                fact.proven = Some(file_system);
                let seen = look(&mounted);
                mounted.unmount(control)?;
                Some(seen)
            }
            Err(error @ (LabError::Interrupted | LabError::Privileges)) => return Err(error),
            Err(error) => {
                fact.unavailable = Some(match error {
                    LabError::Unavailable { reason, .. } => reason,
                    error => error.to_string(),
                });
                fact.tool = tool(spec, control)?;
                None
            }
        };
        facts.push((fact, seen));
    }
    Ok(facts)
}

/// Returns the facts known about each file system without making it. Errors: [`LabError::Interrupted`].
pub fn facts(specs: &[Spec], control: RunControl<'_>) -> Result<Vec<Fact>, LabError> {
    let fact = |spec: &Spec| {
        let tool = tool(spec, control)?;
        Ok(Fact { spec: spec.clone(), unavailable: missing(spec), proven: None, tool })
    };
    specs.iter().map(fact).collect()
}

/// Finds the available file systems by mounting images below `directory` if the caller may, otherwise by
/// drivers and programs.
pub fn survey(
    directory: &Path,
    specs: &[Spec],
    stop: &AtomicBool,
    heartbeat: &AtomicU64,
) -> Result<Survey, LabError> {
    let control = RunControl { stop, heartbeat };
    let lab = match Lab::open(directory, control) {
        Ok(lab) => lab,
        Err(LabError::Privileges) => {
            let facts = facts(specs, control)?;
            return Ok(Survey { facts, proven: false, leftovers: Leftovers::default() });
        }
        Err(error) => return Err(error),
    };
    let facts = probe(&lab, specs, control, |_| ())?.into_iter().map(|(fact, _)| fact).collect();
    let leftovers = lab.leftovers().clone();
    lab.close(control)?;
    Ok(Survey { facts, proven: true, leftovers })
}
