//! Linux: an unfinished directory is named `megadir-bench-XXXXXX.new`. It gets its locked marker
//! `.megadir-run`, is renamed, and only then filled. Removal goes the other way.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use super::{Leftover, MARKER, UNFINISHED, Unfinished, Workspace, mark};
use crate::os::removal::{Beat, remove_content};
use crate::os::{self, At, Borrowed, Owned};

pub(super) fn make(parent: Borrowed<'_>, name: &str, started_unix_s: u64) -> io::Result<(Owned, File)> {
    let unfinished = format!("{name}{UNFINISHED}");
    match os::status(parent, name) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        _ => return Err(ErrorKind::AlreadyExists.into()),
    }
    os::make_private_directory(parent, &unfinished)?;
    let finished =
        os::open_below(parent, unfinished.as_str()).map_err(Unfinished::Ours).and_then(|directory| {
            let marked = mark(directory.at(), name, started_unix_s);
            let marker = marked.inspect_err(|failed| failed.remove_marker(directory.at()))?;
            let renamed = os::rename_new(parent, &unfinished, name).map_err(Unfinished::Ours);
            renamed.inspect_err(|failed| failed.remove_marker(directory.at()))?;
            Ok((directory, marker))
        });
    finished.map_err(|failed| match failed {
        Unfinished::Ours(error) => {
            let _ = os::remove_directory(parent, unfinished.as_str());
            error
        }
        Unfinished::Taken(error) => error,
    })
}

/// `true` if a directory may lack a complete marker.
pub(super) fn is_unfinished(name: &str, _directory: Borrowed<'_>) -> io::Result<bool> {
    Ok(name.ends_with(UNFINISHED))
}

/// Removes a directory whose lock is held: content, then marker, then the directory.
pub(super) fn remove(
    parent: Borrowed<'_>,
    name: &str,
    leftover: Leftover,
    heartbeat: &Beat,
) -> io::Result<()> {
    let unfinished = name.ends_with(UNFINISHED);
    // Keep the lock to the end.
    let Leftover { directory, marker: _lock, whole } = leftover;
    let directory = directory.at();
    // A directory named `.new` contains only its marker; otherwise rmdir refuses below.
    if !unfinished && whole {
        remove_content(directory, MARKER.as_bytes(), heartbeat)?;
    }
    let last = if unfinished { name.to_owned() } else { format!("{name}{UNFINISHED}") };
    if !unfinished {
        os::rename_new(parent, name, &last)?;
    }
    os::remove_file(directory, MARKER)?;
    os::remove_directory(parent, last.as_str())
}

impl AsFd for Workspace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}
