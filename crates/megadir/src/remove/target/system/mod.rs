//! System calls: identity of a name, and protected directories.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod windows_paths;

use std::path::Path;

use crate::dir::Dir;
use crate::file_type::FileType;

#[cfg(target_os = "linux")]
pub(super) use self::linux::*;
#[cfg(windows)]
pub(super) use self::windows::*;
use super::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    device: u64,
    file: u64,
}

impl Identity {
    /// No file system has the inode 0.
    pub(super) const NONE: Self = Self { device: 0, file: 0 };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) kind: FileType,
    pub(super) identity: Identity,
    pub(super) is_mount_point: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) parent: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) is_directory: bool,
}

#[derive(Debug)]
pub(super) struct Chain {
    directories: Vec<Identity>,
    reason: &'static str,
    above: &'static str,
}

impl Chain {
    pub(super) fn of(folder: &Path, reason: &'static str, above: &'static str) -> Option<Self> {
        let folder = folder.is_absolute().then(|| folder.canonicalize().unwrap_or_else(|_| folder.into()))?;
        let of = |path: &Path| Dir::open(path).and_then(|directory| identity(&directory));
        let directories = folder.ancestors().map(|path| of(path).unwrap_or(Identity::NONE)).collect();
        Some(Self { directories, reason, above })
    }

    pub(super) fn refusal(&self, directory: Identity) -> Option<Refusal> {
        // A directory that could not be opened cannot be emptied.
        if directory == Identity::NONE {
            return None;
        }
        match self.directories.iter().position(|other| *other == directory) {
            Some(0) => Some(Refusal::Stays(self.reason)),
            Some(_) => Some(Refusal::Stays(self.above)),
            None => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Protected {
    pub(super) chains: Vec<Chain>,
    pub(super) root: Option<Identity>,
    /// The chain ends before the root.
    pub(super) broken: Option<i32>,
}

const CURRENT: &str = "it is the current directory (cd elsewhere first)";
const ABOVE_CURRENT: &str = "the current directory lies below it (cd elsewhere first)";
