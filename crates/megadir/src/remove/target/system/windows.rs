//! Windows: names relative to handles. Links on the way are followed for paths of the command line.

use std::io;
use std::path::Path;

use crate::dir::Dir;
use crate::error::{Error, ErrorKind};
use crate::file_type::FileType;
use crate::names;

use super::{ABOVE_CURRENT, CURRENT, Chain, Identity, Look, Protected, windows_paths};
use crate::remove::target::{Links, NoTarget, Refusal};

pub(in crate::remove::target) use super::windows_paths::parts;

impl From<Error> for NoTarget {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            _ => io::ErrorKind::Other,
        };
        Self::Failed(io::Error::new(kind, error.reason()))
    }
}

fn open(path: &[u8]) -> Result<Dir, Error> {
    let (path, shown): (&[u8], &[u8]) = match path {
        b"" => (b".", b""),
        // The dot of `C:.`, the current directory of a drive, was added by `parts`.
        [drive @ .., b'.'] if drive.len() == 2 && drive.ends_with(b":") => (path, drive),
        _ => (path, path),
    };
    let directory = Dir::open(Path::new(&names::to_os(path)?))?;
    Ok(Dir::from_descriptor(directory.reopen()?, &*names::to_os(shown)?))
}

pub(in crate::remove::target) fn open_parent(path: &[u8], links: Links) -> Result<Dir, NoTarget> {
    if links == Links::Followed {
        return Ok(open(path)?);
    }
    let (begins, below) = windows_paths::steps(path);
    let begins: &[u8] = if begins == b"." { b"" } else { &begins };
    let mut directory = open(begins)?;
    for name in below {
        directory = match directory.open_below(&name) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(match directory.kind_of(&name) {
                    Ok(FileType::Symlink) => NoTarget::Refused(Refusal::LinkOnTheWay),
                    _ => error.into(),
                });
            }
            opened => opened?,
        };
    }
    Ok(directory)
}

pub(in crate::remove::target) fn look(parent: &Dir, name: &[u8]) -> io::Result<Look> {
    let is = |kind, identity| Ok(Look { kind, identity, is_mount_point: false });
    let error = match parent.open_below(name) {
        Ok(directory) => return is(FileType::Directory, identity(&directory)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(io::Error::new(io::ErrorKind::NotFound, error.reason()));
        }
        Err(error) => error,
    };
    match parent.kind_of(name).unwrap_or(FileType::Unknown) {
        FileType::Unknown => Err(io::Error::other(error.reason())),
        // Directories too: one that cannot be listed cannot be emptied.
        kind => is(kind, Identity::NONE),
    }
}

pub(in crate::remove::target) fn identity(directory: &Dir) -> Result<Identity, Error> {
    directory.id().map(|id| Identity { device: id.device, file: id.inode })
}

/// Most directories ignore case.
pub(in crate::remove::target) fn same_name(name: &[u8], other: &[u8]) -> bool {
    let lower = |name: &[u8]| String::from_utf8_lossy(name).to_lowercase();
    name == other || lower(name) == lower(other)
}

pub(in crate::remove::target) fn find_protected() -> Protected {
    let current = std::env::current_dir().ok();
    let chain = current.and_then(|current| Chain::of(&current, CURRENT, ABOVE_CURRENT));
    Protected { chains: chain.into_iter().collect(), root: None, broken: None }
}
