//! Features of a file system, as far as unprivileged users can read them. Names as in e2fsprogs
//! `lib/e2p/feature.c` and xfsprogs `xfs_info`.

use std::os::fd::BorrowedFd;

use megadir_sys::btrfs_info::file_system_identifier;
use megadir_sys::btrfs_search::BtrfsDirectory;
use megadir_sys::ext4_features::{self, Ext4Directory};
use megadir_sys::xfs_bulkstat::XfsDirectory;
use megadir_sys::xfs_geometry;

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
/// Bits of `XFS_FSOP_GEOM_FLAGS_*` that a file system is made with.
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

/// Returns the features of the file system of an open directory; `None` if it does not report them.
pub(crate) fn features(directory: BorrowedFd<'_>) -> Option<Vec<String>> {
    if let Ok(directory) = Ext4Directory::check(directory) {
        let masks = ext4_features::features(directory).ok()?;
        let words =
            [(masks.compat, EXT4_COMPAT), (masks.incompat, EXT4_INCOMPAT), (masks.ro_compat, EXT4_RO_COMPAT)];
        return Some(words.into_iter().flat_map(|(mask, names)| named(mask, names)).collect());
    }
    if let Ok(directory) = XfsDirectory::check(directory) {
        return Some(named(xfs_geometry::flags(directory).ok()?, XFS));
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

/// Returns the names of the set bits; unknown bits as numbers, since they may matter too.
fn named(mask: u32, names: &[(u32, &str)]) -> Vec<String> {
    let set = (0..u32::BITS).map(|place| 1 << place).filter(|bit| mask & bit != 0);
    let name = |bit: u32| names.iter().find(|(known, _)| *known == bit).map(|(_, name)| (*name).to_owned());
    set.map(|bit| name(bit).unwrap_or_else(|| format!("{bit:#x}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::{features, named};
    use megadir_testkit::mount::{BTRFS, EXT4, Mount, XFS};
    use megadir_testkit::require;
    use std::fs::File;
    use std::os::fd::AsFd;

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
