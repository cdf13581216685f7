//! Directories that are never removed. Checked before anything is changed.

use super::Target;
use super::refusal::Refusal;
use super::system::{self, Protected};

/// Directories that are never removed: the root, the current directory and those above it; on Windows also the user's
/// profile, the Windows directory and those above them. Compared by identity, so that no spelling, link or bind mount gets
/// past them.
#[derive(Debug)]
pub struct Guards(Protected);

impl Guards {
    /// Finds them. A change of the current directory afterwards is not noticed.
    pub fn find() -> Self {
        Self(system::find_protected())
    }

    /// Checks that a target may be removed, or with `contents` everything in it.
    ///
    /// # Errors
    ///
    /// The reason, if its removal would harm the caller, or if it is a mount point, which cannot be removed.
    pub fn check(&self, target: &Target, contents: bool) -> Result<(), Refusal> {
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
