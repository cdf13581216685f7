//! Mount ID of an open file: by statx, else, if a filter refuses that, by /proc. Devices do not distinguish bind mounts.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, Statx, StatxFlags};
use rustix::io::Errno;

/// `None` if the system does not reveal it. Errors: as statx(2).
pub(crate) fn mount_id(file: BorrowedFd<'_>) -> Result<Option<u64>, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let status = rustix::fs::statx(file, c"", flags, StatxFlags::MNT_ID)?;
    Ok(in_status(&status).or_else(|| in_proc(file)))
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
    use std::os::fd::AsFd;

    #[test]
    fn proc_has_the_id_of_statx() {
        for path in [".", "/proc", "/"] {
            let directory = Dir::open(path).unwrap();
            let expected = mount_id(directory.as_fd()).unwrap();
            assert_eq!(in_proc(&directory), expected, "{path}");
            assert_eq!(directory.id().unwrap().mount, expected, "{path}");
        }
    }
}
