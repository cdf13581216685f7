//! A witness: a tree that must not change. Its names, contents, types and times are compared before and after.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Creates a temporary directory, in memory if possible, for many rounds.
pub(crate) fn scratch_in_memory() -> TempDir {
    let shared = Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("megadir-remove-").tempdir_in(parent).unwrap()
}

/// Attributes of an entry that any change would alter.
type Known = (u32, u64, i64, i64, i64, i64, Vec<u8>);

/// A tree and its original state.
#[derive(Debug)]
pub(crate) struct Witness {
    root: PathBuf,
    before: BTreeMap<PathBuf, Known>,
}

impl Witness {
    /// Creates a tree with files, directories and links.
    pub(crate) fn make(root: &Path) -> Self {
        std::fs::create_dir(root).unwrap();
        for directory in 0..4 {
            let folder = root.join(format!("d{directory}"));
            std::fs::create_dir(&folder).unwrap();
            for file in 0..8 {
                std::fs::write(folder.join(format!("f{file}")), format!("{directory}/{file}")).unwrap();
            }
            symlink("../d0", folder.join("link")).unwrap();
        }
        std::fs::write(root.join("top"), "top").unwrap();
        Self { root: root.to_owned(), before: known(root) }
    }

    /// Asserts that it is unchanged.
    #[track_caller]
    pub(crate) fn is_untouched(&self) {
        assert!(known(&self.root) == self.before, "{} was changed", self.root.display());
    }
}

fn known(root: &Path) -> BTreeMap<PathBuf, Known> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let status = path.symlink_metadata().unwrap();
            let content = if status.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            let times = (status.mtime(), status.mtime_nsec(), status.ctime(), status.ctime_nsec());
            let known = (status.mode(), status.ino(), times.0, times.1, times.2, times.3, content);
            found.insert(path.clone(), known);
            if status.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}
