//! Directories and files that are never removed.

use std::path::Path;

use super::refusal::{NoTarget, Refusal};
use super::system::{self, Chain, Identity, Protected};
use super::{Links, Resolver, Target};
use crate::names;

/// Directories that are never removed: the root, the current directory and those above it, and what the
/// caller adds. Compared by identity, so that no spelling, link or bind mount gets past them.
#[derive(Debug)]
pub struct Guards {
    protected: Protected,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    parent: Identity,
    name: Vec<u8>,
    reason: &'static str,
}

impl Guards {
    /// Finds them. A change of the current directory afterwards is not noticed.
    pub fn find() -> Self {
        Self { protected: system::find_protected(), files: Vec::new() }
    }

    /// Protects another folder and those above it. Refusals have `reason` for the folder and `above` for those above
    /// it. A relative path and folders that cannot be listed, and so cannot be emptied, are ignored.
    #[must_use]
    pub fn and(mut self, folder: &Path, reason: &'static str, above: &'static str) -> Self {
        self.protected.chains.extend(Chain::of(folder, reason, above));
        self
    }

    /// Protects a file, which need not exist yet, and the folders above it. Refusals have `reason` for the file and
    /// `above` for the folders. The last name is not followed if it is a link. Ignored if the path is relative or its
    /// folder does not exist.
    #[must_use]
    pub fn and_file(mut self, file: &Path, reason: &'static str, above: &'static str) -> Self {
        let resolved = Resolver::new(Links::Followed).resolve(names::from_os(file.as_os_str()), true);
        let (Ok(target), Some(folder)) = (resolved, file.parent()) else { return self };
        if let Ok(parent) = system::identity(&target.parent) {
            self.files.push(File { parent, name: target.name, reason });
        }
        self.and(folder, above, above)
    }

    /// Resolves a path, whose links are followed, and checks the target as [`Self::check`], without guards of the caller.
    pub fn resolve(path: &Path, contents: bool) -> crate::Result<Target> {
        let found = Resolver::new(Links::Followed).resolve(names::from_os(path.as_os_str()), false);
        let target = found.map_err(|none| none.into_error(path))?;
        Self::find().check(&target, contents).map_err(|refusal| NoTarget::from(refusal).into_error(path))?;
        Ok(target)
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
                _ => self.check_file(target),
            };
        }
        if self.protected.root == Some(target.identity) {
            return Err(Refusal::Root);
        }
        if let Some(refusal) = self.protected.chains.iter().find_map(|chain| chain.refusal(target.identity)) {
            return Err(refusal);
        }
        if target.is_mount_point && !contents {
            return Err(Refusal::MountPoint);
        }
        self.protected.broken.map_or(Ok(()), |error| Err(Refusal::Unknown(error)))
    }

    fn check_file(&self, target: &Target) -> Result<(), Refusal> {
        let is = |file: &&File| {
            system::same_name(&file.name, &target.name)
                && system::identity(&target.parent).is_ok_and(|parent| parent == file.parent)
        };
        self.files.iter().find(is).map_or(Ok(()), |file| Err(Refusal::Stays(file.reason)))
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
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
    fn a_protected_file_is_known_by_its_name_in_its_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |tail: &str| scratch.path().join(tail);
        fs::create_dir_all(path("above/folder")).unwrap();
        fs::create_dir(path("other")).unwrap();
        symlink("above", path("link")).unwrap();
        // It does not exist yet.
        let guards = Guards::find().and_file(&path("link/folder/log"), "itself", "above it");
        for name in ["above/folder/log", "above/folder/other", "other/log"] {
            fs::write(path(name), "").unwrap();
        }
        symlink("folder/log", path("above/to-log")).unwrap();
        assert_eq!(checked(&guards, &path("above/folder/log"), false), Err(Refusal::Stays("itself")));
        assert_eq!(checked(&guards, &path("link/folder/log"), false), Err(Refusal::Stays("itself")));
        for directory in ["above/folder", "above"] {
            assert_eq!(checked(&guards, &path(directory), true), Err(Refusal::Stays("above it")));
        }
        for other in ["above/folder/other", "other/log", "above/to-log", "link", "other"] {
            assert_eq!(checked(&guards, &path(other), false), Ok(()), "{other}");
        }
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
