//! `quotactl_fd`: what a user, a group or a project has used of its quota (Linux 5.14 and later).
//!
//! Reference: quotactl(2). Anybody may ask for the user and the groups he is; others are asked for by root.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whose quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A user, by number.
    User(u32),
    /// A group, by number.
    Group(u32),
    /// A project, by number.
    Project(u32),
}

/// What is used and allowed; a limit of 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Bytes used.
    pub bytes: u64,
    /// Bytes allowed, at most.
    pub bytes_max: u64,
    /// Inodes used.
    pub inodes: u64,
    /// Inodes allowed, at most.
    pub inodes_max: u64,
}

const Q_GETQUOTA: u32 = 0x80_0007;
/// The unit of limits of space, bytes.
const QIF_DQBLKSIZE: u64 = 1024;

/// Returns the quota on the file system that the descriptor is on.
///
/// # Errors
///
/// `ENOSYS` and `ESRCH` where the kernel or the file system keeps none, `EPERM`.
pub fn quota(descriptor: BorrowedFd<'_>, owner: Owner) -> io::Result<Quota> {
    let (kind, number) = match owner {
        Owner::User(number) => (0, number),
        Owner::Group(number) => (1, number),
        Owner::Project(number) => (2, number),
    };
    let mut block = std::mem::MaybeUninit::<libc::dqblk>::zeroed();
    // SAFETY: Q_GETQUOTA writes one `struct if_dqblk`, which is what `libc::dqblk` is, to memory that is borrowed
    // exclusively for the call; the kernel keeps no pointer. The descriptor is open for the call.
    let status = unsafe {
        libc::syscall(
            libc::SYS_quotactl_fd,
            descriptor.as_raw_fd(),
            libc::c_long::from(Q_GETQUOTA << 8 | kind),
            libc::c_ulong::from(number),
            block.as_mut_ptr(),
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid dqblk.
    let block = unsafe { block.assume_init() };
    Ok(Quota {
        bytes: block.dqb_curspace,
        bytes_max: block.dqb_bhardlimit.saturating_mul(QIF_DQBLKSIZE),
        inodes: block.dqb_curinodes,
        inodes_max: block.dqb_ihardlimit,
    })
}

/// `struct fsxattr`, of which only the project is told apart.
#[repr(C)]
struct ExtendedFlags {
    before: [u32; 3],
    project: u32,
    after: [u32; 3],
}

const _: () = assert!(size_of::<ExtendedFlags>() == 28);

const FS_IOC_FSGETXATTR: libc::Ioctl = libc::_IOR::<ExtendedFlags>(b'X' as u32, 31);
const FS_IOC_FSSETXATTR: libc::Ioctl = libc::_IOW::<ExtendedFlags>(b'X' as u32, 32);

/// Returns the number of the project that a directory belongs to; 0 is none.
///
/// # Errors
///
/// `ENOTDIR` for anything but a directory; `ENOTTY` or another where the file system knows no projects.
pub fn project(directory: BorrowedFd<'_>) -> io::Result<u32> {
    extended_flags(directory).map(|flags| flags.project)
}

/// Makes a directory belong to a project; its other extended flags stay.
///
/// # Errors
///
/// As [`project`]; `EPERM` without privileges.
pub fn set_project(directory: BorrowedFd<'_>, project: u32) -> io::Result<()> {
    let mut flags = extended_flags(directory)?;
    flags.project = project;
    // SAFETY: on a directory, as what this descriptor is open on was found to be, the number means FS_IOC_FSSETXATTR. The
    // kernel reads 28 bytes, which is what the structure, borrowed for the call, has; it keeps no pointer.
    let status = unsafe { libc::ioctl(directory.as_raw_fd(), FS_IOC_FSSETXATTR, &raw const flags) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn extended_flags(directory: BorrowedFd<'_>) -> io::Result<ExtendedFlags> {
    let status = rustix::fs::fstat(directory)?;
    if !rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    let mut flags = ExtendedFlags { before: [0; 3], project: 0, after: [0; 3] };
    // SAFETY: on a directory the number means FS_IOC_FSGETXATTR, whatever the file system (a device, where it could mean
    // something else, was refused). The kernel writes 28 bytes, which is what the structure, borrowed exclusively,
    // has; it keeps no pointer. Any bytes are a value of the fields.
    let status = unsafe { libc::ioctl(directory.as_raw_fd(), FS_IOC_FSGETXATTR, &raw mut flags) };
    if status == 0 { Ok(flags) } else { Err(io::Error::last_os_error()) }
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
    fn a_file_system_without_quota_says_so() {
        let directory = File::open("/proc").unwrap();
        for owner in [Owner::User(0), Owner::Group(0), Owner::Project(1)] {
            let error = quota(directory.as_fd(), owner).unwrap_err();
            let known = [libc::ENOSYS, libc::ESRCH, libc::EPERM, libc::ENODEV, libc::ENOTBLK, libc::EINVAL];
            assert!(known.contains(&error.raw_os_error().unwrap()), "{owner:?}: {error}");
        }
    }
}
