//! Guards: directories that are never removed. Checked before anything is changed.

use super::refusal::Refusal;
use super::system::{self, Protected};
use super::target::Target;

/// The current directory and its parents, and others that the system names.
#[derive(Debug)]
pub(super) struct Guards(Protected);

impl Guards {
    pub(super) fn find() -> Self {
        Self(system::find_protected())
    }

    /// Their removal would harm the caller, or they cannot be removed.
    pub(super) fn check(&self, target: &Target, contents: bool) -> Result<(), Refusal> {
        if target.is_missing {
            return Ok(());
        }
        if !target.is_directory {
            return match (target.is_mount_point, contents) {
                (true, _) => Err(Refusal::MountedFile),
                (_, true) => Err(Refusal::NoContents),
                _ => Ok(()),
            };
        }
        if self.0.root == Some(target.identity) {
            return Err(Refusal::Root);
        }
        if let Some(refusal) = self.0.chains.iter().find_map(|chain| chain.refusal(target.identity)) {
            return Err(refusal);
        }
        if target.is_mount_point && !contents {
            return Err(Refusal::MountPoint);
        }
        self.0.broken.map_or(Ok(()), |error| Err(Refusal::Unknown(error)))
    }
}
