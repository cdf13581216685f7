//! Reads the facts about a directory on Linux, with or without privileges. The cost does not grow with the
//! directory, except that the kernel skips the empty blocks of a hollow one.

mod btrfs;
mod device;
mod entries;
mod ext4;
mod overlay;

use std::os::fd::AsFd;

use megadir_sys::btrfs_search::{BtrfsDirectory, subvolume};
use megadir_sys::quota::{Owner, project, quota};
use megadir_sys::xfs_bulkstat::{XfsDirectory, directory_block_bytes};
use rustix::fs::Stat;
use rustix::process::{getegid, geteuid};

use super::answer::Assumptions;
use super::basis::{Fact, Known, Span};
use super::facts::{AbsentNames, Details, Facts, Mount, Quota, QuotaOf, Space};
use super::sample::{Sample, facts};
use crate::dir::Dir;
use crate::error::{At, Result};
use crate::file_system::FileSystem;
use crate::mount_traits::MountTraits;

pub(super) fn visible(directory: &Dir, assumptions: &Assumptions<'_>) -> Result<Facts> {
    let mount = overlay::mount_of(directory);
    // The mount that is written to, which differs from the upper layer's of overlayfs.
    let is_read_only = MountTraits::of(directory).is_read_only;
    Ok(Facts { is_read_only, absent_names: AbsentNames::now(), ..of_mount(directory, assumptions, mount)? })
}

fn of_mount(directory: &Dir, assumptions: &Assumptions<'_>, mount: Option<Mount>) -> Result<Facts> {
    if directory.file_system() == FileSystem::Overlay {
        match overlay::upper(directory) {
            Ok(upper) => {
                let mut facts = of_layer(&upper.directory, assumptions, overlay::mount_of(&upper.directory))?;
                upper.adjust(&mut facts);
                if let Some(overlay::Lower { layers, are_all_merged }) = overlay::lower(directory) {
                    let lower =
                        layers.iter().map(|layer| of_layer(layer, assumptions, overlay::mount_of(layer)));
                    if let Ok(lower) = lower.collect::<Result<Vec<_>>>() {
                        upper.merge(&mut facts, lower, are_all_merged);
                    }
                }
                facts.path = directory.path().to_owned();
                facts.is_upper_layer = true;
                return Ok(facts);
            }
            Err(why) => {
                let mut facts = of_layer(directory, assumptions, mount)?;
                facts.details = Details::Overlay(why);
                return Ok(facts);
            }
        }
    }
    of_layer(directory, assumptions, mount)
}

/// Facts of one directory itself, without the layers of an overlay. A client of a network file system sees
/// the server's file system by its name only (`is_served`), and then knows nothing of its superblock. The
/// reserve for root counts as available if this process may use it. The sample of entries comes last, because
/// its cost depends on the facts found before.
fn of_layer(directory: &Dir, assumptions: &Assumptions<'_>, mount: Option<Mount>) -> Result<Facts> {
    let status = rustix::fs::fstat(directory).at("stat", directory.dir_path())?;
    let mut space = space(directory).at("statfs", directory.dir_path())?;
    let file_system = named_by(directory.file_system(), mount.as_ref());
    let is_served = file_system != directory.file_system();
    let details = match file_system {
        FileSystem::Ext4 if is_served => Details::Ext4(ext4::by_server()),
        FileSystem::Ext4 => Details::Ext4(ext4::details(directory, mount.as_ref(), status.st_dev)),
        FileSystem::Xfs => Details::Xfs(xfs_block(directory, &space)),
        FileSystem::Btrfs => {
            space.packed_bytes_max = btrfs::PACKED_BYTES;
            Details::Btrfs(btrfs::space(directory))
        }
        _ => Details::None,
    };
    if let Details::Ext4(ext4) = &details
        && !is_served
    {
        if let Some(blocks) = ext4::blocks_with_reserve(&space, mount.as_ref(), status.st_dev) {
            space.blocks_available = blocks;
        }
        if ext4.features.value.inline_data {
            space.inline_bytes_max = ext4::INLINE_BYTES;
        }
    }
    let mut looked =
        entries::look(directory, assumptions.count, &details, status.st_size as u64, space.block_bytes)?;
    let sample = match assumptions.like {
        Some(like) => Sample::of(like, Known::Given, &space)?,
        None => looked.sample(directory, &space)?,
    };
    Ok(Facts {
        file_system,
        details,
        directory_bytes: status.st_size as u64,
        links: u64::from(status.st_nlink as u32),
        inode: status.st_ino,
        entries: looked.entries,
        quotas: quotas(directory, file_system, &status),
        mount,
        ..facts(directory, assumptions, sample, space)
    })
}

/// By the type in the mount table: 9p passes the type of the host's file system through, and all FUSE servers have one type.
fn named_by(file_system: FileSystem, mount: Option<&Mount>) -> FileSystem {
    match (file_system, mount.map_or("", |mount| mount.kind.as_str())) {
        (_, "9p") => FileSystem::from_name("9p"),
        (FileSystem::Fuse, "fuse.ext4") => FileSystem::Ext4,
        (FileSystem::Fuse, "fuse.zfs") => FileSystem::Zfs,
        (FileSystem::Fuse, "fuseblk") => {
            mount.and_then(|mount| device::file_system_on(&mount.source)).unwrap_or(file_system)
        }
        _ => file_system,
    }
}

pub(super) fn space(directory: impl AsFd) -> std::result::Result<Space, rustix::io::Errno> {
    let of_type = rustix::fs::fstatfs(&directory)?;
    let status = rustix::fs::fstatvfs(&directory)?;
    Ok(Space {
        block_bytes: of_type.f_bsize as u64,
        unit_bytes: status.f_frsize,
        blocks: status.f_blocks,
        blocks_free: status.f_bfree,
        blocks_available: status.f_bavail,
        inodes: status.f_files,
        inodes_free: status.f_favail,
        name_bytes_max: status.f_namemax,
        ..Space::default()
    })
}

fn xfs_block(directory: &Dir, space: &Space) -> Fact<u64> {
    let queried = XfsDirectory::check(directory.as_fd()).and_then(directory_block_bytes);
    match queried {
        Ok(bytes) => Fact::new(u64::from(bytes), Known::Read, "XFS_IOC_FSGEOMETRY"),
        Err(_) => {
            Fact::new(space.block_bytes.max(4096), Known::Assumed, "the default directory blocks of mkfs.xfs")
        }
    }
}

fn span(estimate: &crate::estimate::Estimate) -> Span {
    Span { likely: estimate.entries, low: estimate.interval.0, high: estimate.interval.1 }
}

// Quotas that apply to new entries of this process: on btrfs from sysfs (Linux 5.9 and later), else by
// quotactl_fd(2) (Linux 5.14 and later).

const SET_GROUP_ID: u32 = 0o2000;

fn quotas(directory: &Dir, file_system: FileSystem, status: &Stat) -> Vec<Quota> {
    if file_system == FileSystem::Btrfs {
        return of_subvolume(directory).into_iter().collect();
    }
    let group = if status.st_mode & SET_GROUP_ID != 0 { status.st_gid } else { getegid().as_raw() };
    let mut owners = vec![
        (QuotaOf::User(geteuid().as_raw()), Owner::User(geteuid().as_raw())),
        (QuotaOf::Group(group), Owner::Group(group)),
    ];
    if let Ok(number @ 1..) = project(directory.as_fd()) {
        owners.push((QuotaOf::Project(number), Owner::Project(number)));
    }
    owners.into_iter().filter_map(|(of, owner)| of_owner(directory, of, owner)).collect()
}

fn of_owner(directory: &Dir, of: QuotaOf, owner: Owner) -> Option<Quota> {
    let found = quota(directory.as_fd(), owner).ok()?;
    let limited = |used, max| (max > 0).then_some((used, max));
    let (bytes, inodes) = (limited(found.bytes, found.bytes_max), limited(found.inodes, found.inodes_max));
    (bytes.is_some() || inodes.is_some()).then_some(Quota { of, bytes, inodes })
}

/// The nearer of its limits on referenced and on exclusive bytes.
fn of_subvolume(directory: &Dir) -> Option<Quota> {
    let on = BtrfsDirectory::check(directory.as_fd()).ok()?;
    let (folder, number) = (btrfs::folder(on)?, subvolume(on).ok()?);
    let group = folder.join(format!("qgroups/0_{number}"));
    let read = |name: &str| btrfs::number(&group, name);
    let limited = |used: &str, max: &str| match read(max)? {
        // 0 or, after removal of a limit, all ones.
        0 | u64::MAX => None,
        max => Some((read(used)?, max)),
    };
    let pairs = [limited("referenced", "max_referenced"), limited("exclusive", "max_exclusive")];
    let nearest = pairs.into_iter().flatten().min_by_key(|(used, max)| max.saturating_sub(*used))?;
    Some(Quota { of: QuotaOf::Subvolume(number), bytes: Some(nearest), inodes: None })
}

#[cfg(test)]
mod kinds {
    use super::*;

    #[test]
    fn the_mount_table_names_the_file_system_where_statfs_names_the_hosts_or_none() {
        let named = |file_system, kind: &str| {
            let mount =
                Mount { point: "/m".into(), kind: kind.into(), source: "x".into(), options: "rw".into() };
            named_by(file_system, Some(&mount)).to_string()
        };
        assert_eq!(named(FileSystem::Ext4, "9p"), "9p");
        assert_eq!(named(FileSystem::Fuse, "fuse.ext4"), "ext4");
        assert_eq!(named(FileSystem::Fuse, "fuse.zfs"), "zfs");
        assert_eq!(named(FileSystem::Fuse, "fuse.sshfs"), "fuse");
        assert_eq!(named(FileSystem::Ext4, "ext3"), "ext4");
        assert_eq!(named_by(FileSystem::Xfs, None), FileSystem::Xfs);
    }
}

#[cfg(test)]
mod tests;
