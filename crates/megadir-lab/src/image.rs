//! Image of a file system: a sparse file without a name, so that a kill leaves none.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// Makes an image: an unnamed sparse file of `bytes`, freed with its last descriptor.
///
/// The loop device holds a descriptor as well, so the caller may drop its own once the device is attached.
/// Some file systems cannot make unnamed files (`EOPNOTSUPP`; `EISDIR` from kernels that do not know the
/// flag); there the file has a name for the moment between its creation and its unlinking.
pub fn make_image(directory: impl AsFd, bytes: u64) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let opened = rustix::fs::openat(directory.as_fd(), ".", flags | OFlags::TMPFILE, mode);
    let file = match opened {
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => named(directory, mode)?,
        opened => opened?,
    };
    let file = File::from(file);
    file.set_len(bytes)?;
    Ok(file)
}

/// If the process is killed before it unlinks the file, the marker of the directory identifies it.
fn named(directory: impl AsFd, mode: Mode) -> Result<OwnedFd, Errno> {
    const NAME: &str = "image";
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory.as_fd(), NAME, flags, mode)?;
    rustix::fs::unlinkat(directory.as_fd(), NAME, AtFlags::empty())?;
    Ok(file)
}
