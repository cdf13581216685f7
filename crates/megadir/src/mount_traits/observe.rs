//! Completes a row of the table with observations of the mount: whether it is read-only, whether files have a time of birth, and for
//! servers without an entry in the table, where their inode numbers come from.

use std::ffi::CStr;
use std::os::fd::AsFd;

use megadir_sys::file_handle::fuse_node;
use rustix::fs::{AtFlags, StatVfsMountFlags, Statx, StatxFlags, statx};

use super::{InodeNumbers, ListedInodes, MountTraits, RemovedOpen, source};
use crate::dir::Dir;
use crate::file_system::FileSystem;
use crate::mounts::{self, Line, mount_id};

/// Enough to distinguish a count of look-ups from numbers of a file system.
const ENTRIES_MAX: usize = 16;
const EXFAT_STEP_NS: u32 = 10_000_000;
/// `FUSE_UNKNOWN_INO`: libfuse lists it for entries that were not looked up, unless the server returns numbers of its own.
const UNKNOWN_INODE: u64 = u32::MAX as u64;

pub(super) fn observed(directory: &Dir) -> MountTraits {
    let driver = driver_of(directory);
    let mut traits = MountTraits::of_mount(driver.as_deref(), directory.file_system());
    if let Ok(status) = rustix::fs::fstatvfs(directory) {
        traits.is_read_only |= status.f_flag.contains(StatVfsMountFlags::RDONLY);
        // An export of FAT or exFAT, whose server counts no inodes; btrfs counts none either, and has lasting numbers.
        let is_nfs = directory.file_system() == FileSystem::Nfs;
        if is_nfs && status.f_files == 0 && has_coarse_times(directory) {
            traits.inode_numbers = InodeNumbers::MadeUp;
        }
    }
    let Some(own) = status_of(directory, c"") else { return traits };
    traits.birth_times = Some(StatxFlags::from_bits_retain(own.stx_mask).contains(StatxFlags::BTIME));
    if traits.inode_numbers == InodeNumbers::Unknown || traits.listed_inodes == ListedInodes::Unknown {
        look_at_entries(directory, &own, &mut traits);
    }
    traits
}

/// As [`MountTraits::is_read_only`], of the mount of any open file.
pub(crate) fn is_read_only(file: impl AsFd) -> bool {
    let mounted =
        rustix::fs::fstatvfs(&file).is_ok_and(|status| status.f_flag.contains(StatVfsMountFlags::RDONLY));
    mounted || driver_of(file).is_some_and(|driver| MountTraits::of_type(&driver).is_read_only)
}

/// As [`MountTraits::removed_open`], of the mount of any open file.
pub(crate) fn removed_open(file: impl AsFd) -> RemovedOpen {
    let file_system = FileSystem::of(file.as_fd());
    MountTraits::of_mount(driver_of(file).as_deref(), file_system).removed_open
}

pub(super) fn driver_of(file: impl AsFd) -> Option<String> {
    let table = mounts::table().ok()?;
    let line = Line::find(&table, mount_id(file)?)?;
    Some(String::from_utf8_lossy(line.driver).into_owned())
}

pub(super) fn source_of(file: impl AsFd) -> Option<String> {
    let table = mounts::table().ok()?;
    let line = Line::find(&table, mount_id(file)?)?;
    Some(source::named(line.driver, line.source))
}

/// FAT and exFAT store times in steps of 2 s and 10 ms. Elsewhere the time of change of a directory alone is none of these, except once in
/// ten million.
fn has_coarse_times(directory: &Dir) -> bool {
    let times = |name: &CStr| {
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let status = statx(directory, name, flags, StatxFlags::MTIME | StatxFlags::CTIME).ok()?;
        Some([status.stx_mtime.tv_nsec, status.stx_ctime.tv_nsec])
    };
    let entries = rustix::fs::Dir::read_from(directory).ok();
    // `..` of a mount's root is on another file system.
    let is_dot = |name: &CStr| matches!(name.to_bytes(), b"." | b"..");
    let entries = entries.into_iter().flatten().filter_map(Result::ok);
    let entries = entries.filter(|entry| !is_dot(entry.file_name())).take(ENTRIES_MAX);
    let of_entries = entries.filter_map(|entry| times(entry.file_name()));
    are_coarse(times(c"").into_iter().chain(of_entries).flatten())
}

fn are_coarse(mut nanoseconds: impl Iterator<Item = u32>) -> bool {
    nanoseconds.all(|nanoseconds| nanoseconds % EXFAT_STEP_NS == 0)
}

fn status_of(directory: &Dir, name: &CStr) -> Option<Statx> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    statx(directory, name, flags, StatxFlags::INO | StatxFlags::BTIME | StatxFlags::MNT_ID).ok()
}

/// Compares the numbers of a listing with those of statx. Mount points are left out, whose listed number belongs to the directory below.
fn look_at_entries(directory: &Dir, own: &Statx, traits: &mut MountTraits) {
    let Ok(entries) = rustix::fs::Dir::read_from(directory) else { return };
    let is_dot = |name: &CStr| matches!(name.to_bytes(), b"." | b"..");
    let entries = entries.filter_map(Result::ok).filter(|entry| !is_dot(entry.file_name()));
    let is_fuse = directory.file_system() == FileSystem::Fuse;
    let (mut same, mut different, mut looked_up) = (0, 0, 0);
    for entry in entries.take(ENTRIES_MAX) {
        if is_fuse && entry.ino() == UNKNOWN_INODE {
            different += 1;
        }
        let Some(status) = status_of(directory, entry.file_name()) else { continue };
        let device = |status: &Statx| (status.stx_dev_major, status.stx_dev_minor, status.stx_mnt_id);
        if device(&status) != device(own) {
            continue;
        }
        let is_same = status.stx_ino == entry.ino();
        same += usize::from(is_same);
        different += usize::from(!is_same);
        let node = if is_fuse { fuse_node(directory.as_fd(), entry.file_name()).ok() } else { None };
        looked_up += usize::from(node == Some(status.stx_ino));
    }
    if different > 0 {
        traits.listed_inodes = ListedInodes::Different;
    } else if same > 0 {
        traits.listed_inodes = ListedInodes::Same;
    }
    if traits.inode_numbers == InodeNumbers::Unknown && is_fuse {
        match (different, same, looked_up) {
            (1.., _, _) | (_, _, 1..) => traits.inode_numbers = InodeNumbers::MadeUp,
            (0, 1.., 0) => traits.inode_numbers = InodeNumbers::Lasting,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{are_coarse, has_coarse_times};
    use crate::dir::Dir;

    #[test]
    fn times_of_fat_and_exfat_are_coarse_and_no_others() {
        assert!(are_coarse([0, 0, 0].into_iter()));
        assert!(are_coarse([0, 10_000_000, 990_000_000].into_iter()));
        assert!(!are_coarse([0, 0, 123_456_789].into_iter()), "btrfs, with one file of its own time");
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("f"), "x").unwrap();
        assert!(!has_coarse_times(&Dir::open(scratch.path()).unwrap()));
    }
}
