//! Tries with names of its own if files can be moved, before a run makes anything.
//!
//! NFS, 9p, OCFS2, MooseFS, GlusterFS and most FUSE servers refuse `RENAME_NOREPLACE`. A file there cannot be moved in one step
//! that never replaces another. Linking and unlinking (`offline`) removes a file that a program puts in the place of the old one
//! meanwhile; moving it aside first would leave it without a path if the run is killed. So without `offline` such a run is refused.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::mount_traits::MountTraits;

/// The names of the directory that is made and renamed. Both are removed by the next trial if this one is killed.
const TRIED: [&str; 2] = [".megadir-reshard-try", ".megadir-reshard-tried"];
/// In the first of them.
const LINKED: [&str; 2] = ["old", "new"];

/// Errors: [`ErrorKind::Unavailable`] if files cannot be moved. The run shows the rest, which cannot be tried.
pub(super) fn check(top: &Dir, offline: bool) -> Result<()> {
    let mount = MountTraits::of(top);
    if mount.renames_without_replacing == Some(true) {
        return Ok(());
    }
    if let Err(error) = make(top) {
        return refusal_of_directories(top, error, &mount);
    }
    let renamed = rename(top);
    // Without `offline` as well, so that it is named only where it works.
    let linked = if renamed == Err(Errno::INVAL) { link(top) } else { Ok(()) };
    remove(top).at("remove", &top.entry_path(TRIED[0].as_bytes()))?;
    let reason = match (renamed, linked) {
        (Err(Errno::INVAL), Err(error)) if !is_passing(error) => {
            "this file system can neither rename without replacing (RENAME_NOREPLACE) nor link files: copy them to another one"
        }
        (Err(Errno::INVAL), _) if !offline => {
            "this file system cannot rename without replacing (RENAME_NOREPLACE): stop all programs that change files there, and add \
             --offline, which links and unlinks"
        }
        _ => return Ok(()),
    };
    Err(Error::new("reshard", top.path(), ErrorKind::Unavailable, reason))
}

/// Read-only mounts and refused permissions are reported with the files that they keep back.
fn refusal_of_directories(top: &Dir, error: Errno, mount: &MountTraits) -> Result<()> {
    let reason = match error {
        Errno::ROFS if !mount.is_read_only => return Err(Error::io("reshard", top.path(), error.into())),
        Errno::NOSYS | Errno::OPNOTSUPP => "this file system cannot make directories",
        _ => return Ok(()),
    };
    Err(Error::new("reshard", top.path(), ErrorKind::Unavailable, reason))
}

/// Lack of room says nothing about the next file.
fn is_passing(error: Errno) -> bool {
    matches!(error, Errno::NOSPC | Errno::DQUOT | Errno::INTR | Errno::NOMEM)
}

fn make(top: &Dir) -> std::result::Result<(), Errno> {
    match rustix::fs::mkdirat(top, TRIED[0], Mode::RWXU) {
        Err(Errno::EXIST) => {
            remove(top)?;
            rustix::fs::mkdirat(top, TRIED[0], Mode::RWXU)
        }
        made => made,
    }
}

/// `INVAL` if the file system refuses the flag.
fn rename(top: &Dir) -> std::result::Result<(), Errno> {
    let rename = || rustix::fs::renameat_with(top, TRIED[0], top, TRIED[1], RenameFlags::NOREPLACE);
    let renamed = match rename() {
        Err(Errno::EXIST) => {
            remove_one(top, TRIED[1])?;
            rename()
        }
        renamed => renamed,
    };
    renamed.map_err(|error| match error {
        Errno::NOSYS | Errno::OPNOTSUPP => Errno::INVAL,
        error => error,
    })
}

fn link(top: &Dir) -> std::result::Result<(), Errno> {
    let directory = open(top)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    drop(rustix::fs::openat(&directory, LINKED[0], flags, Mode::RUSR | Mode::WUSR)?);
    rustix::fs::linkat(&directory, LINKED[0], &directory, LINKED[1], AtFlags::empty())
}

fn open(top: &Dir) -> std::result::Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(top, TRIED[0], flags, Mode::empty())
}

/// Directories with files of others in them stay.
fn remove(top: &Dir) -> std::result::Result<(), Errno> {
    if let Ok(directory) = open(top) {
        for name in LINKED {
            let _ = rustix::fs::unlinkat(&directory, name, AtFlags::empty());
        }
    }
    TRIED.into_iter().try_for_each(|name| remove_one(top, name))
}

fn remove_one(top: &Dir, name: &str) -> std::result::Result<(), Errno> {
    match rustix::fs::unlinkat(top, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOENT) => Ok(()),
        removed => removed,
    }
}
