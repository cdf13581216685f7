//! The directory of its own that a run makes its data sets in, and the removal of what killed runs left.
//!
//! ```text
//! megadir-bench-XXXXXX.new/   made first, empty
//!   .megadir-run              then the marker: written, and locked for the life of the process
//! megadir-bench-XXXXXX/       then renamed; only now are files made in it
//! ... removed: everything but the marker, renamed back to .new, the marker, the directory
//! ```
//!
//! So at every moment at which the process may be killed there is either a marker that proves what the
//! directory is, or a `.new` directory with nothing in it but an unfinished marker. What is removed is
//! reached relative to descriptors, never through links, never across mounts, and only while the marker's
//! lock is held, which a living run never gives up.

mod closed;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use megadir_stats::permutation::SplitMix64;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::leftovers::Leftovers;
use crate::remove::{Beat, make_directory, open_on_this_mount, remove_content, remove_directory};

const PREFIX: &str = "megadir-bench-";
const UNFINISHED: &str = ".new";
const MARKER: &str = ".megadir-run";
const PROGRAM: &str = "megadir";
const RANDOM_CHARACTERS: usize = 6;
/// A marker is shorter than this, bytes.
const MARKER_BYTES_MAX: u64 = 4096;
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What a marker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    program: String,
    version: String,
    pid: u32,
    started_unix_s: u64,
    run: String,
}

/// A run's own directory; removed by [`Workspace::remove`], or by the next run if this process is killed.
#[derive(Debug)]
pub(crate) struct Workspace {
    parent: OwnedFd,
    name: String,
    path: PathBuf,
    directory: OwnedFd,
    /// Holds the lock.
    _marker: File,
}

impl Workspace {
    /// Makes a directory of the run's own below `parent`.
    pub(crate) fn create(parent: &Path, started_unix_s: u64, seed: u64) -> io::Result<Self> {
        let parent_fd = open_parent(parent)?;
        let mut random =
            SplitMix64::new(seed ^ u64::from(std::process::id()) ^ started_unix_s.rotate_left(32));
        for _ in 0..64 {
            let name = format!("{PREFIX}{}", random_characters(&mut random));
            match Self::attempt(&parent_fd, &name, started_unix_s) {
                Ok((directory, marker)) => {
                    let path = parent.join(&name);
                    return Ok(Self { parent: parent_fd, name, path, directory, _marker: marker });
                }
                // The name is taken, or another run took ours for a leftover before it was locked: again.
                Err(Errno::EXIST | Errno::NOENT | Errno::WOULDBLOCK | Errno::NOTEMPTY) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a directory of its own"))
    }

    fn attempt(parent: &OwnedFd, name: &str, started_unix_s: u64) -> Result<(OwnedFd, File), Errno> {
        let unfinished = format!("{name}{UNFINISHED}");
        if !matches!(rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
            return Err(Errno::EXIST);
        }
        rustix::fs::mkdirat(parent, unfinished.as_str(), Mode::RWXU)?;
        let finished = rustix::fs::openat(parent, unfinished.as_str(), DIRECTORY, Mode::empty())
            .map_err(Unfinished::Ours)
            .and_then(|directory| {
                let marked = mark(&directory, name, started_unix_s);
                let marker = marked.inspect_err(|failed| failed.unlink_marker(&directory))?;
                let renamed = rename_new(parent.as_fd(), &unfinished, name).map_err(Unfinished::Ours);
                renamed.inspect_err(|failed| failed.unlink_marker(&directory))?;
                Ok((directory, marker))
            });
        finished.map_err(|failed| match failed {
            Unfinished::Ours(error) => {
                let _ = rustix::fs::unlinkat(parent, unfinished.as_str(), AtFlags::REMOVEDIR);
                error
            }
            Unfinished::Taken(error) => error,
        })
    }

    /// Makes a directory for one data set and opens it.
    pub(crate) fn data_directory(&self, name: &str) -> io::Result<OwnedFd> {
        Ok(make_directory(self.directory.as_fd(), name)?)
    }

    /// Takes away a directory below it with everything in it and makes it again.
    pub(crate) fn renew_data_directory(&self, name: &str, beat: &Beat) -> io::Result<OwnedFd> {
        self.remove_data_directory(name, beat)?;
        self.data_directory(name)
    }

    /// Takes away a directory below it with everything in it.
    pub(crate) fn remove_data_directory(&self, name: &str, beat: &Beat) -> io::Result<()> {
        remove_directory(self.directory.as_fd(), name, beat)
    }

    /// Gives a directory below it another name, and makes an empty one under its own.
    pub(crate) fn set_aside_data_directory(&self, name: &str, aside: &str) -> io::Result<OwnedFd> {
        rename_new(self.directory.as_fd(), name, aside)?;
        self.data_directory(name)
    }

    /// Returns the directory's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with everything in it.
    pub(crate) fn remove(self, beat: &Beat) -> io::Result<()> {
        finish_removal(self.parent.as_fd(), &self.name, self.directory.as_fd(), beat)
    }
}

impl AsFd for Workspace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// Why a directory was not finished.
enum Unfinished {
    /// What was made of it is still ours to remove.
    Ours(Errno),
    /// Another run took it for a leftover before it was locked, and removes it.
    Taken(Errno),
}

impl Unfinished {
    fn unlink_marker(&self, directory: &OwnedFd) {
        if matches!(self, Self::Ours(_)) {
            let _ = rustix::fs::unlinkat(directory, MARKER, AtFlags::empty());
        }
    }
}

/// Makes the marker of a new directory, locked and written.
fn mark(directory: &OwnedFd, name: &str, started_unix_s: u64) -> Result<File, Unfinished> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let marker = match rustix::fs::openat(directory, MARKER, flags, Mode::RUSR | Mode::WUSR) {
        Err(Errno::NOENT) => return Err(Unfinished::Taken(Errno::NOENT)),
        opened => opened.map_err(Unfinished::Ours)?,
    };
    let mut marker = File::from(marker);
    match rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Err(Unfinished::Taken(Errno::WOULDBLOCK)),
        locked => locked.map_err(Unfinished::Ours)?,
    }
    if rustix::fs::fstat(&marker).map_err(Unfinished::Ours)?.st_nlink == 0 {
        return Err(Unfinished::Taken(Errno::NOENT));
    }
    let text = Marker {
        program: PROGRAM.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_unix_s,
        run: name.to_owned(),
    };
    let text = serde_json::to_vec(&text).map_err(|_| Unfinished::Ours(Errno::INVAL))?;
    let written = marker.write_all(&text);
    written.map_err(|error| Unfinished::Ours(Errno::from_io_error(&error).unwrap_or(Errno::IO)))?;
    Ok(marker)
}

/// Removes the directories that killed runs left next to where a new one is made.
pub(crate) fn remove_leftovers(parent: &Path, beat: &Beat) -> io::Result<Leftovers> {
    leftovers(parent, |parent, name, leftover| match &leftover.marker {
        Some(_) => finish_removal(parent, name, leftover.directory.as_fd(), beat),
        None => match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        },
    })
}

/// Returns what [`remove_leftovers`] would remove, and removes nothing.
pub(crate) fn find_leftovers(parent: &Path) -> io::Result<Leftovers> {
    leftovers(parent, |_, _, _| Ok(()))
}

/// A directory whose run is dead; its lock is held.
struct Leftover {
    directory: OwnedFd,
    /// `None` if the run was killed before it made one.
    marker: Option<File>,
}

/// Goes through the directories that killed runs left, and removes them as it is told.
fn leftovers(
    parent: &Path,
    remove: impl Fn(BorrowedFd<'_>, &str, &Leftover) -> io::Result<()>,
) -> io::Result<Leftovers> {
    let parent = open_parent(parent)?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(&parent)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str()
            && is_ours_by_name(name)
        {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    let mut leftovers = Leftovers::default();
    for name in names {
        let removed = match examine(parent.as_fd(), &name) {
            Ok(Some(leftover)) => remove(parent.as_fd(), &name, &leftover).map_err(|error| error.to_string()),
            Ok(None) => continue,
            Err(reason) => Err(reason),
        };
        match removed {
            Ok(()) => leftovers.removed.push(name),
            Err(reason) => leftovers.left.push((name, reason)),
        }
    }
    Ok(leftovers)
}

/// Returns whether a name is one that [`Workspace::create`] gives.
fn is_ours_by_name(name: &str) -> bool {
    let name = name.strip_suffix(UNFINISHED).unwrap_or(name);
    name.strip_prefix(PREFIX).is_some_and(|random| {
        random.len() == RANDOM_CHARACTERS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Takes the lock of a directory if its run is dead; `None` if the run lives, `Err` with the reason if it is none.
fn examine(parent: BorrowedFd<'_>, name: &str) -> Result<Option<Leftover>, String> {
    let words = |error: Errno| io::Error::from(error).to_string();
    let directory = match open_on_this_mount(parent, name) {
        Ok(directory) => directory,
        Err(Errno::XDEV) => return Err("something else is mounted there".into()),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => return Err("it is not a directory".into()),
        Err(error) => return Err(words(error)),
    };
    let stat = rustix::fs::fstat(&directory).map_err(words)?;
    let unfinished = name.ends_with(UNFINISHED);
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut marker = match rustix::fs::openat(&directory, MARKER, flags, Mode::empty()) {
        Ok(marker) => File::from(marker),
        // Made and killed at once.
        Err(Errno::NOENT) if unfinished => {
            check_empty(&directory).map_err(words)?;
            return Ok(Some(Leftover { directory, marker: None }));
        }
        Err(Errno::NOENT) => return Err("it has no marker".into()),
        Err(error) => return Err(format!("its marker cannot be opened: {}", words(error))),
    };
    let stat_of_marker = rustix::fs::fstat(&marker).map_err(words)?;
    if !is_plain(&stat_of_marker, &stat) {
        return Err("its marker is not a plain file of the directory's owner".into());
    }
    match rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(format!("its marker cannot be locked: {}", words(error))),
    }
    if !is_marker(&mut marker, name, unfinished) {
        return Err("its marker is not one that this program wrote".into());
    }
    if unfinished {
        check_empty(&directory).map_err(words)?;
    }
    Ok(Some(Leftover { directory, marker: Some(marker) }))
}

/// Refuses a directory that holds anything but a marker, which one that is still `.new` never does.
fn check_empty(directory: &OwnedFd) -> Result<(), Errno> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        if ![&b"."[..], b"..", MARKER.as_bytes()].contains(&entry?.file_name().to_bytes()) {
            return Err(Errno::NOTEMPTY);
        }
    }
    Ok(())
}

/// Returns whether a marker is a regular file with one name, of the same owner and device as its directory.
fn is_plain(marker: &Stat, directory: &Stat) -> bool {
    FileType::from_raw_mode(marker.st_mode) == FileType::RegularFile
        && marker.st_nlink == 1
        && (marker.st_uid, marker.st_dev) == (directory.st_uid, directory.st_dev)
}

/// Returns whether a marker says what this program's markers say of a directory of this name.
fn is_marker(marker: &mut File, name: &str, unfinished: bool) -> bool {
    let mut text = Vec::new();
    if marker.take(MARKER_BYTES_MAX).read_to_end(&mut text).is_err() {
        return false;
    }
    let run = name.strip_suffix(UNFINISHED).unwrap_or(name);
    match serde_json::from_slice::<Marker>(&text) {
        Ok(marker) => marker.program == PROGRAM && marker.run == run,
        // Killed while writing it: the directory holds nothing else yet, which its removal will prove.
        Err(error) => unfinished && error.is_eof(),
    }
}

/// Removes a directory whose lock is held: content, then marker, then itself.
fn finish_removal(
    parent: BorrowedFd<'_>,
    name: &str,
    directory: BorrowedFd<'_>,
    beat: &Beat,
) -> io::Result<()> {
    let unfinished = name.ends_with(UNFINISHED);
    // A directory that is still `.new` holds nothing but its marker; if it does, rmdir refuses below.
    if !unfinished {
        remove_content(directory, MARKER.as_bytes(), beat)?;
    }
    let last = if unfinished { name.to_owned() } else { format!("{name}{UNFINISHED}") };
    if !unfinished {
        rename_new(parent, name, &last)?;
    }
    rustix::fs::unlinkat(directory, MARKER, AtFlags::empty())?;
    rustix::fs::unlinkat(parent, last.as_str(), AtFlags::REMOVEDIR)?;
    Ok(())
}

/// Renames without replacing anything, also where the file system does not know how to promise that.
fn rename_new(parent: BorrowedFd<'_>, from: &str, to: &str) -> Result<(), Errno> {
    match rustix::fs::renameat_with(parent, from, parent, to, RenameFlags::NOREPLACE) {
        // Renaming a directory replaces at most an empty directory, so nothing can be lost.
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(parent, from, parent, to),
        result => result,
    }
}

fn open_parent(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn random_characters(random: &mut SplitMix64) -> String {
    const CHARACTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let character = |_| char::from(CHARACTERS[(random.next_u64() % 36) as usize]);
    (0..RANDOM_CHARACTERS).map(character).collect()
}

#[cfg(test)]
mod tests;
