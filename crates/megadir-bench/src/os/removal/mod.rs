//! Removes the content of one of the run's own directories: relative to the open directory, following no links, crossing no
//! mounts. Studies measure `remove_content` as the plain loop, so it makes no unnecessary system calls.

#[cfg(target_os = "linux")]
mod linux;

use std::sync::atomic::AtomicU64;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// The trees of layouts are shallower, including the directories of workers and rounds.
const DEPTH_MAX: u32 = 64;
/// Names may be added while the directory is read.
const PASSES_MAX: u32 = 1_000;

pub(crate) type Beat = AtomicU64;

#[cfg(windows)]
mod windows {
    //! Windows: without POSIX semantics a name stays until its file's last handle is closed, e.g. by a virus scanner: waits a little.

    use std::io::{self, ErrorKind};
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use megadir::FileType;

    use super::{Beat, DEPTH_MAX, PASSES_MAX};
    use crate::os::{
        At, Borrowed, each_entry, if_there, open_on_this_mount, remove_directory as remove_empty, remove_file,
    };

    const WAIT: Duration = Duration::from_millis(10);
    const WAITS_MAX: u32 = 100;

    pub(crate) fn remove_content(directory: Borrowed<'_>, keep: &[u8], heartbeat: &Beat) -> io::Result<()> {
        remove_below(directory, keep, 0, heartbeat)
    }

    fn remove_below(directory: Borrowed<'_>, keep: &[u8], depth: u32, heartbeat: &Beat) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(io::Error::other("directories are nested deeper than this program creates them"));
        }
        for _ in 0..PASSES_MAX {
            let (mut found, mut removed) = (false, false);
            each_entry(directory, &mut |name, kind| {
                if name == keep {
                    return Ok(());
                }
                found = true;
                heartbeat.fetch_add(1, Ordering::Relaxed);
                let result = match kind {
                    FileType::Directory => remove_tree(directory, name, depth + 1, heartbeat),
                    _ => remove_file(directory, name),
                };
                removed |= if_there(result)?.is_some();
                Ok(())
            })?;
            if !found {
                return Ok(());
            }
            if !removed {
                std::thread::sleep(WAIT);
            }
        }
        Err(io::Error::other("another process keeps creating files in the directory, or holds them open"))
    }

    pub(crate) fn remove_directory(parent: Borrowed<'_>, name: &str, heartbeat: &Beat) -> io::Result<()> {
        remove_tree(parent, name.as_bytes(), 0, heartbeat)
    }

    fn remove_tree(parent: Borrowed<'_>, name: &[u8], depth: u32, heartbeat: &Beat) -> io::Result<()> {
        let directory = open_on_this_mount(parent, name)?;
        remove_below(directory.at(), b"", depth, heartbeat)?;
        // If names go with the last handle, this handle would keep the directory.
        drop(directory);
        remove_emptied(parent, name)
    }

    /// Its former entries may take a moment to disappear.
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
}
