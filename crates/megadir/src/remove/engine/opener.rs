//! Ways down and up between directories, none of which can be led astray.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

/// What tells a directory from every other, as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::remove) struct Identity {
    device: (u32, u32),
    inode: u64,
    /// 0 where the kernel does not tell it (before Linux 5.8).
    mount: u64,
}

/// Opens directories next to those that are open.
#[derive(Debug)]
pub(in crate::remove) struct Opener {
    cross_mounts: bool,
    /// The kernel has no `openat2` (before Linux 5.6), or a filter of system calls forbids it.
    lacks_openat2: AtomicBool,
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Opener {
    pub(in crate::remove) fn new(cross_mounts: bool) -> Self {
        Self { cross_mounts, lacks_openat2: AtomicBool::new(false) }
    }

    /// Opens a directory by its name, which is one component: through no link, and, unless mounts are crossed, `XDEV` where
    /// anything is mounted on it, be it a directory of the same file system, or where that cannot be known.
    pub(in crate::remove) fn below(&self, parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
        if self.lacks_openat2.load(Ordering::Relaxed) {
            return self.below_and_compare(parent, name);
        }
        let mut resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
        if !self.cross_mounts {
            resolve |= ResolveFlags::NO_XDEV;
        }
        loop {
            match rustix::fs::openat2(parent, name, FLAGS, Mode::empty(), resolve) {
                // `AGAIN`: something was renamed meanwhile, which matters to paths of several components only.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                    let opened = self.below_and_compare(parent, name);
                    if opened.is_ok() {
                        self.lacks_openat2.store(true, Ordering::Relaxed);
                    }
                    return opened;
                }
                opened => return opened,
            }
        }
    }

    /// As [`Opener::below`], by what the system tells of the two directories once both are open.
    fn below_and_compare(&self, parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
        let directory = open(parent, name)?;
        if self.cross_mounts {
            return Ok(directory);
        }
        let mount = mount(parent)?.ok_or(Errno::XDEV)?;
        if self::mount(directory.as_fd())? == Some(mount) { Ok(directory) } else { Err(Errno::XDEV) }
    }

    /// Opens the directory above, if it is the one that is expected: others may have moved this one.
    pub(super) fn above(directory: BorrowedFd<'_>, expected: &Identity) -> Result<Option<OwnedFd>, Errno> {
        let above = open(directory, c"..")?;
        Ok((identity(above.as_fd())? == *expected).then_some(above))
    }
}

fn open(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::io::retry_on_intr(|| rustix::fs::openat(parent, name, FLAGS, Mode::empty()))
}

/// Returns what a directory is known by.
pub(in crate::remove) fn identity(directory: BorrowedFd<'_>) -> Result<Identity, Errno> {
    let status = stat(directory, AtFlags::STATX_DONT_SYNC, StatxFlags::INO | StatxFlags::MNT_ID)?;
    Ok(Identity {
        device: (status.stx_dev_major, status.stx_dev_minor),
        inode: status.stx_ino,
        mount: mount_of(&status).unwrap_or(0),
    })
}

/// Asks what an open directory is.
pub(super) fn stat(
    directory: BorrowedFd<'_>,
    flags: AtFlags,
    wanted: StatxFlags,
) -> Result<rustix::fs::Statx, Errno> {
    let flags = flags | AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    rustix::fs::statx(directory, c"", flags, wanted)
}

fn mount_of(status: &rustix::fs::Statx) -> Option<u64> {
    StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::MNT_ID).then_some(status.stx_mnt_id)
}

/// Returns the number of the mount that a directory was opened on: by statx (Linux 5.8), else by /proc.
fn mount(directory: BorrowedFd<'_>) -> Result<Option<u64>, Errno> {
    if let Some(id) = mount_of(&stat(directory, AtFlags::STATX_DONT_SYNC, StatxFlags::MNT_ID)?) {
        return Ok(Some(id));
    }
    // Of this thread, whose table may be its own.
    let info = std::fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", directory.as_raw_fd()));
    let line = |info: String| info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    Ok(info.ok().and_then(line))
}
