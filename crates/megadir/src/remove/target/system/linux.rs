//! Linux: names relative to descriptors; directories need no read permission.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxAttributes, StatxFlags, openat, statx};
use rustix::io::{Errno, retry_on_intr};

use super::{ABOVE_CURRENT, CURRENT, Chain, Identity, Look, Parts, Protected};
use crate::dir::Dir;
use crate::error::{At, Error};
use crate::mounts;
use crate::remove::target::{Links, NoTarget, Refusal};

/// A lookup needs no permission to list.
const LOOK_UP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// `PATH_MAX`, with the NUL.
const PATH_BYTES_MAX: usize = 4096;
/// Above the current directory; longer chains are taken for a loop.
const LEVELS_MAX: usize = 100_000;

impl Identity {
    fn of(status: &Statx) -> Self {
        Self {
            device: u64::from(status.stx_dev_major) << 32 | u64::from(status.stx_dev_minor),
            file: status.stx_ino,
        }
    }
}

pub(in crate::remove::target) fn parts(path: &[u8]) -> Result<Parts, Refusal> {
    if path.is_empty() {
        return Err(Refusal::Empty);
    }
    let Some(last) = path.iter().rposition(|byte| *byte != b'/') else { return Err(Refusal::Root) };
    let trimmed = &path[..=last];
    let start = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let name = &trimmed[start..];
    match name {
        b"." => return Err(Refusal::Dot),
        b".." => return Err(Refusal::DotDot),
        _ if name.contains(&0) => return Err(Refusal::Nul),
        _ => {}
    }
    Ok(Parts {
        parent: trimmed[..start].to_vec(),
        name: name.to_vec(),
        is_directory: trimmed.len() < path.len(),
    })
}

pub(in crate::remove::target) fn open_parent(path: &[u8], links: Links) -> Result<Dir, NoTarget> {
    let opened = match links {
        Links::Followed if path.is_empty() => open(CWD, b".", OFlags::empty()),
        Links::Followed if path.len() < PATH_BYTES_MAX => open(CWD, path, OFlags::empty()),
        Links::Followed => step_by_step(path, OFlags::empty()),
        Links::Refused => step_by_step(path, OFlags::NOFOLLOW),
    };
    match opened {
        Ok(descriptor) => Ok(Dir::from_descriptor(descriptor, OsStr::from_bytes(path))),
        Err(Errno::LOOP) if links == Links::Refused => Err(NoTarget::Refused(Refusal::LinkOnTheWay)),
        Err(error) => Err(NoTarget::Failed(error.into())),
    }
}

fn open(at: impl AsFd, path: &[u8], more: OFlags) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| openat(&at, path, LOOK_UP | more, Mode::empty()))
}

fn step_by_step(path: &[u8], more: OFlags) -> Result<OwnedFd, Errno> {
    let mut directory = open(CWD, if path.starts_with(b"/") { b"/" } else { b"." }, OFlags::empty())?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")) {
        directory = match open(&directory, name, more) {
            Err(Errno::NOTDIR) if more.contains(OFlags::NOFOLLOW) && is_link(&directory, name) => {
                return Err(Errno::LOOP);
            }
            opened => opened?,
        };
    }
    Ok(directory)
}

fn is_link(directory: &OwnedFd, name: &[u8]) -> bool {
    statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE)
        .is_ok_and(|status| rustix::fs::FileType::from_raw_mode(status.stx_mode.into()).is_symlink())
}

pub(in crate::remove::target) fn look(parent: &Dir, name: &[u8]) -> io::Result<Look> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let status = retry_on_intr(|| statx(parent, name, flags, StatxFlags::TYPE | StatxFlags::INO))?;
    Ok(Look {
        kind: rustix::fs::FileType::from_raw_mode(status.stx_mode.into()).into(),
        identity: Identity::of(&status),
        is_mount_point: is_mount_point(parent, &status)?,
    })
}

fn is_mount_point(parent: &Dir, status: &Statx) -> Result<bool, Errno> {
    if status.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
    }
    let above = retry_on_intr(|| statx(parent, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE))?;
    Ok((above.stx_dev_major, above.stx_dev_minor) != (status.stx_dev_major, status.stx_dev_minor))
}

pub(in crate::remove::target) fn identity(directory: &Dir) -> Result<Identity, Error> {
    let status = statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::TYPE | StatxFlags::INO);
    Ok(Identity::of(&status.at("stat", directory.dir_path())?))
}

pub(in crate::remove::target) fn same_name(name: &[u8], other: &[u8]) -> bool {
    name == other
}

/// A path may be outdated, descriptors are not.
pub(in crate::remove::target) fn find_protected() -> Protected {
    let look = |directory: &OwnedFd| {
        let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
        let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID;
        retry_on_intr(|| statx(directory, "", flags, wanted)).map(|status| {
            let mount = mounts::id_in_status(&status).or_else(|| mounts::id_in_proc(directory));
            (Identity::of(&status), mount)
        })
    };
    let open = |at: BorrowedFd<'_>, name: &[u8]| open(at, name, OFlags::empty());
    let root = open(CWD, b"/").and_then(|root| look(&root)).map(|(root, _)| root).ok();
    let mut directories = Vec::new();
    let climbed = (|| {
        let mut directory = open(CWD, b".")?;
        let mut below = None;
        while directories.len() < LEVELS_MAX {
            let here = look(&directory)?;
            // A directory bind-mounted on itself differs in the mount ID.
            if below == Some(here) {
                return Ok(());
            }
            below = Some(here);
            directories.push(here.0);
            directory = open(directory.as_fd(), b"..")?;
        }
        Err(Errno::LOOP)
    })();
    let current = Chain { directories, reason: CURRENT, above: ABOVE_CURRENT };
    Protected { chains: vec![current], root, broken: climbed.err().map(Errno::raw_os_error) }
}

#[cfg(test)]
mod tests {
    use super::{CWD, Links, open, open_parent};

    #[test]
    fn a_path_may_be_longer_than_the_kernel_accepts() {
        let scratch = tempfile::tempdir().unwrap();
        let mut path = scratch.path().as_os_str().as_encoded_bytes().to_vec();
        let mut directory = open(CWD, &path, super::OFlags::empty()).unwrap();
        for _ in 0..30 {
            let name = [b'n'; 200];
            rustix::fs::mkdirat(&directory, &name[..], rustix::fs::Mode::RWXU).unwrap();
            directory = open(&directory, &name, super::OFlags::empty()).unwrap();
            path.push(b'/');
            path.extend_from_slice(&name);
        }
        for links in [Links::Followed, Links::Refused] {
            assert!(open_parent(&path, links).is_ok(), "{links:?}");
        }
    }
}
