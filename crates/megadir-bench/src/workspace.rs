//! The directory of its own that a run makes its data sets in, and the removal of what killed runs left.
//!
//! It has a marker, written, and locked for the life of the process. At every moment at which the process may be killed there is
//! either a whole marker that proves what the directory is, or a directory with nothing in it but an unfinished marker; how, each
//! system says (`renamed`, `in_place`). What is removed is reached relative to the open directory, never through links, never across
//! mounts, and only while the marker's lock is held, which a living run never gives up.

#[cfg(windows)]
mod in_place;
#[cfg(target_os = "linux")]
mod renamed;

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

#[cfg(windows)]
use in_place as protocol;
use megadir::FileType;
use megadir_stats::permutation::SplitMix64;
#[cfg(target_os = "linux")]
use renamed as protocol;
use serde::{Deserialize, Serialize};

use crate::os::removal::{Beat, remove_directory};
use crate::os::{self, Access, At, Borrowed, Owned, Status};

const PREFIX: &str = "megadir-bench-";
/// What the names of unfinished directories end with, where they have others than finished ones.
const UNFINISHED: &str = ".new";
const MARKER: &str = ".megadir-run";
const PROGRAM: &str = "megadir";
/// On Windows a directory of such a name that is empty is removed for its name, which nobody shall have chosen.
const RANDOM_CHARACTERS: usize = if cfg!(windows) { 16 } else { 6 };
/// A marker is shorter than this, bytes.
const MARKER_BYTES_MAX: u64 = 4096;

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
    parent: Owned,
    name: String,
    path: PathBuf,
    directory: Owned,
    /// Holds the lock.
    marker: File,
}

impl Workspace {
    /// Makes a directory of the run's own below `parent`.
    pub(crate) fn create(parent: &Path, started_unix_s: u64, seed: u64) -> io::Result<Self> {
        let parent_at = os::open_directory(parent)?;
        let mut random =
            SplitMix64::new(seed ^ u64::from(std::process::id()) ^ started_unix_s.rotate_left(32));
        for _ in 0..64 {
            let name = format!("{PREFIX}{}", random_characters(&mut random));
            match protocol::make(parent_at.at(), &name, started_unix_s) {
                Ok((directory, marker)) => {
                    let path = parent.join(&name);
                    return Ok(Self { parent: parent_at, name, path, directory, marker });
                }
                // The name is taken, or another run took ours for a leftover before it was locked: again.
                Err(error) if is_race(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "no free name for a directory of its own"))
    }

    /// Makes a directory for one data set and opens it.
    pub(crate) fn data_directory(&self, name: &str) -> io::Result<Owned> {
        os::make_directory(self.directory.at(), name)?;
        self.open_data_directory(name)
    }

    /// Takes away a directory below it with everything in it and makes it again.
    pub(crate) fn renew_data_directory(&self, name: &str, heartbeat: &Beat) -> io::Result<Owned> {
        self.remove_data_directory(name, heartbeat)?;
        self.data_directory(name)
    }

    /// Takes away a directory below it with everything in it.
    pub(crate) fn remove_data_directory(&self, name: &str, heartbeat: &Beat) -> io::Result<()> {
        remove_directory(self.directory.at(), name, heartbeat)
    }

    /// Gives a directory below it another name, and makes an empty one under its own. Nothing in it may be open on Windows.
    pub(crate) fn set_aside_data_directory(&self, name: &str, aside: &str) -> io::Result<Owned> {
        os::rename_new(self.directory.at(), name, aside)?;
        self.data_directory(name)
    }

    /// Returns the directory's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open directory.
    pub(crate) fn at(&self) -> Borrowed<'_> {
        self.directory.at()
    }

    /// Removes the directory with everything in it.
    pub(crate) fn remove(self, heartbeat: &Beat) -> io::Result<()> {
        let Self { parent, name, directory, marker, .. } = self;
        protocol::remove(
            parent.at(),
            &name,
            Leftover { directory, marker: Some(marker), whole: true },
            heartbeat,
        )
    }
}

/// `true` if an error comes of others who make directories there too.
fn is_race(kind: ErrorKind) -> bool {
    use ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound, WouldBlock};
    [AlreadyExists, NotFound, WouldBlock, DirectoryNotEmpty].contains(&kind)
}

/// Why a directory was not finished.
enum Unfinished {
    /// What was made of it is still ours to remove.
    Ours(io::Error),
    /// Another run took it for a leftover before it was locked, and removes it.
    Taken(io::Error),
}

impl Unfinished {
    fn remove_marker(&self, directory: Borrowed<'_>) {
        if matches!(self, Self::Ours(_)) {
            let _ = os::remove_file(directory, MARKER);
        }
    }
}

/// Makes the marker of a new directory, locked and written.
fn mark(directory: Borrowed<'_>, name: &str, started_unix_s: u64) -> Result<File, Unfinished> {
    let mut marker = match os::create(directory, MARKER) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Unfinished::Taken(error)),
        opened => opened.map_err(Unfinished::Ours)?,
    };
    match marker.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Unfinished::Taken(ErrorKind::WouldBlock.into())),
        Err(TryLockError::Error(error)) => return Err(Unfinished::Ours(error)),
    }
    if os::status_of(&marker).map_err(Unfinished::Ours)?.links == 0 {
        return Err(Unfinished::Taken(ErrorKind::NotFound.into()));
    }
    let text = Marker {
        program: PROGRAM.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_unix_s,
        run: name.to_owned(),
    };
    let text = serde_json::to_vec(&text).map_err(|error| Unfinished::Ours(error.into()))?;
    marker.write_all(&text).map_err(Unfinished::Ours)?;
    Ok(marker)
}

/// Directories of earlier runs that were killed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Directories that were removed, or would be.
    pub removed: Vec<String>,
    /// Directories that carry the name and were left alone, with the reason.
    pub left: Vec<(String, String)>,
}

/// Removes the directories that killed runs left below `parent`; `heartbeat` is counted up.
///
/// # Errors
///
/// If `parent` cannot be read; a directory that cannot be removed is in [`Leftovers::left`].
pub fn remove_leftovers(parent: &Path, heartbeat: &Beat) -> io::Result<Leftovers> {
    leftovers(parent, |parent, name, leftover| match leftover.marker {
        Some(_) => protocol::remove(parent, name, leftover, heartbeat),
        None => {
            drop(leftover);
            match os::remove_directory(parent, name) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                removed => removed,
            }
        }
    })
}

/// Returns what [`remove_leftovers`] would remove, and removes nothing.
///
/// # Errors
///
/// If `parent` cannot be read.
pub fn find_leftovers(parent: &Path) -> io::Result<Leftovers> {
    leftovers(parent, |_, _, _| Ok(()))
}

/// A directory whose run is dead; its lock is held.
struct Leftover {
    directory: Owned,
    /// `None` if the run was killed before it made one.
    marker: Option<File>,
    /// `true` if the marker says all that it should: only then is there anything in the directory that the run has made.
    whole: bool,
}

/// Goes through the directories that killed runs left, and removes them as it is told.
fn leftovers(
    parent: &Path,
    remove: impl Fn(Borrowed<'_>, &str, Leftover) -> io::Result<()>,
) -> io::Result<Leftovers> {
    let parent = os::open_directory(parent)?;
    let mut names = Vec::new();
    os::each_entry(parent.at(), &mut |name, _| {
        let name = std::str::from_utf8(name).ok().filter(|name| is_ours_by_name(name));
        names.extend(name.map(str::to_owned));
        Ok(())
    })?;
    names.sort_unstable();
    let mut leftovers = Leftovers::default();
    for name in names {
        let removed = match examine(parent.at(), &name) {
            Ok(Some(leftover)) => remove(parent.at(), &name, leftover).map_err(|error| error.to_string()),
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

/// `true` if a name is one that [`Workspace::create`] gives.
fn is_ours_by_name(name: &str) -> bool {
    let name = name.strip_suffix(UNFINISHED).unwrap_or(name);
    name.strip_prefix(PREFIX).is_some_and(|random| {
        random.len() == RANDOM_CHARACTERS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Takes the lock of a directory if its run is dead; `None` if the run lives, `Err` with the reason if it is none.
fn examine(parent: Borrowed<'_>, name: &str) -> Result<Option<Leftover>, String> {
    let words = |error: io::Error| crate::control::words(&error);
    let directory = match os::open_on_this_mount(parent, name) {
        Ok(directory) => directory,
        Err(error) => match error.kind() {
            ErrorKind::CrossesDevices => return Err("something else is mounted there".into()),
            ErrorKind::NotFound => return Ok(None),
            ErrorKind::NotADirectory => return Err("it is not a directory".into()),
            _ => return Err(words(error)),
        },
    };
    let status = os::status_of(&directory).map_err(words)?;
    let unfinished = protocol::is_unfinished(name, directory.at()).map_err(words)?;
    let mut marker = match os::open_file(directory.at(), MARKER, Access::ReadWrite) {
        Ok(marker) => marker,
        // Made and killed at once.
        Err(error) if error.kind() == ErrorKind::NotFound && unfinished => {
            check_empty(directory.at()).map_err(words)?;
            return Ok(Some(Leftover { directory, marker: None, whole: false }));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Err("it has no marker".into()),
        Err(error) => return Err(format!("its marker cannot be opened: {}", words(error))),
    };
    let status_of_marker = os::status_of(&marker).map_err(words)?;
    if !is_plain(&status_of_marker, &status) {
        return Err("its marker is not a plain file of the directory's owner".into());
    }
    // Before it is read: what another has locked cannot be on Windows.
    match marker.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => {
            return Err(format!("its marker cannot be locked: {}", words(error)));
        }
    }
    let Some(whole) = read_marker(&mut marker, name, unfinished) else {
        return Err("its marker is not one that this program wrote".into());
    };
    if unfinished {
        check_empty(directory.at()).map_err(words)?;
    }
    Ok(Some(Leftover { directory, marker: Some(marker), whole }))
}

/// Refuses a directory that holds anything but a marker, which one that is not finished never does.
fn check_empty(directory: Borrowed<'_>) -> io::Result<()> {
    os::each_entry(directory, &mut |name, _| match name == MARKER.as_bytes() {
        true => Ok(()),
        false => Err(ErrorKind::DirectoryNotEmpty.into()),
    })
}

/// `true` if a marker is a regular file with one name, of the same owner and device as its directory.
fn is_plain(marker: &Status, directory: &Status) -> bool {
    marker.kind == FileType::File
        && marker.links == 1
        && (marker.owner, marker.identity.0) == (directory.owner, directory.identity.0)
}

/// `true` if a marker says all that it should of a directory of this name; `None` where it is not one of this program's.
fn read_marker(marker: &mut File, name: &str, unfinished: bool) -> Option<bool> {
    let mut text = Vec::new();
    marker.take(MARKER_BYTES_MAX).read_to_end(&mut text).ok()?;
    let run = name.strip_suffix(UNFINISHED).unwrap_or(name);
    match serde_json::from_slice::<Marker>(&text) {
        Ok(marker) => (marker.program == PROGRAM && marker.run == run).then_some(true),
        // Killed while writing it: the directory holds nothing else yet, which its removal will prove.
        Err(error) => (unfinished && error.is_eof()).then_some(false),
    }
}

fn random_characters(random: &mut SplitMix64) -> String {
    const CHARACTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let character = |_| char::from(CHARACTERS[(random.next_u64() % 36) as usize]);
    (0..RANDOM_CHARACTERS).map(character).collect()
}

/// A run's own directory that is closed.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(super) name: String,
    path: PathBuf,
}

impl Workspace {
    /// Closes all that it holds open.
    pub(crate) fn close(self) -> Closed {
        Closed { name: self.name, path: self.path }
    }

    /// Opens the directory of a data set again.
    pub(crate) fn open_data_directory(&self, name: &str) -> io::Result<Owned> {
        os::open_on_this_mount(self.directory.at(), name)
    }
}

impl Closed {
    /// Opens it again below the same directory, and takes its lock.
    pub(crate) fn open(self, parent: Owned) -> io::Result<Workspace> {
        let directory = os::open_below(parent.at(), self.name.as_str())?;
        let marker = os::open_file(directory.at(), MARKER, Access::ReadWrite)?;
        marker.try_lock()?;
        Ok(Workspace { parent, name: self.name, path: self.path, directory, marker })
    }

    /// Makes it again, empty, by its old name below a directory where it is no more.
    pub(crate) fn make(self, parent: Owned, started_unix_s: u64) -> io::Result<Workspace> {
        let (directory, marker) = protocol::make(parent.at(), &self.name, started_unix_s)?;
        Ok(Workspace { parent, name: self.name, path: self.path, directory, marker })
    }
}

#[cfg(test)]
mod tests;
