//! Reasons for not removing a path.

use std::fmt;
use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind};

/// Reason for never removing a path, one line without the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The path is empty.
    Empty,
    /// The root of the file system, or of a volume or share.
    Root,
    /// The path ends in `.`.
    Dot,
    /// The path ends in `..`.
    DotDot,
    /// The path contains a NUL byte.
    Nul,
    /// A symbolic link with a trailing slash.
    LinkWithSlash,
    /// A symbolic link on the way, see [`Links::Refused`](super::Links::Refused).
    LinkOnTheWay,
    /// A file system is mounted on the directory.
    MountPoint,
    /// Something is mounted on the file.
    MountedFile,
    /// A directory that the caller needs, such as the current one; with the reason.
    Stays(&'static str),
    /// The directories above the current one are unknown; with the system's error number.
    Unknown(i32),
    /// Only its contents were to go, but it is no directory.
    NoContents,
}

/// Reason why a path has no [`Target`](super::Target).
#[derive(Debug)]
pub enum NoTarget {
    /// The path is never removed.
    Refused(Refusal),
    /// Error of the system.
    Failed(io::Error),
}

impl NoTarget {
    /// Makes an error with the path: [`ErrorKind::MountPoint`], [`ErrorKind::NotADirectory`] or else
    /// [`ErrorKind::BadOption`].
    pub fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Failed(error) => Error::io("remove", path, error),
            Self::Refused(refusal) => {
                let kind = match refusal {
                    Refusal::MountPoint | Refusal::MountedFile => ErrorKind::MountPoint,
                    Refusal::NoContents => ErrorKind::NotADirectory,
                    _ => ErrorKind::BadOption,
                };
                Error::new("remove", path, kind, refusal.to_string())
            }
        }
    }
}

impl From<Refusal> for NoTarget {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

const ROOT: &str = if cfg!(windows) {
    "the root of a volume or share is never removed"
} else {
    "the root of the file system is never removed"
};

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the path is empty",
            Self::Root => ROOT,
            Self::Dot => "'.' is never removed (give its path from another directory)",
            Self::DotDot => "'..' is never removed (give the path of the directory)",
            Self::Nul => "a path cannot contain a NUL byte",
            Self::LinkWithSlash => {
                "a symbolic link is not followed (omit the trailing slash to remove the link itself)"
            }
            Self::LinkOnTheWay => {
                "a path of a list may not lead through a symbolic link (list its real path)"
            }
            Self::MountPoint => "it is a mount point (umount it, or remove only its contents)",
            Self::MountedFile => "it is a mount point (umount it first)",
            Self::Stays(why) => why,
            Self::Unknown(error) => {
                let error = Error::io("stat", Path::new(""), io::Error::from_raw_os_error(*error)).reason();
                return write!(f, "the current directory may lie below it: {error} (cd elsewhere first)");
            }
            Self::NoContents => "not a directory",
        })
    }
}
