//! Files and folders of tasks, with errors that name them.
//!
//! Tasks end with one message, which must name the path: the errors of the standard library do not.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// For `map_err`: `cannot ACTION PATH: reason`.
pub(crate) fn cannot(action: &str, path: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("cannot {action} {}: {error}", path.display())
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(cannot("read", path))
}

pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, contents).map_err(cannot("write", path))
}

/// Creates the folder of the copy if there is none.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
    let copied = made.and_then(|()| std::fs::copy(from, to)).map(drop);
    copied.map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::rename(from, to).map_err(cannot("rename", from))
}

pub(crate) fn create_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(cannot("create", folder))
}

/// Does nothing if there is none.
/// A folder may be missing after an interrupted task.
pub(crate) fn remove_folder(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot("remove", folder)(error)),
        _ => Ok(()),
    }
}

pub(crate) fn recreate_folder(folder: &Path) -> Result<(), String> {
    remove_folder(folder)?;
    create_folder(folder)
}

/// Removed when dropped.
pub(crate) fn temporary_folder(parent: &Path) -> Result<TempDir, String> {
    tempfile::tempdir_in(parent).map_err(cannot("create a folder in", parent))
}

/// Sorted.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(cannot("read", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<_> = paths.collect::<Result<_, _>>().map_err(cannot("read", folder))?;
    paths.sort();
    Ok(paths)
}

/// Does nothing if there is something at `path`.
pub(crate) fn link(target: &str, path: &Path) -> Result<(), String> {
    match std::os::unix::fs::symlink(target, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(cannot("create", path)(error)),
        _ => Ok(()),
    }
}
