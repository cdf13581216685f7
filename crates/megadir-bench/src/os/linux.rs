//! Linux: calls relative to a descriptor.
//!
//! Functions that studies measure are `#[inline]` and make exactly the calls that `kind/files/file.rs`
//! lists.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use megadir::mount_id;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;
pub(crate) use rustix::path::Arg;

use super::{Access, Space, Status};

pub(crate) type Owned = OwnedFd;
pub(crate) type Borrowed<'a> = BorrowedFd<'a>;

pub(crate) const LISTED_BY: &str = "getdents";
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// Unit of `st_blocks`, whatever the file system's block size.
const STAT_BLOCK_BYTES: u64 = 512;

pub(crate) trait At {
    fn at(&self) -> Borrowed<'_>;
}

impl<T: AsFd> At for T {
    #[inline]
    fn at(&self) -> Borrowed<'_> {
        self.as_fd()
    }
}

/// `ELOOP` is returned for a link where a directory is required.
fn no_link(error: Errno) -> io::Error {
    if error == Errno::LOOP { Errno::NOTDIR.into() } else { error.into() }
}

#[inline]
pub(crate) fn name(path: &CStr) -> &CStr {
    path
}

/// Follows links.
pub(crate) fn open_directory(path: &Path) -> io::Result<Owned> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Fails if the user may not create entries here, without trying: `--dry-run` writes nothing.
pub(crate) fn may_make_in(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?)
}

#[inline]
pub(crate) fn open_below(at: Borrowed<'_>, path: impl Arg) -> io::Result<Owned> {
    rustix::fs::openat(at, path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()).map_err(no_link)
}

pub(crate) fn open_on_this_mount(at: Borrowed<'_>, name: impl Arg + Copy) -> io::Result<Owned> {
    open_same_mount(at, name).map_err(no_link)
}

/// Follows no link. `XDEV`: it is a mount point, also of the same file system, or that cannot be determined.
pub(crate) fn open_same_mount(parent: BorrowedFd<'_>, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve) {
        // Linux before 5.6, or a seccomp filter that does not know openat2.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_and_compare(parent, name, flags),
        opened => opened,
    }
}

/// Fallback without `openat2`: the directory is opened first and compared with its parent. Device numbers
/// alone would miss a bind mount of the same file system; if the kernel reports no number of the mount, the
/// directory is refused.
pub(crate) fn open_and_compare(
    parent: BorrowedFd<'_>,
    name: impl Arg,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let same_device = rustix::fs::fstat(&directory)?.st_dev == rustix::fs::fstat(parent)?.st_dev;
    let same_mount = mount_id(parent).is_some_and(|mount| mount_id(&directory) == Some(mount));
    if same_device && same_mount { Ok(directory) } else { Err(Errno::XDEV) }
}

/// With its own read position.
pub(crate) fn again(at: Borrowed<'_>) -> io::Result<Owned> {
    Ok(rustix::fs::openat(at, c".", DIRECTORY, Mode::empty())?)
}

#[inline]
pub(crate) fn make_directory(at: Borrowed<'_>, path: impl Arg) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(at, path, Mode::from_raw_mode(0o755))?)
}

pub(crate) fn make_private_directory(at: Borrowed<'_>, path: impl Arg) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(at, path, Mode::RWXU)?)
}

#[inline]
pub(crate) fn create(at: Borrowed<'_>, path: impl Arg) -> io::Result<File> {
    let flags = FILE | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    Ok(rustix::fs::openat(at, path, flags, Mode::from_raw_mode(0o644))?.into())
}

#[inline]
pub(crate) fn open_file(at: Borrowed<'_>, path: impl Arg, access: Access) -> io::Result<File> {
    let access = match access {
        Access::Read => OFlags::RDONLY,
        Access::ReadWrite => OFlags::RDWR,
    };
    // `O_NONBLOCK`: opening a FIFO under the name of a file would wait for its other end.
    Ok(rustix::fs::openat(at, path, FILE | OFlags::NONBLOCK | access, Mode::empty())?.into())
}

#[inline]
pub(crate) fn remove_file(at: Borrowed<'_>, path: impl Arg) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(at, path, AtFlags::empty())?)
}

pub(crate) fn remove_directory(at: Borrowed<'_>, path: impl Arg) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(at, path, AtFlags::REMOVEDIR)?)
}

/// Replaces nothing, even if the file system lacks RENAME_NOREPLACE.
pub(crate) fn rename_new(at: Borrowed<'_>, from: &str, to: &str) -> io::Result<()> {
    match rustix::fs::renameat_with(at, from, at, to, RenameFlags::NOREPLACE) {
        // Renaming a directory replaces at most an empty directory.
        Err(Errno::INVAL | Errno::NOSYS) => Ok(rustix::fs::renameat(at, from, at, to)?),
        result => Ok(result?),
    }
}

#[inline]
pub(crate) fn status(at: Borrowed<'_>, path: impl Arg) -> io::Result<Status> {
    Ok(status_from(&rustix::fs::statat(at, path, AtFlags::SYMLINK_NOFOLLOW)?))
}

pub(crate) fn use_of(open: &impl At) -> io::Result<(Status, u64)> {
    Ok(use_from(&rustix::fs::fstat(open.at())?))
}

pub(crate) fn use_of_entry(at: Borrowed<'_>, path: impl Arg) -> io::Result<(Status, u64)> {
    Ok(use_from(&rustix::fs::statat(at, path, AtFlags::SYMLINK_NOFOLLOW)?))
}

fn use_from(stat: &Stat) -> (Status, u64) {
    (status_from(stat), u64::try_from(stat.st_blocks).unwrap_or(0) * STAT_BLOCK_BYTES)
}

#[inline]
fn status_from(stat: &Stat) -> Status {
    Status {
        kind: rustix::fs::FileType::from_raw_mode(stat.st_mode).into(),
        size_bytes: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
        links: stat.st_nlink,
        identity: (stat.st_dev, stat.st_ino),
        owner: Some(stat.st_uid),
        guarded: false,
    }
}

/// Stats `.` by the same call as its files: the shortest lookup that the file system answers.
#[inline]
pub(crate) fn query_directory(at: Borrowed<'_>) -> io::Result<()> {
    rustix::fs::statat(at, c".", AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}

/// Always `true`: the status contains the owner.
pub(crate) fn is_own(_file: &File) -> io::Result<bool> {
    Ok(true)
}

pub(crate) fn is_no_file_of_ours(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::ISDIR))
}

pub(crate) fn not_a_directory() -> io::Error {
    Errno::NOTDIR.into()
}

/// Linux has no reserved names.
pub(crate) fn check_path(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn own_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

/// Since the Unix epoch.
pub(crate) fn set_times(at: Borrowed<'_>, path: impl Arg, time: Duration) -> io::Result<()> {
    let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(at, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

pub(crate) fn space(at: Borrowed<'_>) -> io::Result<Space> {
    let status = rustix::fs::fstatvfs(at)?;
    Ok(Space {
        block_bytes: status.f_frsize,
        bytes: status.f_blocks * status.f_frsize,
        free_bytes: status.f_bavail.saturating_mul(status.f_frsize),
        all_free_bytes: status.f_bfree.saturating_mul(status.f_frsize),
        inodes: status.f_files,
        free_inodes: status.f_favail,
        all_free_inodes: status.f_ffree,
    })
}

pub(crate) fn sync(at: Borrowed<'_>) -> io::Result<()> {
    Ok(rustix::fs::syncfs(at)?)
}
