//! ext4: flags of the directory, and features from `EXT4_IOC_GET_TUNE_SB_PARAM` (Linux 6.18 and later), else
//! from the superblock (readable by root), else the defaults of mke2fs since 2016.

use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;

use megadir_sys::ext4::{Ext4Directory, Features, features};

use crate::block_device;
use crate::dir::Dir;
use crate::limits::basis::{Fact, Known};
use crate::limits::facts::{Ext4, Ext4Features, Mount, Space};

/// `EXT4_INDEX_FL`.
const INDEXED: u32 = 0x1000;
/// `EXT4_CASEFOLD_FL`.
const CASEFOLDED: u32 = 0x4000_0000;
/// `EXT4_ENCRYPT_FL`.
const ENCRYPTED: u32 = 0x800;

const COMPAT_DIR_INDEX: u32 = 0x20;
const INCOMPAT_LARGE_DIR: u32 = 0x4000;
const RO_COMPAT_DIR_NLINK: u32 = 0x20;
const RO_COMPAT_METADATA_CSUM: u32 = 0x400;
const INCOMPAT_INLINE_DATA: u32 = 0x8000;

const SUPERBLOCK_AT: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 256;
/// `s_def_hash_version`; 0 and 3 are legacy.
const HASH_AT: usize = 252;
const HASHES_LEGACY: [u8; 2] = [0, 3];
/// Always fit in the inode; inodes of 256 bytes hold up to 100 bytes more.
pub(super) const INLINE_BYTES: u64 = 60;
const MAGIC_AT: usize = 56;
const MAGIC: u16 = 0xef53;
const COMPAT_AT: usize = 92;

pub(super) fn details(directory: &Dir, mount: Option<&Mount>, device: u64) -> Ext4 {
    let flags = rustix::fs::ioctl_getflags(directory.as_fd()).ok().map(|flags| flags.bits());
    let has = |flag| flags.is_some_and(|flags| flags & flag != 0);
    Ext4 {
        features: known_features(directory, mount, device),
        indexed: flags.map(|flags| flags & INDEXED != 0),
        casefolded: has(CASEFOLDED),
        encrypted: has(ENCRYPTED),
    }
}

fn known_features(directory: &Dir, mount: Option<&Mount>, device: u64) -> Fact<Ext4Features> {
    let from_device = mount.map(|mount| superblock(&mount.source, device));
    if let Ok(masks) = Ext4Directory::check(directory.as_fd()).and_then(features) {
        // Only the superblock has the hash version; assume half_md4, the default of mke2fs.
        let legacy_hash = matches!(from_device, Some(Ok(Superblock { legacy_hash: true, .. })));
        return Fact::new(decoded(masks, legacy_hash), Known::Read, "features by ioctl");
    }
    match from_device {
        Some(Ok(block)) => {
            Fact::new(decoded(block.masks, block.legacy_hash), Known::Read, "features from the superblock")
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
        dir_index: masks.compat & COMPAT_DIR_INDEX != 0,
        large_dir: masks.incompat & INCOMPAT_LARGE_DIR != 0,
        metadata_csum: masks.ro_compat & RO_COMPAT_METADATA_CSUM != 0,
        dir_nlink: masks.ro_compat & RO_COMPAT_DIR_NLINK != 0,
        inline_data: masks.incompat & INCOMPAT_INLINE_DATA != 0,
        legacy_hash,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Superblock {
    masks: Features,
    legacy_hash: bool,
}

/// Including root's reserve; `None` if this process may not use it (`ext4_has_free_clusters`). ext4's own
/// reserve is for no process.
pub(super) fn blocks_with_reserve(space: &Space, mount: Option<&Mount>, device: u64) -> Option<u64> {
    let number = |name| mount.and_then(|mount| mount.option(name)).and_then(|text| text.parse::<u32>().ok());
    // In a user namespace IDs differ from the disk, and capabilities do not count.
    let map = std::fs::read_to_string("/proc/thread-self/uid_map").unwrap_or_default();
    let mut map = map.split_whitespace();
    if (map.next(), map.next()) != (Some("0"), Some("0")) {
        return None;
    }
    let owns = rustix::process::geteuid().as_raw() == number("resuid").unwrap_or(0);
    let in_group = number("resgid").filter(|group| *group != 0).is_some_and(|group| {
        let of = |one: &rustix::process::Gid| one.as_raw() == group;
        of(&rustix::process::getegid()) || rustix::process::getgroups().is_ok_and(|all| all.iter().any(of))
    });
    if !owns && !in_group && !has_sys_resource() {
        return None;
    }
    let kept = reserved_clusters(device).unwrap_or_else(|| crate::limits::room::ext4_reserve(space));
    Some(space.blocks_free.saturating_sub(kept).max(space.blocks_available))
}

fn has_sys_resource() -> bool {
    const CAP_SYS_RESOURCE: u64 = 1 << 24;
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & CAP_SYS_RESOURCE != 0)
}

fn reserved_clusters(device: u64) -> Option<u64> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let path = std::path::Path::new("/sys/fs/ext4").join(link.file_name()?).join("reserved_clusters");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn superblock(source: &str, device: u64) -> io::Result<Superblock> {
    let mut file = block_device::open(source.as_ref(), device)?;
    let mut block = [0; SUPERBLOCK_BYTES];
    file.seek(SeekFrom::Start(SUPERBLOCK_AT))?;
    file.read_exact(&mut block)?;
    let legacy_hash = HASHES_LEGACY.contains(&block[HASH_AT]);
    let block = masks(&block).map(|masks| Superblock { masks, legacy_hash });
    block.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not an ext4 superblock"))
}

fn masks(block: &[u8; SUPERBLOCK_BYTES]) -> Option<Features> {
    let mask = |at: usize| Some(u32::from_le_bytes(*block.get(at..)?.first_chunk()?));
    let magic = u16::from_le_bytes(*block.get(MAGIC_AT..)?.first_chunk()?);
    if magic != MAGIC {
        return None;
    }
    Some(Features {
        compat: mask(COMPAT_AT)?,
        incompat: mask(COMPAT_AT + 4)?,
        ro_compat: mask(COMPAT_AT + 8)?,
    })
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
    fn the_superblock_says_what_the_ioctl_says() {
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
            let read = superblock(&mount.source, device).unwrap();
            assert_eq!(decoded(read.masks, read.legacy_hash), expected, "{}", recipe.name);
            // Kernels before 6.18 have only the superblock.
            if let Ok(masks) = Ext4Directory::check(directory.as_fd()).and_then(features) {
                assert_eq!(masks, read.masks);
            }
            assert!(superblock(&mount.source, device + 1).is_err());
            assert!(superblock("/dev/null", device).is_err());
        }
    }

    #[test]
    fn what_is_no_superblock_is_refused() {
        let mut block = [0; SUPERBLOCK_BYTES];
        assert_eq!(masks(&block), None);
        block[MAGIC_AT..MAGIC_AT + 2].copy_from_slice(&MAGIC.to_le_bytes());
        block[COMPAT_AT..COMPAT_AT + 12].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(masks(&block), Some(Features { compat: 1, incompat: 2, ro_compat: 3 }));
    }
}
