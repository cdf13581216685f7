//! Windows: relative to handles. A name may stay until the last who has its file open closes it (a virus scanner, where the volume
//! knows no POSIX semantics), so what is still there is waited for a little.

use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use megadir::FileType;

use super::{Beat, DEPTH_MAX, PASSES_MAX};
use crate::os::{
    At, Borrowed, each_entry, open_on_this_mount, remove_directory as remove_empty, remove_file,
};

/// Names that others keep are looked for again after so long.
const WAIT: Duration = Duration::from_millis(10);
/// An emptied directory is waited for so often.
const WAITS_MAX: u32 = 100;

/// Removes everything in `directory` but the entry called `keep`.
pub(crate) fn remove_content(directory: Borrowed<'_>, keep: &[u8], heartbeat: &Beat) -> io::Result<()> {
    remove_below(directory, keep, 0, heartbeat)
}

fn remove_below(directory: Borrowed<'_>, keep: &[u8], depth: u32, heartbeat: &Beat) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other("directories are nested deeper than this program makes them"));
    }
    for _ in 0..PASSES_MAX {
        let (mut found, mut removed) = (false, false);
        each_entry(directory, &mut |name, kind| {
            if name == keep {
                return Ok(());
            }
            found = true;
            heartbeat.fetch_add(1, Ordering::Relaxed);
            let gone = match kind {
                FileType::Directory => remove_tree(directory, name, depth + 1, heartbeat),
                _ => remove_file(directory, name),
            };
            match gone {
                Ok(()) => removed = true,
                // Others have it open still, or it went by itself.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        if !found {
            return Ok(());
        }
        if !removed {
            std::thread::sleep(WAIT);
        }
    }
    Err(io::Error::other("something keeps making files in the directory, or keeps them open"))
}

/// Removes a directory below `parent` with everything in it.
pub(crate) fn remove_directory(parent: Borrowed<'_>, name: &str, heartbeat: &Beat) -> io::Result<()> {
    remove_tree(parent, name.as_bytes(), 0, heartbeat)
}

fn remove_tree(parent: Borrowed<'_>, name: &[u8], depth: u32, heartbeat: &Beat) -> io::Result<()> {
    let directory = open_on_this_mount(parent, name)?;
    remove_below(directory.at(), b"", depth, heartbeat)?;
    // Where names go with the last handle, this one would keep it.
    drop(directory);
    remove_emptied(parent, name)
}

/// Removes a directory that was emptied; what went from it may need a moment to be gone.
pub(crate) fn remove_emptied(parent: Borrowed<'_>, name: &[u8]) -> io::Result<()> {
    for _ in 0..WAITS_MAX {
        match remove_empty(parent, name) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => std::thread::sleep(WAIT),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            removed => return removed,
        }
    }
    remove_empty(parent, name)
}
