//! Linux: owner and mode, and the errors that mean that a file is not as expected.

use std::fs::File;
use std::io;

use megadir::FileType;
use megadir::limits::Step;
use megadir_record::FileWork;
use rustix::fs::{Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::{Outcome, met};
use crate::os::{self, Arg, Borrowed};

pub(crate) struct Owner {
    user: Uid,
    group: Gid,
}

/// Returns the owner of files that this process creates.
pub(crate) fn own() -> Option<Owner> {
    Some(Owner { user: rustix::process::geteuid(), group: rustix::process::getegid() })
}

impl Owner {
    pub(crate) fn give(&self, file: &File) -> Result<(), Outcome> {
        let (user, group) = (Some(self.user), Some(self.group));
        rustix::fs::fchown(file, user, group).map_err(io::Error::from).map_err(met("fchown", Step::Write))?;
        let mode = Mode::from_raw_mode(0o644);
        rustix::fs::fchmod(file, mode).map_err(io::Error::from).map_err(met("fchmod", Step::Write))
    }
}

/// Creates a file. If it gets owner and mode later, no other user may open it before that.
#[inline]
pub(crate) fn create(at: Borrowed<'_>, name: impl Arg, owner: Option<&Owner>) -> io::Result<File> {
    if owner.is_none() {
        return os::create(at, name);
    }
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    Ok(rustix::fs::openat(at, name, flags, Mode::from_raw_mode(0o600))?.into())
}

/// Returns a file's size; `None` if it is not a regular file.
#[inline]
pub(crate) fn size_of(at: Borrowed<'_>, name: impl Arg) -> io::Result<Option<u64>> {
    let status = os::status(at, name)?;
    Ok((status.kind == FileType::File).then_some(status.size_bytes))
}

pub(crate) fn sync_directory(directory: Borrowed<'_>) -> io::Result<()> {
    Ok(rustix::fs::fsync(directory)?)
}

/// `true` if an error only means that one file is not as expected: missing, already present, a link, a
/// directory.
pub(crate) fn is_of_one_file(error: &io::Error) -> bool {
    let error = Errno::from_io_error(error);
    matches!(error, Some(Errno::NOENT | Errno::EXIST | Errno::LOOP | Errno::ISDIR))
}

pub(crate) fn refused(_work: &FileWork, _directory: Borrowed<'_>) -> Option<String> {
    None
}
