//! `quotactl_fd(2)`: quota of a user, a group or a project (Linux 5.14 and later). Only root may query other users.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::succeeded;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    User(u32),
    Group(u32),
    Project(u32),
}

/// Usage and limits; a limit of 0 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub bytes: u64,
    pub bytes_max: u64,
    pub inodes: u64,
    pub inodes_max: u64,
}

const Q_GETQUOTA: u32 = 0x80_0007;
/// Unit of space limits, bytes.
const QIF_DQBLKSIZE: u64 = 1024;

/// Fails with `ENOSYS` or `ESRCH` if the kernel or the file system keeps no quotas, `EPERM` without permission.
pub fn quota(descriptor: BorrowedFd<'_>, owner: Owner) -> io::Result<Quota> {
    let (kind, number) = match owner {
        Owner::User(number) => (0, number),
        Owner::Group(number) => (1, number),
        Owner::Project(number) => (2, number),
    };
    let mut block = std::mem::MaybeUninit::<libc::dqblk>::zeroed();
    // SAFETY: Q_GETQUOTA writes one `struct if_dqblk`, which is `libc::dqblk`, to memory borrowed exclusively
    // for the call; the kernel keeps no pointer. The descriptor is open for the call.
    succeeded(unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            descriptor.as_raw_fd(),
            libc::c_long::from(Q_GETQUOTA << 8 | kind),
            libc::c_ulong::from(number),
            block.as_mut_ptr(),
        )
    })?;
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid dqblk.
    let block = unsafe { block.assume_init() };
    Ok(Quota {
        bytes: block.dqb_curspace,
        bytes_max: block.dqb_bhardlimit.saturating_mul(QIF_DQBLKSIZE),
        inodes: block.dqb_curinodes,
        inodes_max: block.dqb_ihardlimit,
    })
}

/// `struct fsxattr`; only the project ID is named.
#[repr(C)]
struct ExtendedFlags {
    before: [u32; 3],
    project: u32,
    after: [u32; 3],
}

const _: () = assert!(size_of::<ExtendedFlags>() == 28);

const FS_IOC_FSGETXATTR: libc::Ioctl = libc::_IOR::<ExtendedFlags>(b'X' as u32, 31);
const FS_IOC_FSSETXATTR: libc::Ioctl = libc::_IOW::<ExtendedFlags>(b'X' as u32, 32);

/// 0 if none. Fails with `ENOTDIR` for other files, `ENOTTY` or similar without projects.
pub fn project(directory: BorrowedFd<'_>) -> io::Result<u32> {
    extended_flags(directory).map(|flags| flags.project)
}

/// Other extended flags stay. Fails with `EPERM` without privileges.
pub fn set_project(directory: BorrowedFd<'_>, project: u32) -> io::Result<()> {
    let mut flags = extended_flags(directory)?;
    flags.project = project;
    // SAFETY: on a directory, which this descriptor was found to be, the number means FS_IOC_FSSETXATTR. The
    // kernel reads 28 bytes, the size of the structure, which is borrowed for the call; it keeps no pointer.
    succeeded(unsafe { libc::ioctl(directory.as_raw_fd(), FS_IOC_FSSETXATTR, &raw const flags) })
}

fn extended_flags(directory: BorrowedFd<'_>) -> io::Result<ExtendedFlags> {
    let status = rustix::fs::fstat(directory)?;
    if !rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    let mut flags = ExtendedFlags { before: [0; 3], project: 0, after: [0; 3] };
    // SAFETY: on a directory the number means FS_IOC_FSGETXATTR on every file system (a device, where it could
    // mean something else, was refused). The kernel writes 28 bytes, the size of the structure, which is
    // borrowed exclusively; it keeps no pointer. Any bytes are valid field values.
    succeeded(unsafe { libc::ioctl(directory.as_raw_fd(), FS_IOC_FSGETXATTR, &raw mut flags) })?;
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::{Owner, project, quota};
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn only_directories_have_a_project() {
        assert_eq!(
            project(File::open("/dev/null").unwrap().as_fd()).unwrap_err().raw_os_error(),
            Some(libc::ENOTDIR)
        );
        assert!(project(File::open("/proc").unwrap().as_fd()).map_or(true, |number| number == 0));
    }

    #[test]
    fn file_system_without_quota_is_reported() {
        let directory = File::open("/proc").unwrap();
        for owner in [Owner::User(0), Owner::Group(0), Owner::Project(1)] {
            let error = quota(directory.as_fd(), owner).unwrap_err();
            let known = [libc::ENOSYS, libc::ESRCH, libc::EPERM, libc::ENODEV, libc::ENOTBLK, libc::EINVAL];
            assert!(known.contains(&error.raw_os_error().unwrap()), "{owner:?}: {error}");
        }
    }
}
