//! Block device of a directory: opened by a path, then compared with the directory's device number.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Advice, fadvise, fstat, major, minor};

/// The kernel cuts off advice on more than the device's own read-ahead, 128 KiB by default.
const ADVICE_BYTES: u64 = 128 << 10;

/// Opens the block device that a directory is on, for reading. Errors: [`io::ErrorKind::PermissionDenied`] for most users;
/// [`io::ErrorKind::NotFound`] on file systems without a device and in containers without its file;
/// [`io::ErrorKind::InvalidInput`] if another device has the path.
pub fn block_device(directory: impl AsFd) -> io::Result<File> {
    let number = fstat(directory)?.st_dev;
    let uevent =
        std::fs::read_to_string(format!("/sys/dev/block/{}:{}/uevent", major(number), minor(number)))?;
    let name = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    open(&Path::new("/dev").join(name.ok_or(io::ErrorKind::NotFound)?), number)
}

pub(crate) fn open(path: &Path, number: u64) -> io::Result<File> {
    // The path may be a pipe by now, which would block.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let device = File::options().read(true).custom_flags(flags).open(path)?;
    let status = device.metadata()?;
    if !status.file_type().is_block_device() || status.rdev() != number {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the device that the directory is on"));
    }
    Ok(device)
}

/// `true` if users and groups have the numbers on the device: this process is in the first user namespace.
pub(crate) fn has_its_numbers() -> bool {
    ["/proc/thread-self/uid_map", "/proc/thread-self/gid_map"].into_iter().all(|map| {
        let text = std::fs::read_to_string(map).unwrap_or_default();
        text.split_whitespace().eq(["0", "0", "4294967295"])
    })
}

/// Has the device read a range of bytes into the page cache; waits only while its queue is full.
pub(crate) fn read_soon(device: &File, range: std::ops::Range<u64>) -> io::Result<()> {
    for offset in range.clone().step_by(ADVICE_BYTES as usize) {
        let bytes = NonZeroU64::new((range.end - offset).min(ADVICE_BYTES));
        fadvise(device, offset, bytes, Advice::WillNeed)?;
    }
    Ok(())
}
