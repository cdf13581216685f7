//! Images: unnamed sparse files, freed with their last descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// Creates an unnamed sparse file of this size on the file system of `directory`.
pub fn make(directory: impl AsFd, bytes: u64) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let opened = rustix::fs::openat(directory.as_fd(), ".", flags | OFlags::TMPFILE, mode);
    let file = match opened {
        // The file system does not support O_TMPFILE.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => named(directory, mode)?,
        opened => opened?,
    };
    let file = File::from(file);
    file.set_len(bytes)?;
    Ok(file)
}

/// Creates a file and unlinks it at once. If the process is killed in between, the marker of its directory
/// identifies the file.
fn named(directory: impl AsFd, mode: Mode) -> Result<OwnedFd, Errno> {
    const NAME: &str = "image";
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory.as_fd(), NAME, flags, mode)?;
    rustix::fs::unlinkat(directory.as_fd(), NAME, AtFlags::empty())?;
    Ok(file)
}
