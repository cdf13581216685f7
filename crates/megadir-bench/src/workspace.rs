//! The run's own directory, identified by a locked marker, and removal of directories of killed runs. At
//! every moment the directory has a complete marker or nothing but an unfinished one (`renamed`, `in_place`).
//! Removal follows no links, crosses no mounts, and needs the lock, which a living run never releases.
//!
//! Each system has a protocol for creating the directory atomically: `renamed` (Linux) and `in_place` (Windows).
//!
//! ```text
//!  Linux:    mkdir X.new -> marker, locked -> rename X.new X -> data ...        (a run)
//!            data removed -> rename X X.new -> marker removed -> rmdir
//!  killed:   X.new, empty or with a marker only      -> removed if the lock is free
//!            X with a complete marker and free lock  -> removed with its content
//!            X without a marker                      -> not ours: left alone, with the reason
//! ```
//!
//! The care has a reason: the next run removes a directory tree, as root, by a name that any user could have
//! created. The lock of flock(2) ends with the process whatever kills it, on network file systems too where
//! they support locks.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[cfg(windows)]
use in_place as protocol;
use megadir::FileType;
use megadir_stats::permutation::SplitMix64;
#[cfg(target_os = "linux")]
use renamed as protocol;
use serde::{Deserialize, Serialize};

use crate::os::removal::{Beat, remove_directory};
use crate::os::{self, Access, At, Borrowed, Owned, Status};

/// The name alone proves nothing; it only selects the directories to examine.
const PREFIX: &str = "megadir-bench-";
/// On systems where unfinished directories have their own names.
const UNFINISHED: &str = ".new";
const MARKER: &str = ".megadir-run";
const PROGRAM: &str = "megadir";
/// Longer on Windows, where an empty leftover is recognised by its name alone.
const RANDOM_CHARACTERS: usize = if cfg!(windows) { 16 } else { 6 };
/// A marker is shorter; a larger file is another program's.
const MARKER_BYTES_MAX: u64 = 4096;

/// Contents of the marker, which shows that this program created the directory: removal of a directory
/// without one is refused. `pid` and the start time are for messages only; what counts as alive is the lock,
/// since numbers of processes are reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    program: String,
    version: String,
    pid: u32,
    started_unix_s: u64,
    run: String,
}

/// Marker of a workspace, as another rank reads it to prove that both see the same directory.
pub(crate) fn marker_below(parent: Borrowed<'_>, name: &str) -> io::Result<Vec<u8>> {
    let directory = os::open_on_this_mount(parent, name)?;
    let marker = os::open_file(directory.at(), MARKER, Access::Read)?;
    let mut text = Vec::new();
    marker.take(MARKER_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// Removed by [`Workspace::remove`], or by the next run if this process is killed.
///
/// `directory` and `parent` stay open, so that removal is relative to them and a renamed path cannot lead it
/// elsewhere. `marker` holds the lock while it is open, and is the last file to be removed.
#[derive(Debug)]
pub(crate) struct Workspace {
    parent: Owned,
    name: String,
    path: PathBuf,
    directory: Owned,
    marker: File,
}

impl Workspace {
    /// Creates a directory with a random name. Randomness serves against collisions only, so the time and
    /// the number of the process suffice as a seed.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let parent_at = os::open_directory(parent)?;
        let now_ns = since_1970().as_nanos() as u64;
        let mut random = SplitMix64::new(now_ns ^ u64::from(std::process::id()).rotate_left(32));
        for _ in 0..64 {
            let name = format!("{PREFIX}{}", random_characters(&mut random));
            match protocol::make(parent_at.at(), &name) {
                Ok((directory, marker)) => {
                    let path = parent.join(&name);
                    return Ok(Self { parent: parent_at, name, path, directory, marker });
                }
                // Retry: the name is taken, or another run removed ours as a leftover before it was locked.
                Err(error) if is_race(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "no free name for a private directory"))
    }

    /// Writes the marker back: other machines see only data that was synced or closed.
    pub(crate) fn show_marker(&self) -> io::Result<()> {
        self.marker.sync_all()
    }

    /// Creates a directory of a data set, and opens it. Errors: `AlreadyExists`.
    pub(crate) fn data_directory(&self, name: &str) -> io::Result<Owned> {
        os::make_directory(self.directory.at(), name)?;
        self.open_data_directory(name)
    }

    pub(crate) fn open_data_directory(&self, name: &str) -> io::Result<Owned> {
        os::open_on_this_mount(self.directory.at(), name)
    }

    pub(crate) fn renew_data_directory(&self, name: &str, heartbeat: &Beat) -> io::Result<Owned> {
        self.remove_data_directory(name, heartbeat)?;
        self.data_directory(name)
    }

    pub(crate) fn remove_data_directory(&self, name: &str, heartbeat: &Beat) -> io::Result<()> {
        remove_directory(self.directory.at(), name, heartbeat)
    }

    /// On Windows, nothing in it may be open.
    pub(crate) fn set_aside_data_directory(&self, name: &str, aside: &str) -> io::Result<Owned> {
        os::rename_new(self.directory.at(), name, aside)?;
        self.data_directory(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn at(&self) -> Borrowed<'_> {
        self.directory.at()
    }

    /// Closes all descriptors for a remount, which also releases the lock. No other run can take the
    /// directory for a leftover meanwhile, since the file system is mounted in this run's namespace only.
    pub(crate) fn close(self) -> Closed {
        Closed { name: self.name, path: self.path }
    }

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

fn is_race(kind: ErrorKind) -> bool {
    use ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound, WouldBlock};
    [AlreadyExists, NotFound, WouldBlock, DirectoryNotEmpty].contains(&kind)
}

/// Failure while a directory was being created. Only our own unfinished directory may be removed.
enum Unfinished {
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

    fn remove_directory(self, parent: Borrowed<'_>, name: &str) -> io::Error {
        if matches!(self, Self::Ours(_)) {
            let _ = os::remove_directory(parent, name);
        }
        let (Self::Ours(error) | Self::Taken(error)) = self;
        error
    }
}

/// Creates and locks the marker, then writes it. Another run may find it between its creation and its lock;
/// it takes the lock first then and removes the marker, so the number of its names is checked under the
/// lock.
fn mark(directory: Borrowed<'_>, name: &str) -> Result<File, Unfinished> {
    let mut marker = match os::create(directory, MARKER) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Unfinished::Taken(error)),
        opened => opened.map_err(Unfinished::Ours)?,
    };
    match marker.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Unfinished::Taken(ErrorKind::WouldBlock.into())),
        Err(TryLockError::Error(error)) => {
            let reason =
                format!("its marker cannot be locked ({error}): a file system without locks cannot be used");
            return Err(Unfinished::Ours(io::Error::new(error.kind(), reason)));
        }
    }
    if os::status_of(&marker).map_err(Unfinished::Ours)?.links == 0 {
        return Err(Unfinished::Taken(ErrorKind::NotFound.into()));
    }
    let text = Marker {
        program: PROGRAM.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_unix_s: since_1970().as_secs(),
        run: name.to_owned(),
    };
    let text = serde_json::to_vec(&text).map_err(|error| Unfinished::Ours(error.into()))?;
    marker.write_all(&text).map_err(Unfinished::Ours)?;
    Ok(marker)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub removed: Vec<String>,
    /// Directories that were kept, and the reason.
    pub left: Vec<(String, String)>,
}

/// Removes the directories that killed runs left in `parent`. Fails only if `parent` cannot be read.
pub(crate) fn remove_leftovers(parent: &Path, heartbeat: &Beat) -> io::Result<Leftovers> {
    leftovers(parent, |parent, name, leftover| match leftover.marker {
        Some(_) => protocol::remove(parent, name, leftover, heartbeat),
        None => {
            drop(leftover);
            os::if_there(os::remove_directory(parent, name)).map(drop)
        }
    })
}

pub(crate) fn find_leftovers(parent: &Path) -> io::Result<Leftovers> {
    leftovers(parent, |_, _, _| Ok(()))
}

struct Leftover {
    directory: Owned,
    marker: Option<File>,
    /// Only with a complete marker can the directory hold data of the run.
    whole: bool,
}

/// Examines every directory with a name of ours, in the order of names, and passes leftovers of killed runs
/// to `remove`. Names are collected before, since removing entries while listing may hide others.
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

fn is_ours_by_name(name: &str) -> bool {
    let name = name.strip_suffix(UNFINISHED).unwrap_or(name);
    name.strip_prefix(PREFIX).is_some_and(|random| {
        random.len() == RANDOM_CHARACTERS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// `None` if the run is alive, `Err` if it is no run's directory.
///
/// Decides if a directory may be removed as the leftover of a killed run. Every doubt is an error, and the
/// directory is left alone: it must be on this mount, have a plain marker of the directory's owner with this
/// program's contents, and its lock must be free. An unfinished directory has no complete marker yet, and
/// must be empty otherwise.
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
        // Killed right after the directory was created.
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
    // On Windows a file locked by another process cannot be read.
    match marker.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => {
            return Err(format!("its marker cannot be locked: {}", words(error)));
        }
    }
    let Some(whole) = read_marker(&mut marker, name, unfinished) else {
        return Err("its marker was not written by this program".into());
    };
    if unfinished {
        check_empty(directory.at()).map_err(words)?;
    }
    Ok(Some(Leftover { directory, marker: Some(marker), whole }))
}

/// An unfinished directory never has anything but a marker.
fn check_empty(directory: Borrowed<'_>) -> io::Result<()> {
    os::each_entry(directory, &mut |name, _| match name == MARKER.as_bytes() {
        true => Ok(()),
        false => Err(ErrorKind::DirectoryNotEmpty.into()),
    })
}

/// `true` for a regular file with one name, of the directory's owner, on its device: no link to a file
/// elsewhere, and nothing that another user put there.
fn is_plain(marker: &Status, directory: &Status) -> bool {
    marker.kind == FileType::File
        && marker.links == 1
        && (marker.owner, marker.identity.0) == (directory.owner, directory.identity.0)
}

/// `true` if complete and matching the directory's name; `None` if it is not this program's.
fn read_marker(marker: &mut File, name: &str, unfinished: bool) -> Option<bool> {
    let mut text = Vec::new();
    marker.take(MARKER_BYTES_MAX).read_to_end(&mut text).ok()?;
    let run = name.strip_suffix(UNFINISHED).unwrap_or(name);
    match serde_json::from_slice::<Marker>(&text) {
        Ok(marker) => (marker.program == PROGRAM && marker.run == run).then_some(true),
        // Killed while writing it; the removal checks that the directory is otherwise empty.
        Err(error) => (unfinished && error.is_eof()).then_some(false),
    }
}

pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn random_characters(random: &mut SplitMix64) -> String {
    const CHARACTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let character = |_| char::from(CHARACTERS[(random.next_u64() % 36) as usize]);
    (0..RANDOM_CHARACTERS).map(character).collect()
}

#[derive(Debug)]
pub(crate) struct Closed {
    pub(super) name: String,
    path: PathBuf,
}

impl Closed {
    pub(crate) fn open(self, parent: Owned) -> io::Result<Workspace> {
        let directory = os::open_below(parent.at(), self.name.as_str())?;
        let marker = os::open_file(directory.at(), MARKER, Access::ReadWrite)?;
        marker.try_lock()?;
        Ok(Workspace { parent, name: self.name, path: self.path, directory, marker })
    }

    /// Creates it again, empty, in a parent that no longer has it.
    pub(crate) fn make(self, parent: Owned) -> io::Result<Workspace> {
        let (directory, marker) = protocol::make(parent.at(), &self.name)?;
        Ok(Workspace { parent, name: self.name, path: self.path, directory, marker })
    }
}

#[cfg(windows)]
mod in_place {
    //! Windows cannot rename a directory with open files in it, so an unfinished directory already has its
    //! final name; its marker is created first and locked for the life of the process. A directory that is
    //! empty or holds only the beginning of a marker belongs to a killed run, and is removed as an empty
    //! directory only; a run that has just created it tries another name.

    use std::fs::File;
    use std::io::{self, ErrorKind};

    use super::{Leftover, MARKER, check_empty, mark};
    use crate::os::removal::{Beat, remove_content, remove_emptied};
    use crate::os::{self, At, Borrowed, Owned};

    pub(super) fn make(parent: Borrowed<'_>, name: &str) -> io::Result<(Owned, File)> {
        os::make_private_directory(parent, name)?;
        let directory = os::open_below(parent, name)?;
        let failed = match mark(directory.at(), name) {
            Ok(marker) => return Ok((directory, marker)),
            Err(failed) => failed,
        };
        failed.remove_marker(directory.at());
        // The open handle would keep it.
        drop(directory);
        Err(failed.remove_directory(parent, name))
    }

    /// Nothing is created in it before its marker.
    pub(super) fn is_unfinished(_name: &str, directory: Borrowed<'_>) -> io::Result<bool> {
        match check_empty(directory) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes content, then marker, then the directory.
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
        os::if_there(os::remove_file(directory.at(), MARKER))?;
        // If names go with the last handle, these would keep marker and directory. Closing the marker releases its lock.
        drop(marker);
        drop(directory);
        remove_emptied(parent, name.as_bytes())
    }
}

#[cfg(target_os = "linux")]
mod renamed {
    //! Linux: an unfinished directory is named `megadir-bench-XXXXXX.new`. It gets its locked marker
    //! `.megadir-run`, is renamed, and only then filled. Removal goes the other way.

    use std::fs::File;
    use std::io::{self, ErrorKind};
    use std::os::fd::{AsFd, BorrowedFd};

    use super::{Leftover, MARKER, UNFINISHED, Unfinished, Workspace, mark};
    use crate::os::removal::{Beat, remove_content};
    use crate::os::{self, At, Borrowed, Owned};

    pub(super) fn make(parent: Borrowed<'_>, name: &str) -> io::Result<(Owned, File)> {
        let unfinished = format!("{name}{UNFINISHED}");
        match os::status(parent, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            _ => return Err(ErrorKind::AlreadyExists.into()),
        }
        os::make_private_directory(parent, &unfinished)?;
        let finished =
            os::open_below(parent, unfinished.as_str()).map_err(Unfinished::Ours).and_then(|directory| {
                let marked = mark(directory.at(), name);
                let marker = marked.inspect_err(|failed| failed.remove_marker(directory.at()))?;
                let renamed = os::rename_new(parent, &unfinished, name).map_err(Unfinished::Ours);
                renamed.inspect_err(|failed| failed.remove_marker(directory.at()))?;
                // A handle of mergerfs keeps listing the path that it was opened with.
                Ok((os::again(directory.at()).unwrap_or(directory), marker))
            });
        finished.map_err(|failed| failed.remove_directory(parent, &unfinished))
    }

    pub(super) fn is_unfinished(name: &str, _directory: Borrowed<'_>) -> io::Result<bool> {
        Ok(name.ends_with(UNFINISHED))
    }

    /// Removes content, then marker, then the directory.
    pub(super) fn remove(
        parent: Borrowed<'_>,
        name: &str,
        leftover: Leftover,
        heartbeat: &Beat,
    ) -> io::Result<()> {
        let unfinished = name.ends_with(UNFINISHED);
        let Leftover { directory, marker, whole } = leftover;
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
        // NFS keeps the name of a removed file, another one, until the file is closed.
        drop(marker);
        // Another run may have been faster.
        let removed = os::if_there(os::remove_directory(parent, last.as_str())).map(drop);
        if removed.is_err() && !unfinished {
            put_back(parent, name, &last, directory);
        }
        removed
    }

    /// So that it has the name that the message has, and the next run removes it.
    fn put_back(parent: Borrowed<'_>, name: &str, last: &str, directory: Borrowed<'_>) {
        if mark(directory, name).is_ok() {
            let _ = os::rename_new(parent, last, name);
        }
    }

    impl AsFd for Workspace {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.directory.as_fd()
        }
    }
}

#[cfg(test)]
mod tests;
