//! What is never removed, whoever asks: refused with a line before anything is touched.

use std::fmt;
use std::io;

use super::system::{self, Found};
use super::target::Target;
use crate::ui::message::reason;

/// Why a path is refused.
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

/// What stays: the directories that the current one lies in, and whatever else the system says.
#[derive(Debug)]
pub(super) struct Here(Found);

impl Here {
    /// Looks where this process is.
    pub(super) fn find() -> Self {
        Self(system::find_what_stays())
    }

    /// Refuses what would take the ground from under the caller or is not a thing to remove.
    pub(super) fn check(&self, target: &Target, contents: bool) -> Result<(), Refusal> {
        if target.is_missing {
            return Ok(());
        }
        if !target.is_directory {
            return match (target.is_mount_point, contents) {
                (true, _) => Err(Refusal::MountedFile),
                (_, true) => Err(Refusal::NoContents),
                _ => Ok(()),
            };
        }
        if self.0.root == Some(target.identity) {
            return Err(Refusal::Root);
        }
        if let Some(refusal) = self.0.chains.iter().find_map(|chain| chain.refusal(target.identity)) {
            return Err(refusal);
        }
        if target.is_mount_point && !contents {
            return Err(Refusal::MountPoint);
        }
        self.0.broken.map_or(Ok(()), |error| Err(Refusal::Unknown(error)))
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
