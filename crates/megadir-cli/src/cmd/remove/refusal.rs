//! Reasons for not removing a path, and how a path is resolved.

use std::fmt;
use std::io;

use crate::ui::message::reason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Empty,
    Root,
    Dot,
    DotDot,
    Nul,
    LinkWithSlash,
    LinkOnTheWay,
    MountPoint,
    MountedFile,
    Stays(&'static str),
    /// The system's error number.
    Unknown(i32),
    /// Not a directory.
    NoContents,
}

#[derive(Debug)]
pub(super) enum NoTarget {
    Refused(Refusal),
    Failed(io::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Paths on the command line.
    Links,
    /// Paths in a list, which another user may have influenced.
    NoLinks,
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
            Self::MountPoint => "it is a mount point (umount it, or empty it with --contents)",
            Self::MountedFile => "it is a mount point (umount it first)",
            Self::Stays(why) => why,
            Self::Unknown(error) => {
                let reason = reason(&io::Error::from_raw_os_error(*error));
                return write!(f, "the current directory may lie below it: {reason} (cd elsewhere first)");
            }
            Self::NoContents => "--contents: not a directory",
        })
    }
}
