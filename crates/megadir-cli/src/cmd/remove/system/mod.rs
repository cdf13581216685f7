//! What the command asks of the system itself: which file a name is, where this process is, and what stays whoever asks.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod windows_paths;

use megadir::FileType;

#[cfg(target_os = "linux")]
pub(super) use self::linux::*;
#[cfg(windows)]
pub(super) use self::windows::*;
use super::refusal::Refusal;

/// Which file it is: device and inode, volume and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    file: u64,
}

impl Identity {
    /// That of no file: no file system has the inode 0.
    pub(super) const NONE: Self = Self { device: 0, file: 0 };
}

/// What a name is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) kind: FileType,
    pub(super) identity: Identity,
    /// Whether something is mounted on it.
    pub(super) is_mount_point: bool,
}

/// A path as it was given, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The directory that the name lies in; empty for the current one.
    pub(super) parent: Vec<u8>,
    /// The last component, never '.' or '..'.
    pub(super) name: Vec<u8>,
    /// Whether a slash follows, so that a directory is meant.
    pub(super) is_directory: bool,
}

/// A directory that stays, and those that it lies in.
#[derive(Debug)]
pub(super) struct Chain {
    /// Itself first, the root last.
    directories: Vec<Identity>,
    /// Why it stays itself.
    itself: &'static str,
    /// Why those above it do.
    above: &'static str,
}

impl Chain {
    /// Returns why a directory stays, if it is one of these.
    pub(super) fn refusal(&self, directory: Identity) -> Option<Refusal> {
        // Nobody can empty what could not even be opened.
        if directory == Identity::NONE {
            return None;
        }
        match self.directories.iter().position(|other| *other == directory) {
            Some(0) => Some(Refusal::Stays(self.itself)),
            Some(_) => Some(Refusal::Stays(self.above)),
            None => None,
        }
    }
}

/// What stays: where this process is, and whatever else the system says.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) chains: Vec<Chain>,
    pub(super) root: Option<Identity>,
    /// The number of the system's error for which the chain of the current directory ends before the root.
    pub(super) broken: Option<i32>,
}

const CURRENT: &str = "it is the current directory (go elsewhere first)";
const ABOVE_CURRENT: &str = "the current directory lies below it (go elsewhere first)";
