//! What is never removed, whoever asks: refused with a line before anything is touched.

use super::refusal::Refusal;
use super::system::{self, Found};
use super::target::Target;

/// What stays: the directories that the current one lies in, and whatever else the system says.
#[derive(Debug)]
pub(super) struct Here(Found);

impl Here {
    /// Looks where this process is.
    pub(super) fn find() -> Self {
        Self(system::find_what_stays())
    }

    /// Refuses what would take the ground from under the caller or is not a thing to remove.
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
