//! What a replacement takes on Unix.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use crate::scan::Excluded;

/// Tells whether a path leads to a device wherever it is looked up: no path does, devices are files.
pub(super) fn is_device(_path: &Path) -> bool {
    false
}

/// Opens the temporary file; a new one is nobody else's to read before [`permit_as`] says so, if there is an old one.
pub(super) fn open(partial: &Path, old: Option<&Metadata>) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.mode(if old.is_some() { 0o600 } else { 0o666 });
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags.bits() as i32);
    options.open(partial)
}

/// Tells whether a killed process of this user can have left a file: it has no other name, and is this user's or, where root replaces a file
/// of another, that one's.
pub(super) fn is_own(_partial: &Path, status: &Metadata, old: Option<&Metadata>) -> bool {
    let own = rustix::process::geteuid().as_raw();
    status.nlink() == 1 && (status.uid() == own || old.is_some_and(|old| old.uid() == status.uid()))
}

/// Tells whether a file is what the path names.
pub(super) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Nothing is refused: whoever may write the directory may replace what is in it.
#[expect(clippy::unnecessary_wraps, reason = "on Windows there is what refuses")]
pub(super) fn may_replace(_path: &Path, _status: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Who may read the old one may read the new one, nobody else; whose it is, only root can pass on.
#[expect(clippy::unnecessary_wraps, reason = "on Windows there is what refuses")]
pub(super) fn permit_as(new: (&File, &Path), old: (&Metadata, &Path)) -> io::Result<()> {
    let (file, status) = (new.0, old.0);
    let _ = fchown(file, Some(status.uid()), Some(status.gid()));
    let _ = file.set_permissions(status.permissions());
    Ok(())
}

/// Makes the new name durable, where the file system can.
pub(super) fn sync_name(_file: &File, path: &Path) {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(directory) = File::open(parent) {
        // The file has its place; some file systems know no fsync of a directory.
        let _ = directory.sync_all();
    }
}

/// Returns how a scan knows a file.
pub(crate) fn excluded(path: &Path) -> Option<Excluded> {
    let status = std::fs::symlink_metadata(path).ok()?;
    let name = megadir::names::from_os(path.file_name()?).to_vec();
    Some(Excluded { name, device: Some(status.dev()), inode: Some(status.ino()) })
}
