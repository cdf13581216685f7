//! What is never removed, whoever asks: refused with a line before anything is touched.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};

use megadir::{Dir, Error};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxFlags, openat, statx};
use rustix::io::{Errno, retry_on_intr};

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
    CurrentDirectory,
    AboveCurrentDirectory,
    /// Whether the current directory lies below cannot be told.
    Unknown(Errno),
    /// --contents of what is no directory.
    NoContents,
}

/// Which file it is: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: (u32, u32),
    inode: u64,
}

/// The directories that the current one lies in, itself first, the root last.
#[derive(Debug)]
pub(super) struct Here {
    chain: Vec<Identity>,
    root: Option<Identity>,
    /// Why the chain ends before the root.
    broken: Option<Errno>,
}

/// So many levels up the current directory may lie; a chain without an end is no chain.
const LEVELS_MAX: usize = 100_000;

impl Identity {
    /// That of no file: no file system has the inode 0.
    pub(super) const NONE: Self = Self { device: (0, 0), inode: 0 };

    pub(super) fn of(status: &Statx) -> Self {
        Self { device: (status.stx_dev_major, status.stx_dev_minor), inode: status.stx_ino }
    }
}

impl Identity {
    /// Returns that of an open directory.
    pub(super) fn of_directory(directory: &Dir) -> Result<Self, Error> {
        let status = statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE | StatxFlags::INO);
        status
            .map(|status| Self::of(&status))
            .map_err(|error| Error::io("stat", directory.path(), error.into()))
    }
}

impl Here {
    /// Looks upwards from the current directory, by descriptors: a path may lie.
    pub(super) fn find() -> Self {
        let look = |directory: &OwnedFd| {
            let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
            let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID;
            retry_on_intr(|| statx(directory, "", flags, wanted))
                .map(|status| (Identity::of(&status), mount_of(directory, &status)))
        };
        let open = |at: &dyn std::os::fd::AsFd, name: &str| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            retry_on_intr(|| openat(at.as_fd(), name, flags, Mode::empty()))
        };
        let root = open(&CWD, "/").and_then(|root| look(&root)).map(|(root, _)| root).ok();
        let mut chain = Vec::new();
        let climbed = (|| {
            let mut directory = open(&CWD, ".")?;
            let mut below = None;
            while chain.len() < LEVELS_MAX {
                let here = look(&directory)?;
                // The root is its own parent. What is mounted on a directory in itself has the parent that it has itself too, on
                // another mount.
                if below == Some(here) {
                    return Ok(());
                }
                below = Some(here);
                chain.push(here.0);
                directory = open(&directory, "..")?;
            }
            Err(Errno::LOOP)
        })();
        Self { chain, root, broken: climbed.err() }
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
        if self.root == Some(target.identity) {
            return Err(Refusal::Root);
        }
        match self.chain.iter().position(|above| *above == target.identity) {
            Some(0) => return Err(Refusal::CurrentDirectory),
            Some(_) => return Err(Refusal::AboveCurrentDirectory),
            None => {}
        }
        if target.is_mount_point && !contents {
            return Err(Refusal::MountPoint);
        }
        self.broken.map_or(Ok(()), |error| Err(Refusal::Unknown(error)))
    }
}

/// Returns the number of the mount that a directory was opened on: by statx (Linux 5.8), else by /proc.
fn mount_of(directory: &OwnedFd, status: &Statx) -> Option<u64> {
    if StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::MNT_ID) {
        return Some(status.stx_mnt_id);
    }
    let info = std::fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", directory.as_raw_fd())).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "an empty path names nothing",
            Self::Root => "the root of the file system is never removed",
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
            Self::CurrentDirectory => "it is the current directory (go elsewhere first)",
            Self::AboveCurrentDirectory => "the current directory lies below it (go elsewhere first)",
            Self::Unknown(error) => {
                let reason = reason(&(*error).into());
                return write!(
                    f,
                    "cannot tell whether the current directory lies below it: {reason} (go elsewhere first, as cd /)"
                );
            }
            Self::NoContents => "--contents: not a directory",
        })
    }
}
