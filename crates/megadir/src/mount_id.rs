//! Mount ID of an open file: by statx, else, if a filter refuses that, by /proc. Devices do not distinguish bind mounts.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Statx, StatxFlags, fstat, openat, openat2, statx};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

/// Returns the ID of the mount that an open file is on; `None` if the system does not reveal it.
pub fn mount_id(file: impl AsFd) -> Option<u64> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let status = statx(&file, c"", flags, StatxFlags::MNT_ID).ok();
    status.as_ref().and_then(in_status).or_else(|| in_proc(file))
}

/// Opens a directory in another one, by one name and without following a link. With [`ResolveFlags::NO_XDEV`], `XDEV` if
/// anything is mounted on it; where the system cannot check that, `are_on_one_mount` does.
pub(crate) fn open_below(
    parent: BorrowedFd<'_>,
    name: impl Arg + Copy,
    resolve: ResolveFlags,
    are_on_one_mount: fn(BorrowedFd<'_>, BorrowedFd<'_>) -> bool,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // `AGAIN` (a rename happened) matters only to paths with several components, so it is no reason to repeat.
    match retry_on_intr(|| openat2(parent, name, flags, Mode::empty(), resolve)) {
        // Linux before 5.6, or a seccomp filter.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
            let directory = retry_on_intr(|| openat(parent, name, flags, Mode::empty()))?;
            match !resolve.contains(ResolveFlags::NO_XDEV) || are_on_one_mount(parent, directory.as_fd()) {
                true => Ok(directory),
                false => Err(Errno::XDEV),
            }
        }
        opened => opened,
    }
}

/// `false` if the system reveals no mount IDs.
pub(crate) fn are_on_one_mount(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    mount_id(a).is_some_and(|mount| mount_id(b) == Some(mount))
}

/// Compares devices, which miss bind mounts, if the system reveals no mount IDs.
pub(crate) fn seem_to_be_on_one_mount(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    match (mount_id(a), mount_id(b)) {
        (Some(a), Some(b)) => a == b,
        _ => matches!((fstat(a), fstat(b)), (Ok(a), Ok(b)) if a.st_dev == b.st_dev),
    }
}

/// From a status that was requested with [`StatxFlags::MNT_ID`].
pub(crate) fn in_status(status: &Statx) -> Option<u64> {
    StatxFlags::from_bits_retain(status.stx_mask).contains(StatxFlags::MNT_ID).then_some(status.stx_mnt_id)
}

pub(crate) fn in_proc(file: impl AsFd) -> Option<u64> {
    // The thread may have its own descriptor table.
    let path = format!("/proc/thread-self/fdinfo/{}", file.as_fd().as_raw_fd());
    let info = std::fs::read_to_string(path).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{in_proc, mount_id};
    use crate::Dir;

    #[test]
    fn proc_has_the_id_of_statx() {
        for path in [".", "/proc", "/"] {
            let directory = Dir::open(path).unwrap();
            let expected = mount_id(&directory);
            assert!(expected.is_some());
            assert_eq!(in_proc(&directory), expected, "{path}");
            assert_eq!(directory.id().unwrap().mount, expected, "{path}");
        }
    }
}
