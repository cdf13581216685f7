//! Images: sparse files that have no name, so that nothing is left of them when the last who holds them goes.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// Makes a sparse file of so many bytes without a name on the file system of `directory`.
pub(super) fn make(directory: impl AsFd, bytes: u64) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let opened = rustix::fs::openat(directory.as_fd(), ".", flags | OFlags::TMPFILE, mode);
    let file = match opened {
        // The file system cannot make files without names.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => named(directory, mode)?,
        opened => opened?,
    };
    let file = File::from(file);
    file.set_len(bytes)?;
    Ok(file)
}

/// Makes a file and takes its name away at once; killed in between, its directory's marker tells what it is.
fn named(directory: impl AsFd, mode: Mode) -> Result<OwnedFd, Errno> {
    const NAME: &str = "image";
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory.as_fd(), NAME, flags, mode)?;
    rustix::fs::unlinkat(directory.as_fd(), NAME, AtFlags::empty())?;
    Ok(file)
}
