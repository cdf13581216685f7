//! Windows cannot rename a directory with open files in it, so an unfinished directory already has its final
//! name; its marker is created first and locked for the life of the process. A directory that is empty or holds
//! only the beginning of a marker belongs to a run that was killed at once. It is removed as an empty directory
//! only; a run that has just created it tries another name.

use std::fs::File;
use std::io::{self, ErrorKind};

use super::{Leftover, MARKER, Unfinished, check_empty, mark};
use crate::os::removal::{Beat, remove_content, remove_emptied};
use crate::os::{self, At, Borrowed, Owned};

pub(super) fn make(parent: Borrowed<'_>, name: &str, started_unix_s: u64) -> io::Result<(Owned, File)> {
    os::make_private_directory(parent, name)?;
    let directory = os::open_below(parent, name)?;
    let failed = match mark(directory.at(), name, started_unix_s) {
        Ok(marker) => return Ok((directory, marker)),
        Err(failed) => failed,
    };
    failed.remove_marker(directory.at());
    // The open handle would keep it.
    drop(directory);
    match failed {
        Unfinished::Ours(error) => {
            let _ = os::remove_directory(parent, name);
            Err(error)
        }
        Unfinished::Taken(error) => Err(error),
    }
}

/// `true` if a directory may lack a complete marker: nothing is created in it before.
pub(super) fn is_unfinished(_name: &str, directory: Borrowed<'_>) -> io::Result<bool> {
    match check_empty(directory) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a directory whose lock is held: content, then marker, then the directory.
pub(super) fn remove(
    parent: Borrowed<'_>,
    name: &str,
    leftover: Leftover,
    heartbeat: &Beat,
) -> io::Result<()> {
    let Leftover { directory, marker, whole } = leftover;
    if whole {
        remove_content(directory.at(), MARKER.as_bytes(), heartbeat)?;
    }
    match os::remove_file(directory.at(), MARKER) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // If names go with the last handle, these handles would keep marker and directory. Closing the marker also
    // releases its lock.
    drop(marker);
    drop(directory);
    remove_emptied(parent, name.as_bytes())
}
