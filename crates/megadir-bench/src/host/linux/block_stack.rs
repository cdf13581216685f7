//! The block devices below a file system, from `/sys`, never their serial numbers; and features of the file system.
//!
//! ```text
//!  loop0 (loop device on a file) -> dm-0 (lvm) -> nvme0n1p2 (partition) -> nvme0n1 (model, size, scheduler)
//! ```
//!
//! Every layer can change the result: a file system on a loop device on ext4 is also a measurement of ext4.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use megadir_sys::btrfs_search::{BtrfsDirectory, file_system_identifier};
use megadir_sys::ext4::Ext4Directory;
use megadir_sys::xfs_bulkstat::XfsDirectory;
use megadir_sys::{ext4, xfs_bulkstat};

use crate::host::named;

/// Bound for stacks that refer to themselves.
const DEPTH_MAX: usize = 8;

pub(crate) fn block_stack(major: u32, minor: u32) -> Vec<String> {
    let mut words = Vec::new();
    if let Ok(path) = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) {
        add(&path, &mut words, 0);
    }
    words
}

/// Adds a device and, below it, the disk of a partition, the members of a mapped device or an array, and
/// the device under the file of a loop device.
fn add(path: &Path, words: &mut Vec<String>, depth: usize) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let described = describe(path, name);
    if depth >= DEPTH_MAX || words.contains(&described) {
        return;
    }
    words.push(described);
    if path.join("partition").exists() {
        path.parent().into_iter().for_each(|disk| add(disk, words, depth + 1));
    }
    let slaves = std::fs::read_dir(path.join("slaves")).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> =
        slaves.filter_map(|slave| std::fs::canonicalize(slave.path()).ok()).collect();
    below.sort_unstable();
    below.iter().for_each(|device| add(device, words, depth + 1));
    if let Some(file) = crate::host::linux::read(path.join("loop/backing_file"))
        && let Ok(status) = rustix::fs::stat(file.as_str())
    {
        let (major, minor) = (rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev));
        match std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) {
            Ok(device) => add(&device, words, depth + 1),
            Err(_) => words.push("a file system without a block device".to_owned()),
        }
    }
}

/// One device in words. Attributes that a partition lacks are read from its disk.
fn describe(path: &Path, name: &str) -> String {
    let attribute = |file: &str| crate::host::linux::read(path.join(file));
    let of_disk =
        |file: &str| attribute(file).or_else(|| crate::host::linux::read(path.parent()?.join(file)));
    let kind = if path.join("loop").exists() {
        Some("loop device on a file".to_owned())
    } else if path.join("partition").exists() {
        Some("partition".to_owned())
    } else {
        // device-mapper UUIDs: `LVM-...`, `CRYPT-LUKS2-...`; the kind comes first, the rest is an identifier.
        let mapped = attribute("dm/uuid").and_then(|uuid| Some(uuid.split('-').next()?.to_lowercase()));
        mapped.or_else(|| attribute("md/level")).or_else(|| attribute("device/model"))
    };
    let sectors = attribute("size").and_then(|sectors| sectors.parse::<u64>().ok());
    let size = sectors.map(|sectors| format!("{:.1} GiB", sectors as f64 / f64::from(1 << 21)));
    let turns =
        of_disk("queue/rotational").map(|turns| if turns == "1" { "rotational" } else { "not rotational" });
    let chosen = |list: String| Some(list.split_once('[')?.1.split_once(']')?.0.to_owned());
    let scheduler = of_disk("queue/scheduler").and_then(|list| Some(format!("scheduler {}", chosen(list)?)));
    let facts = [kind, size, turns.map(str::to_owned), scheduler];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    format!("{name} ({})", facts.join(", "))
}

/// Bits of `s_feature_compat`, `s_feature_incompat` and `s_feature_ro_compat`.
const EXT4_COMPAT: &[(u32, &str)] = &[
    (0x1, "dir_prealloc"),
    (0x4, "has_journal"),
    (0x8, "ext_attr"),
    (0x10, "resize_inode"),
    (0x20, "dir_index"),
    (0x200, "sparse_super2"),
    (0x400, "fast_commit"),
    (0x800, "stable_inodes"),
    (0x1000, "orphan_file"),
];
const EXT4_INCOMPAT: &[(u32, &str)] = &[
    (0x2, "filetype"),
    (0x4, "needs_recovery"),
    (0x8, "journal_dev"),
    (0x10, "meta_bg"),
    (0x40, "extent"),
    (0x80, "64bit"),
    (0x100, "mmp"),
    (0x200, "flex_bg"),
    (0x400, "ea_inode"),
    (0x1000, "dirdata"),
    (0x2000, "metadata_csum_seed"),
    (0x4000, "large_dir"),
    (0x8000, "inline_data"),
    (0x1_0000, "encrypt"),
    (0x2_0000, "casefold"),
];
const EXT4_RO_COMPAT: &[(u32, &str)] = &[
    (0x1, "sparse_super"),
    (0x2, "large_file"),
    (0x8, "huge_file"),
    (0x10, "uninit_bg"),
    (0x20, "dir_nlink"),
    (0x40, "extra_isize"),
    (0x100, "quota"),
    (0x200, "bigalloc"),
    (0x400, "metadata_csum"),
    (0x1000, "read-only"),
    (0x2000, "project"),
    (0x8000, "verity"),
    (0x1_0000, "orphan_present"),
];
const XFS: &[(u32, &str)] = &[
    (0x1, "attr"),
    (0x2, "nlink"),
    (0x4, "quota"),
    (0x8, "inalignment"),
    (0x80, "dirv2"),
    (0x100, "logv2"),
    (0x200, "sector"),
    (0x400, "attr2"),
    (0x800, "projid32bit"),
    (0x1000, "dirv2ci"),
    (0x4000, "lazy-count"),
    (0x8000, "crc"),
    (0x1_0000, "ftype"),
    (0x2_0000, "finobt"),
    (0x4_0000, "sparse"),
    (0x8_0000, "rmapbt"),
    (0x10_0000, "reflink"),
    (0x20_0000, "bigtime"),
    (0x40_0000, "inobtcount"),
    (0x80_0000, "nrext64"),
    (0x100_0000, "exchange"),
    (0x200_0000, "parent"),
    (0x400_0000, "metadir"),
];

/// Features of the mounted file system by the names that its own tools use, since they decide how
/// directories are stored (`dir_index`, `ftype`). `None` for file systems without such a call.
pub(crate) fn features(directory: BorrowedFd<'_>) -> Option<Vec<String>> {
    if let Ok(directory) = Ext4Directory::check(directory) {
        let masks = ext4::features(directory).ok()?;
        let words =
            [(masks.compat, EXT4_COMPAT), (masks.incompat, EXT4_INCOMPAT), (masks.ro_compat, EXT4_RO_COMPAT)];
        return Some(words.into_iter().flat_map(|(mask, names)| named(mask, names)).collect());
    }
    if let Ok(directory) = XfsDirectory::check(directory) {
        return Some(named(xfs_bulkstat::flags(directory).ok()?, XFS));
    }
    let id = file_system_identifier(BtrfsDirectory::check(directory).ok()?).ok()?;
    let digits: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = digits.concat();
    let uuid = format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]);
    let entries = std::fs::read_dir(format!("/sys/fs/btrfs/{uuid}/features")).ok()?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Some(names)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use megadir_testkit::mount::{BTRFS, EXT4, Mount, XFS};
    use megadir_testkit::require;

    use super::{block_stack, features, named};

    #[test]
    fn loop_device_description_includes_the_device_below() {
        let mount = require!(Mount::make(&EXT4));
        let device = rustix::fs::stat(mount.path()).unwrap().st_dev;
        let stack = block_stack(rustix::fs::major(device), rustix::fs::minor(device));
        assert!(stack.len() >= 2 && stack[0].starts_with("loop"), "{stack:?}");
        assert!(stack[0].contains("loop device on a file, ") && stack[0].contains("GiB"), "{stack:?}");
        assert!(stack.iter().all(|device| !device.contains('/')), "{stack:?}");
        assert!(block_stack(0, 0).is_empty());
    }

    #[test]
    fn bits_without_a_name_are_returned_too() {
        assert_eq!(named(0x8000_0022, super::EXT4_COMPAT), ["0x2", "dir_index", "0x80000000"]);
    }

    #[test]
    fn features_of_a_new_file_system_are_read() {
        for (kind, feature) in [(&EXT4, "dir_index"), (&XFS, "crc"), (&BTRFS, "extended_iref")] {
            let mount = require!(Mount::make(kind));
            let found = features(File::open(mount.path()).unwrap().as_fd());
            let found = found.unwrap_or_else(|| panic!("no features of {}", mount.path().display()));
            assert!(found.iter().any(|name| name == feature), "{feature}: {found:?}");
        }
        assert_eq!(features(File::open("/proc").unwrap().as_fd()), None);
    }
}
