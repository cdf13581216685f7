//! System calls of the engine on Linux, relative to descriptors. Moves between directories are checked, so
//! that renames by other processes cannot divert them.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, SeekFrom, Statx, StatxAttributes, StatxFlags};
use rustix::io::retry_on_intr;

use crate::attributes::{Attributes, StatMask};
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::mount_traits::RemovedOpen;
use crate::mounts;
use crate::options::ReadAhead;
use crate::stat::StatxRequest;

pub(in crate::remove) use rustix::io::Errno;
pub(in crate::remove) use std::os::fd::AsFd as Open;

pub(in crate::remove) type Directory = OwnedFd;
pub(super) use crate::inodes_ahead::InodesAhead as Ahead;

/// Reading resumes at a record's position, even after closing the directory.
pub(super) const SEEKS: bool = true;
/// Open directories can be removed, but only by name.
pub(super) const GOES_WHILE_OPEN: bool = true;
pub(super) const OPEN_MAX: usize = 64;
pub(super) const CROSSES_MOUNTS: bool = true;
pub(super) const OPEN_AGAIN: Option<OpenAgain> = Some(|directory| open(directory.as_fd(), c"."));
pub(super) type OpenAgain = fn(&Directory) -> Result<Directory, Errno>;
pub(super) const NOT_IN_NAMES: &[u8] = b"/";
pub(super) const KEEPS_FILLING: &str =
    "not empty after 10 passes: another process keeps creating entries in it";
/// A longer read would hold the directory's lock for long.
pub(super) const CALL_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::remove) struct Identity {
    device: (u32, u32),
    inode: u64,
    /// 0 if the kernel does not report it (before Linux 5.8).
    mount: u64,
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Follows no link. Unless mounts are crossed, `XDEV` if anything is mounted on the directory, or if that cannot be determined.
pub(in crate::remove) fn open_below(
    parent: &impl Open,
    name: &CStr,
    cross_mounts: bool,
) -> Result<Directory, Errno> {
    let mut resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    resolve.set(ResolveFlags::NO_XDEV, !cross_mounts);
    mounts::open_below(parent.as_fd(), name, resolve, mounts::are_on_one_mount)
}

pub(super) fn open_above(directory: &Directory, expected: &Identity) -> Result<Option<Directory>, Errno> {
    let above = open(directory.as_fd(), c"..")?;
    Ok((identity(&above)? == *expected).then_some(above))
}

fn open(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    retry_on_intr(|| rustix::fs::openat(parent, name, FLAGS, Mode::empty()))
}

pub(in crate::remove) fn identity(directory: &impl Open) -> Result<Identity, Errno> {
    let status = stat(directory.as_fd(), AtFlags::STATX_DONT_SYNC, IDENTIFIES)?;
    Ok(Identity::of(&status))
}

const IDENTIFIES: StatxFlags = StatxFlags::INO.union(StatxFlags::MNT_ID);
const LOOKUP_FLAGS: AtFlags = AtFlags::STATX_DONT_SYNC.union(AtFlags::NO_AUTOMOUNT);

impl Identity {
    fn of(status: &Statx) -> Self {
        Self {
            device: (status.stx_dev_major, status.stx_dev_minor),
            inode: status.stx_ino,
            mount: mounts::id_in_status(status).unwrap_or(0),
        }
    }
}

fn stat(directory: BorrowedFd<'_>, flags: AtFlags, wanted: StatxFlags) -> Result<Statx, Errno> {
    let flags = flags | AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    retry_on_intr(|| rustix::fs::statx(directory, c"", flags, wanted))
}

const WANTED: StatMask = StatMask::TYPE
    .union(StatMask::MODE)
    .union(StatMask::MODIFIED)
    .union(StatMask::ACCESSED)
    .union(StatMask::CHANGED)
    .union(StatMask::BORN)
    .union(StatMask::SIZE)
    .union(StatMask::ALLOCATED)
    .union(StatMask::OWNER)
    .union(StatMask::INODE)
    .union(StatMask::DEVICE)
    .union(StatMask::LINKS);

/// Attributes of an entry, and the error that removing it would return because of flags of its own.
pub(super) fn facts(directory: &impl Open, name: &CStr) -> Result<(Attributes, Option<Errno>), Errno> {
    facts_by(directory, name, AtFlags::empty())
}

/// As [`facts`], by the server, whatever the client's cache.
pub(in crate::remove) fn facts_at_the_server(
    directory: &impl Open,
    name: &CStr,
) -> Result<(Attributes, Option<Errno>), Errno> {
    facts_by(directory, name, AtFlags::STATX_FORCE_SYNC)
}

fn facts_by(directory: &impl Open, name: &CStr, sync: AtFlags) -> Result<(Attributes, Option<Errno>), Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | sync;
    let request = StatxRequest::new(WANTED);
    let status = retry_on_intr(|| rustix::fs::statx(directory, name, flags, request.mask()))?;
    Ok((request.attributes(&status), refusal_of(&status)))
}

fn refusal_of(status: &Statx) -> Option<Errno> {
    if status.stx_attributes.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND) {
        return Some(Errno::PERM);
    }
    status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT).then_some(Errno::BUSY)
}

/// Permission of this process to remove entries of a directory, for dry runs.
#[derive(Clone, Copy, Debug)]
pub(in crate::remove) struct Permit {
    refusal: Option<Errno>,
    /// In a sticky directory of another user: entries of other users than this one stay.
    only_of: Option<u32>,
}

impl Permit {
    /// `is_read_only` is that of the mount.
    pub(in crate::remove) fn of(directory: &impl Open, is_read_only: bool) -> Self {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let refusal = match rustix::fs::accessat(directory, c".", access, AtFlags::EACCESS) {
            _ if is_read_only => Some(Errno::ROFS),
            Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => Some(error),
            _ => None,
        };
        let wanted = StatxFlags::MODE | StatxFlags::UID;
        let Ok(status) = stat(directory.as_fd(), AtFlags::empty(), wanted) else {
            return Self { refusal, only_of: None };
        };
        // A mount is emptied, though not removed.
        let flags = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
        let refusal = refusal.or_else(|| status.stx_attributes.intersects(flags).then_some(Errno::PERM));
        let user = rustix::process::geteuid();
        let is_sticky = Mode::from_raw_mode(status.stx_mode.into()).contains(Mode::SVTX);
        let only_of = is_sticky && !user.is_root() && status.stx_uid != user.as_raw();
        Self { refusal, only_of: only_of.then(|| user.as_raw()) }
    }

    /// The error that removing an entry with such attributes would return.
    pub(in crate::remove) fn refusal(
        &self,
        (facts, of_entry): &(Attributes, Option<Errno>),
    ) -> Option<Errno> {
        let is_of_others = self.only_of.is_some_and(|user| user != facts.user);
        self.refusal.or(*of_entry).or_else(|| is_of_others.then_some(Errno::PERM))
    }
}

pub(super) fn facts_of_open(directory: &Directory) -> Result<Attributes, Errno> {
    facts_of_open_by(directory, AtFlags::empty())
}

/// As [`facts_of_open`], by the server, whatever the client's cache.
pub(in crate::remove) fn facts_of_open_at_the_server(file: &Directory) -> Result<Attributes, Errno> {
    facts_of_open_by(file, AtFlags::STATX_FORCE_SYNC)
}

fn facts_of_open_by(directory: &Directory, sync: AtFlags) -> Result<Attributes, Errno> {
    let request = StatxRequest::new(WANTED);
    stat(directory.as_fd(), sync, request.mask()).map(|status| request.attributes(&status))
}

pub(super) fn space(directory: &Directory) -> u64 {
    rustix::fs::fstat(directory).map_or(0, |status| status.st_blocks as u64 * 512)
}

pub(super) fn kind_of(directory: &impl Open, name: &[u8]) -> FileType {
    crate::dir::kind_of(directory.as_fd(), name).unwrap_or(FileType::Unknown)
}

/// `ISDIR` or `PERM` if it is a directory, whatever its listed type.
#[inline]
pub(super) fn remove_file(directory: &impl Open, name: &CStr, _listed: FileType) -> Result<(), Errno> {
    retry_on_intr(|| rustix::fs::unlinkat(directory, name, AtFlags::empty()))
}

/// If `still` accepts it. No system call can check what it removes.
pub(super) fn remove_examined(
    directory: &impl Open,
    name: &CStr,
    listed: FileType,
    _still: &dyn Fn(&Attributes) -> bool,
) -> Result<bool, Errno> {
    remove_file(directory, name, listed).map(|()| true)
}

/// `NOTDIR` if it is not the `expected` one. The kernel removes whichever directory has the name at that moment.
pub(super) fn remove_directory(
    parent: &impl Open,
    name: &CStr,
    expected: Option<Identity>,
) -> Result<(), Errno> {
    if let Some(expected) = expected {
        let flags = AtFlags::SYMLINK_NOFOLLOW | LOOKUP_FLAGS;
        let found = retry_on_intr(|| rustix::fs::statx(parent, name, flags, IDENTIFIES))?;
        if Identity::of(&found) != expected {
            return Err(Errno::NOTDIR);
        }
    }
    retry_on_intr(|| rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR))
}

/// Has the device read the blocks of a large directory whose first entries were read.
pub(super) fn read_ahead(directory: &Directory) {
    crate::read_ahead::start(directory.as_fd(), ReadAhead::Auto, true);
}

#[derive(Debug)]
pub(super) struct Reader;

impl Reader {
    pub(super) fn new() -> Self {
        Self
    }

    /// From `position` if given; returns the number of bytes, 0 at the end.
    pub(super) fn read(
        &mut self,
        directory: &Directory,
        from: Option<u64>,
        to: &mut [u8],
    ) -> io::Result<usize> {
        if let Some(position) = from {
            rustix::fs::seek(directory, SeekFrom::Start(position))?;
        }
        megadir_sys::readdir::getdents64(directory.as_fd(), to)
    }
}

pub(super) fn is_read_only(directory: &Directory) -> bool {
    crate::mount_traits::is_read_only(directory)
}

pub(super) fn removed_open(directory: &Directory) -> RemovedOpen {
    crate::mount_traits::removed_open(directory)
}

/// By the server, whatever the client's cache.
pub(super) fn is_removed_at_the_server(directory: &impl Open, name: &CStr) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_FORCE_SYNC;
    match retry_on_intr(|| rustix::fs::statx(directory, name, flags, StatxFlags::INO | StatxFlags::NLINK)) {
        // To the client that has it open, a removed file of ksmbd has attributes, and no names.
        Ok(found) => {
            StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::NLINK) && found.stx_nlink == 0
        }
        Err(error) => matches!(error, Errno::NOENT | Errno::BUSY),
    }
}

/// Both share a position.
pub(super) fn duplicate(directory: &impl Open) -> io::Result<Directory> {
    directory.as_fd().try_clone_to_owned()
}

pub(super) fn file_system(directory: &impl Open) -> FileSystem {
    FileSystem::of(directory.as_fd())
}

/// On Linux a removed name is gone at once.
pub(super) fn wait_for_others(_pass: u8) {}

pub(super) fn handles_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}
