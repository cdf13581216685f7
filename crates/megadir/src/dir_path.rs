//! Path of an open directory, kept as the names below the directory that a tree was opened with.

#[cfg(unix)]
use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::names;
use crate::tree_path::TreePath;

/// Path of an open directory, for messages and output; it is never looked up again.
///
/// Dereferences to a [`Path`] that is built on first use: paths of all directories would take time quadratic
/// in the depth of a tree. Clones share their memory.
///
/// ```
/// use megadir::Dir;
/// # let scratch = tempfile::tempdir()?;
/// # std::fs::create_dir(scratch.path().join("sub"))?;
/// # let tree = scratch.path();
/// let below = Dir::open(tree)?.open_below(b"sub")?;
/// assert_eq!(below.path(), tree.join("sub"));
/// assert_eq!(below.dir_path().below().to_vec(), b"sub");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DirPath {
    top: Arc<Path>,
    below: TreePath,
    whole: OnceLock<PathBuf>,
}

impl DirPath {
    pub(crate) fn child(&self, name: &[u8]) -> Self {
        Self { top: Arc::clone(&self.top), below: self.below.join(name), whole: OnceLock::new() }
    }

    /// Path of the directory `below` the one that was opened by path; nothing is opened.
    #[must_use]
    pub fn at(&self, below: TreePath) -> Self {
        Self { top: Arc::clone(&self.top), below, whole: OnceLock::new() }
    }

    /// Path relative to the directory that was opened by path; empty for that directory.
    pub fn below(&self) -> &TreePath {
        &self.below
    }

    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn is_built(&self) -> bool {
        self.whole.get().is_some()
    }

    fn build(&self) -> PathBuf {
        let top = names::from_os(self.top.as_os_str());
        let mut bytes = Vec::with_capacity(top.len() + 1 + self.below.len());
        bytes.extend_from_slice(top);
        if top.last().is_some_and(|last| !std::path::is_separator(char::from(*last))) {
            bytes.push(std::path::MAIN_SEPARATOR as u8);
        }
        let start = bytes.len();
        self.below.push_to(&mut bytes);
        if cfg!(windows) {
            // Behind `\\?\` slashes do not separate.
            bytes[start..].iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'\\');
        }
        #[cfg(unix)]
        return <OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes).into();
        #[cfg(not(unix))]
        names::to_os(&bytes).map(|path| PathBuf::from(path.into_owned())).unwrap_or_default()
    }
}

impl Deref for DirPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        if self.below.is_empty() { &self.top } else { self.whole.get_or_init(|| self.build()) }
    }
}

impl From<&Path> for DirPath {
    fn from(path: &Path) -> Self {
        Self { top: path.into(), below: TreePath::root(), whole: OnceLock::new() }
    }
}

impl AsRef<Path> for DirPath {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Clone for DirPath {
    fn clone(&self) -> Self {
        Self { top: Arc::clone(&self.top), below: self.below.clone(), whole: OnceLock::new() }
    }
}

impl PartialEq for DirPath {
    fn eq(&self, other: &Self) -> bool {
        self.below == other.below && (Arc::ptr_eq(&self.top, &other.top) || self.top == other.top)
    }
}

impl Eq for DirPath {}

impl fmt::Debug for DirPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::DirPath;
    use std::path::Path;

    #[test]
    fn paths_equal_joining_name_by_name() {
        for top in ["t", "t/", "/", ".", "", "/a b"] {
            let (mut path, mut expected) = (DirPath::from(Path::new(top)), Path::new(top).to_owned());
            for name in ["a", "b".repeat(700).as_str(), "c".repeat(700).as_str(), "d"] {
                assert_eq!(*path, *expected, "{top}");
                (path, expected) = (path.child(name.as_bytes()), expected.join(name));
                let parts = [path.clone().as_os_str().to_owned(), expected.clone().into_os_string()];
                assert_eq!(parts[0], parts[1]);
            }
        }
    }
}
