//! Unix part of file replacement.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use crate::scan::Excluded;

pub(super) fn is_device(_path: &Path) -> bool {
    false
}

/// Private until [`permit_as`].
pub(super) fn open(partial: &Path, old: Option<&Metadata>) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.mode(if old.is_some() { 0o600 } else { 0o666 });
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags.bits() as i32);
    options.open(partial)
}

/// Has no other links, and is owned by this user or, if root replaces another user's file, by that user.
pub(super) fn is_own(_partial: &Path, status: &Metadata, old: Option<&Metadata>) -> bool {
    let own = rustix::process::geteuid().as_raw();
    status.nlink() == 1 && (status.uid() == own || old.is_some_and(|old| old.uid() == status.uid()))
}

pub(super) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "on Windows there is what refuses")]
pub(super) fn may_replace(_path: &Path, _status: &Metadata) -> io::Result<()> {
    Ok(())
}

/// A user who may not give the file away keeps the group if possible; with another group, the new file grants its group nothing.
#[expect(clippy::unnecessary_wraps, reason = "on Windows there is what refuses")]
pub(super) fn permit_as(new: (&File, &Path), old: (&Metadata, &Path)) -> io::Result<()> {
    let (file, status) = (new.0, old.0);
    let has_group = fchown(file, Some(status.uid()), Some(status.gid())).is_ok()
        || fchown(file, None, Some(status.gid())).is_ok();
    let mode = status.mode() & if has_group { 0o7777 } else { 0o7707 };
    let _ = file.set_permissions(PermissionsExt::from_mode(mode));
    Ok(())
}

pub(super) fn make_private(file: &File) -> io::Result<()> {
    file.set_permissions(PermissionsExt::from_mode(0o600))
}

pub(super) fn sync_name(_file: &File, path: &Path) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(directory) = File::open(parent) {
        // The rename is done; some file systems do not support fsync of a directory.
        let _ = directory.sync_all();
    }
}

pub(crate) fn excluded(path: &Path) -> Option<Excluded> {
    let status = std::fs::symlink_metadata(path).ok()?;
    let name = megadir::names::from_os(path.file_name()?).to_vec();
    Some(Excluded { name, device: Some(status.dev()), inode: Some(status.ino()) })
}
