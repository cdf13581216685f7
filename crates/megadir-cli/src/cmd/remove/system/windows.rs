//! Windows: names below handles. What a path leads to is found out once; junctions and symbolic links on the way are followed where a person has
//! typed it.

use std::io;
use std::path::{Path, PathBuf};

use megadir::{Attributes, Dir, Error, ErrorKind, FileType, Time, Want, names};

use super::{ABOVE_CURRENT, CURRENT, Chain, Found, Identity, Look, Parts, windows_paths};
use crate::cmd::remove::refusal::{NoTarget, Refusal, Way};

/// So many targets of the command line are found out beforehand at most; each holds a handle.
const HELD_MAX: usize = 64;

/// Takes a path apart; refuses those that name nothing or what must stay, whatever it is.
pub(in crate::cmd::remove) fn parts(path: &[u8]) -> Result<Parts, Refusal> {
    windows_paths::parts(path)
}

impl From<Error> for NoTarget {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            _ => io::ErrorKind::Other,
        };
        Self::Failed(io::Error::new(kind, error.reason()))
    }
}

/// Opens a directory; messages call it as it was typed, be it not at all.
fn open(path: &[u8]) -> Result<Dir, Error> {
    let (path, shown): (&[u8], &[u8]) = match path {
        b"" => (b".", b""),
        // Of the current directory of a drive, `C:.`, the dot is ours.
        [drive @ .., b'.'] if drive.len() == 2 && drive.ends_with(b":") => (path, drive),
        _ => (path, path),
    };
    let directory = Dir::open(Path::new(&names::to_os(path)?))?;
    Ok(Dir::from_descriptor(directory.reopen()?, &*names::to_os(shown)?))
}

/// Opens the directory that a name lies in.
pub(in crate::cmd::remove) fn open_parent(path: &[u8], way: Way) -> Result<Dir, NoTarget> {
    if way == Way::Links {
        return Ok(open(path)?);
    }
    let (begins, below) = windows_paths::steps(path);
    let begins: &[u8] = if begins == b"." { b"" } else { &begins };
    let mut directory = open(begins)?;
    for name in below {
        directory = match directory.open_below(&name) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(match directory.kind_of(&name) {
                    FileType::Symlink => NoTarget::Refused(Refusal::LinkOnTheWay),
                    _ => error.into(),
                });
            }
            opened => opened?,
        };
    }
    Ok(directory)
}

/// Looks at a name, following nothing.
pub(in crate::cmd::remove) fn look(parent: &Dir, name: &[u8]) -> io::Result<Look> {
    let is = |kind, identity| Ok(Look { kind, identity, is_mount_point: false });
    let error = match parent.open_below(name) {
        Ok(directory) => return is(FileType::Directory, identity(&directory)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(io::Error::new(io::ErrorKind::NotFound, error.reason()));
        }
        Err(error) => error,
    };
    match parent.kind_of(name) {
        FileType::Unknown => Err(io::Error::other(error.reason())),
        // One that cannot be listed cannot be emptied either.
        FileType::Directory => is(FileType::Directory, Identity::NONE),
        kind => is(kind, Identity::NONE),
    }
}

/// Returns which file an open directory is.
pub(in crate::cmd::remove) fn identity(directory: &Dir) -> Result<Identity, Error> {
    directory.id().map(|id| Identity { device: id.device, file: id.inode })
}

/// Finds the current directory, the user's folder and that of Windows, and what they lie in.
pub(in crate::cmd::remove) fn find_what_stays() -> Found {
    let windows = std::env::var_os("SystemRoot").or_else(|| std::env::var_os("windir")).map(PathBuf::from);
    let told = [
        (std::env::current_dir().ok(), CURRENT, ABOVE_CURRENT),
        (
            std::env::home_dir(),
            "it is your own folder (name what is to go in it)",
            "your own folder lies below it (name what is to go in it)",
        ),
        (
            windows,
            "Windows lies in it (name what is to go in it)",
            "Windows lies below it (name what is to go in it)",
        ),
    ];
    let chains = told.into_iter().filter_map(|(folder, itself, above)| {
        // Where links lead; the path as it is told where that cannot be found out.
        let folder = folder.filter(|folder| folder.is_absolute())?;
        let folder = folder.canonicalize().unwrap_or(folder);
        Some(Chain { directories: upwards(&folder), itself, above })
    });
    Found { chains: chains.collect(), root: None, broken: None }
}

/// Returns which files the directories of a path are, the last first. Those that may not be listed are left out: nobody who may not list a
/// directory can empty it.
fn upwards(path: &Path) -> Vec<Identity> {
    let of = |path: &Path| Dir::open(path).and_then(|directory| identity(&directory));
    let found = path.ancestors().map(|path| of(path).unwrap_or(Identity::NONE));
    found.collect()
}

/// Returns how many targets may be held.
pub(in crate::cmd::remove) fn held_max() -> usize {
    HELD_MAX
}

/// Returns the type and time of an entry, as far as conditions ask for them: for the question alone, hence by path.
pub(in crate::cmd::remove) fn row(parent: &Dir, name: &[u8]) -> Option<Attributes> {
    use std::os::windows::fs::MetadataExt;
    let os_name = names::to_os(name).ok()?;
    let told = std::fs::symlink_metadata(parent.path().join(os_name)).ok()?;
    let kind = parent.kind_of(name);
    let modified = Time::from_windows(told.last_write_time().cast_signed());
    Some(Attributes { have: Want::TYPE | Want::MODIFIED, kind, modified, ..Attributes::NOTHING })
}

/// Returns about how many entries a directory has: not known here.
pub(in crate::cmd::remove) fn estimate(_directory: &Dir) -> Option<u64> {
    None
}
