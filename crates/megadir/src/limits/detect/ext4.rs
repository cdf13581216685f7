//! ext4: flags of the directory, and features from `EXT4_IOC_GET_TUNE_SB_PARAM` (Linux 6.18 and later), else
//! from the superblock (readable by root), else the defaults of mke2fs since 2016.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use megadir_sys::ext4::{Ext4Directory, Features, features as features_by_ioctl};
use rustix::thread::{CapabilitySet, capabilities};

use crate::block_device;
use crate::dir::Dir;
use crate::ext4_disk::{SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, SuperblockFeatures, features, flags};
use crate::limits::basis::{Fact, Known};
use crate::limits::facts::{Ext4, Ext4Features, Mount, Space};

/// Values of `s_def_hash_version`.
const HASHES_LEGACY: [u8; 2] = [0, 3];
/// Always fit in the inode; inodes of 256 bytes hold up to 100 bytes more.
pub(super) const INLINE_BYTES: u64 = 60;

pub(super) fn details(directory: &Dir, mount: Option<&Mount>, device: u64) -> Ext4 {
    let own = rustix::fs::ioctl_getflags(directory.as_fd()).ok().map(|flags| flags.bits());
    let has = |flag| own.is_some_and(|own| own & flag != 0);
    Ext4 {
        features: known_features(directory, mount, device),
        indexed: own.map(|own| own & flags::INDEX != 0),
        casefolded: has(flags::CASEFOLD),
        encrypted: has(flags::ENCRYPTED),
    }
}

/// A server of user space has the format, but not the calls.
pub(super) fn by_server() -> Ext4 {
    let how = "features unknown behind FUSE; assuming the defaults of mke2fs since 2016";
    let features = Fact::new(Ext4Features::USUAL, Known::Assumed, how);
    Ext4 { features, indexed: None, casefolded: false, encrypted: false }
}

fn known_features(directory: &Dir, mount: Option<&Mount>, device: u64) -> Fact<Ext4Features> {
    let from_device = mount.map(|mount| superblock(&mount.source, device));
    if let Ok(masks) = Ext4Directory::check(directory.as_fd()).and_then(features_by_ioctl) {
        // Only the superblock has the hash version; assume half_md4, the default of mke2fs.
        let legacy_hash = from_device.is_some_and(|read| read.is_ok_and(|(_, legacy_hash)| legacy_hash));
        return Fact::new(decoded(masks, legacy_hash), Known::Read, "features by ioctl");
    }
    match from_device {
        Some(Ok((masks, legacy_hash))) => {
            Fact::new(decoded(masks, legacy_hash), Known::Read, "features from the superblock")
        }
        _ => Fact::new(
            Ext4Features::USUAL,
            Known::Assumed,
            "features unknown before Linux 6.18 (root reads the superblock); assuming the defaults of mke2fs since 2016",
        ),
    }
}

fn decoded(masks: Features, legacy_hash: bool) -> Ext4Features {
    Ext4Features {
        dir_index: masks.compat & features::DIR_INDEX != 0,
        large_dir: masks.incompat & features::LARGEDIR != 0,
        metadata_csum: masks.ro_compat & features::METADATA_CSUM != 0,
        dir_nlink: masks.ro_compat & features::DIR_NLINK != 0,
        inline_data: masks.incompat & features::INLINE_DATA != 0,
        legacy_hash,
    }
}

/// Including root's reserve; `None` if this process may not use it (`ext4_has_free_clusters`). ext4's own reserve is for no process.
pub(super) fn blocks_with_reserve(space: &Space, mount: Option<&Mount>, device: u64) -> Option<u64> {
    let number = |name| mount.and_then(|mount| mount.option(name)).and_then(|text| text.parse::<u32>().ok());
    // In a user namespace capabilities do not count either.
    if !block_device::has_its_numbers() {
        return None;
    }
    let owns = rustix::process::geteuid().as_raw() == number("resuid").unwrap_or(0);
    let in_group = number("resgid").filter(|group| *group != 0).is_some_and(|group| {
        let of = |gid: &rustix::process::Gid| gid.as_raw() == group;
        of(&rustix::process::getegid()) || rustix::process::getgroups().is_ok_and(|all| all.iter().any(of))
    });
    let is_privileged =
        || capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_RESOURCE));
    if !owns && !in_group && !is_privileged() {
        return None;
    }
    let kept = reserved_clusters(device).unwrap_or_else(|| crate::limits::room::ext4_reserve(space));
    Some(space.blocks_free.saturating_sub(kept).max(space.blocks_available))
}

fn reserved_clusters(device: u64) -> Option<u64> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let path = std::path::Path::new("/sys/fs/ext4").join(link.file_name()?).join("reserved_clusters");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Features, and `true` if the hash of directories is a legacy one.
fn superblock(source: &str, device: u64) -> io::Result<(Features, bool)> {
    let file = block_device::open(source.as_ref(), device)?;
    let mut block = [0; SUPERBLOCK_BYTES];
    file.read_exact_at(&mut block, SUPERBLOCK_OFFSET)?;
    let none = || io::Error::new(io::ErrorKind::InvalidData, "not an ext4 superblock");
    let SuperblockFeatures { masks, hash_version } = SuperblockFeatures::decode(&block).ok_or_else(none)?;
    Ok((masks, HASHES_LEGACY.contains(&hash_version)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use megadir_testkit::mount::{self, Mount as Made, Recipe};
    use megadir_testkit::require;

    /// Features that differ from the usual ones, all four.
    const UNUSUAL: Recipe = Recipe {
        name: "ext4 with unusual features",
        mkfs: &["mkfs.ext4", "-q", "-F", "-O", "^dir_index,large_dir,^metadata_csum,^dir_nlink"],
        image_bytes: 64 << 20,
        ..mount::EXT4
    };

    #[test]
    fn superblock_and_ioctl_agree() {
        for (recipe, expected) in [
            (mount::EXT4, Ext4Features::USUAL),
            (
                UNUSUAL,
                Ext4Features {
                    dir_index: false,
                    large_dir: true,
                    metadata_csum: false,
                    dir_nlink: false,
                    ..Ext4Features::USUAL
                },
            ),
        ] {
            let made = require!(Made::make(&recipe));
            let directory = Dir::open(made.path()).unwrap();
            let device = std::fs::metadata(made.path()).unwrap().dev();
            let mount = super::super::overlay::mount_of(&directory).unwrap();
            let (read, legacy_hash) = superblock(&mount.source, device).unwrap();
            assert_eq!(decoded(read, legacy_hash), expected, "{}", recipe.name);
            // Kernels before 6.18 have only the superblock.
            if let Ok(masks) = Ext4Directory::check(directory.as_fd()).and_then(features_by_ioctl) {
                assert_eq!(masks, read);
            }
            assert!(superblock(&mount.source, device + 1).is_err());
            assert!(superblock("/dev/null", device).is_err());
        }
    }
}
