//! The file system on a device, for servers that the mount table names only by their being on a device (`fuseblk`): by the first
//! blocks, which root may read, or in the record that udev made when the device appeared.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use crate::file_system::FileSystem;

/// Boot sector of NTFS and exFAT, and the superblock of ext4 at 1024.
const BYTES: usize = 2048;
const EXT_MAGIC_AT: usize = 1024 + 56;
const EXT_MAGIC: [u8; 2] = [0x53, 0xef];

pub(super) fn file_system_on(source: &str) -> Option<FileSystem> {
    let status = std::fs::metadata(source).ok()?;
    if !status.file_type().is_block_device() {
        return None;
    }
    let mut first = [0; BYTES];
    match File::open(source).and_then(|mut device| device.read_exact(&mut first)) {
        Ok(()) => of_blocks(&first),
        Err(_) => {
            let (major, minor) = (rustix::fs::major(status.rdev()), rustix::fs::minor(status.rdev()));
            of_udev(&std::fs::read_to_string(format!("/run/udev/data/b{major}:{minor}")).ok()?)
        }
    }
}

fn of_blocks(first: &[u8; BYTES]) -> Option<FileSystem> {
    match &first[3..11] {
        b"NTFS    " => Some(FileSystem::Ntfs),
        b"EXFAT   " => Some(FileSystem::ExFat),
        _ => (first[EXT_MAGIC_AT..EXT_MAGIC_AT + 2] == EXT_MAGIC).then_some(FileSystem::Ext4),
    }
}

fn of_udev(record: &str) -> Option<FileSystem> {
    match record.lines().find_map(|line| line.strip_prefix("E:ID_FS_TYPE="))? {
        "ntfs" => Some(FileSystem::Ntfs),
        "exfat" => Some(FileSystem::ExFat),
        "ext2" | "ext3" | "ext4" => Some(FileSystem::Ext4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, EXT_MAGIC, EXT_MAGIC_AT, of_blocks, of_udev};
    use crate::file_system::FileSystem;

    #[test]
    fn a_device_is_known_by_its_first_blocks_or_by_udev() {
        let with = |at: usize, bytes: &[u8]| {
            let mut first = [0; BYTES];
            first[at..at + bytes.len()].copy_from_slice(bytes);
            of_blocks(&first)
        };
        assert_eq!(with(3, b"NTFS    "), Some(FileSystem::Ntfs));
        assert_eq!(with(3, b"EXFAT   "), Some(FileSystem::ExFat));
        assert_eq!(with(EXT_MAGIC_AT, &EXT_MAGIC), Some(FileSystem::Ext4));
        assert_eq!(with(3, b"MSDOS5.0"), None);
        assert_eq!(of_udev("S:disk\nE:ID_FS_TYPE=ntfs\nE:ID_FS_UUID=1"), Some(FileSystem::Ntfs));
        assert_eq!(of_udev("E:ID_FS_TYPE=zfs_member"), None);
        assert_eq!(of_udev("E:ID_PART=1"), None);
    }
}
