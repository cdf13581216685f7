//! Directories that are never removed.

use std::path::Path;

use super::Target;
use super::refusal::Refusal;
use super::system::{self, Chain, Protected};

/// Directories that are never removed: the root, the current directory and those above it, and what the
/// caller adds. Compared by identity, so that no spelling, link or bind mount gets past them.
#[derive(Debug)]
pub struct Guards(Protected);

impl Guards {
    /// Finds them. A change of the current directory afterwards is not noticed.
    pub fn find() -> Self {
        Self(system::find_protected())
    }

    /// Protects another folder and those above it. `itself` and `above` are the reasons. A relative path and
    /// folders that cannot be listed, and so cannot be emptied, are ignored.
    #[must_use]
    pub fn and(mut self, folder: &Path, itself: &'static str, above: &'static str) -> Self {
        self.0.chains.extend(Chain::of(folder, itself, above));
        self
    }

    /// Checks that a target may be removed, or with `contents` everything in it. Errors: its removal would
    /// harm the caller, or it is a mount point.
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::super::{Links, Resolver};
    use super::{Guards, Refusal};

    fn checked(guards: &Guards, path: &Path, contents: bool) -> Result<(), Refusal> {
        let target = Resolver::new(Links::Followed).resolve(path.as_os_str().as_bytes(), false).unwrap();
        guards.check(&target, contents)
    }

    #[test]
    fn a_protected_folder_is_known_by_its_identity() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |tail: &str| scratch.path().join(tail);
        fs::create_dir_all(path("above/folder/below")).unwrap();
        fs::write(path("above/file"), "").unwrap();
        symlink("above", path("link")).unwrap();
        let guards = Guards::find().and(&path("link/folder"), "itself", "above it");
        for contents in [false, true] {
            assert_eq!(checked(&guards, &path("above/folder"), contents), Err(Refusal::Stays("itself")));
            assert_eq!(checked(&guards, &path("link/folder/"), contents), Err(Refusal::Stays("itself")));
            assert_eq!(checked(&guards, &path("link/../above"), contents), Err(Refusal::Stays("above it")));
            assert_eq!(checked(&guards, scratch.path(), contents), Err(Refusal::Stays("above it")));
            assert_eq!(checked(&guards, &path("above/folder/below"), contents), Ok(()));
        }
        assert_eq!(checked(&guards, &path("link"), false), Ok(()));
        assert_eq!(checked(&guards, &path("above/file"), true), Err(Refusal::NoContents));
        fs::rename(path("above"), path("renamed")).unwrap();
        assert_eq!(checked(&guards, &path("renamed"), false), Err(Refusal::Stays("above it")));
    }

    #[test]
    fn another_directory_of_the_same_name_is_not_emptied() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("d");
        fs::create_dir(&path).unwrap();
        let target = Resolver::new(Links::Followed).resolve(path.as_os_str().as_bytes(), false).unwrap();
        assert!(target.open().is_ok());
        fs::rename(&path, scratch.path().join("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(target.open().unwrap_err().reason().contains("taken its name"));
    }
}
