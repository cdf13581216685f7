//! Reasons why a path is not removed, and how a path is followed.

use std::fmt;
use std::io;

use crate::ui::message::reason;

/// Reason why a path is refused.
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
    /// Why it stays.
    Stays(&'static str),
    /// Whether the current directory lies below cannot be told, for an error of the system's number.
    Unknown(i32),
    /// --contents of what is no directory.
    NoContents,
}

/// Reason why a path leads to no target.
#[derive(Debug)]
pub(super) enum NoTarget {
    /// It is never removed.
    Refused(Refusal),
    /// The system says so.
    Failed(io::Error),
}

/// How symbolic links on the way to the name are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As everywhere: for paths that somebody has typed.
    Links,
    /// A link is refused: for paths that somebody else may have chosen long ago.
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
            Self::Empty => "an empty path names nothing",
            Self::Root => ROOT,
            Self::Dot => "'.' is never removed (name the directory itself, from elsewhere)",
            Self::DotDot => "'..' leads upwards, and what it names is never removed",
            Self::Nul => "a path holds no NUL byte",
            Self::LinkWithSlash => {
                "a symbolic link is not followed (without the slash at the end the link itself is removed)"
            }
            Self::LinkOnTheWay => {
                "a path of a list may not lead through a symbolic link (name where it leads to)"
            }
            Self::MountPoint => {
                "something is mounted on it (--contents removes what is in there; or umount it first)"
            }
            Self::MountedFile => "something is mounted on it (umount it first)",
            Self::Stays(why) => why,
            Self::Unknown(error) => {
                let reason = reason(&io::Error::from_raw_os_error(*error));
                return write!(
                    f,
                    "cannot tell whether the current directory lies below it: {reason} (go elsewhere first, as cd /)"
                );
            }
            Self::NoContents => "--contents: not a directory",
        })
    }
}
