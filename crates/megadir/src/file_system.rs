//! File systems that the library distinguishes.

use std::fmt;

/// Type of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileSystem {
    /// ext2, ext3 or ext4, which share a magic number and, in current kernels, a driver.
    Ext4,
    /// XFS.
    Xfs,
    /// btrfs.
    Btrfs,
    /// tmpfs.
    Tmpfs,
    /// overlayfs.
    Overlay,
    /// NFS.
    Nfs,
    /// CIFS or SMB.
    Cifs,
    /// FUSE, with any server.
    Fuse,
    /// f2fs.
    F2fs,
    /// JFS.
    Jfs,
    /// ReiserFS, version 3.
    Reiserfs,
    /// NILFS2.
    Nilfs2,
    /// FAT12, FAT16 and FAT32.
    Fat,
    /// exFAT.
    ExFat,
    /// NTFS by a kernel driver; ntfs-3g is [`FileSystem::Fuse`].
    Ntfs,
    /// ReFS, also used by Dev Drives.
    Refs,
    /// ZFS.
    Zfs,
    /// Any other file system, by its magic number; 0 if it has none.
    Other(u64),
}

const KNOWN: [(u64, FileSystem, &str); 19] = [
    (0xef53, FileSystem::Ext4, "ext4"),
    (0x5846_5342, FileSystem::Xfs, "xfs"),
    (0x9123_683e, FileSystem::Btrfs, "btrfs"),
    (0x0102_1994, FileSystem::Tmpfs, "tmpfs"),
    (0x794c_7630, FileSystem::Overlay, "overlay"),
    (0x6969, FileSystem::Nfs, "nfs"),
    (0xff53_4d42, FileSystem::Cifs, "cifs"),
    (0xfe53_4d42, FileSystem::Cifs, "cifs"),
    (0x6573_5546, FileSystem::Fuse, "fuse"),
    (0xf2f5_2010, FileSystem::F2fs, "f2fs"),
    (0x3153_464a, FileSystem::Jfs, "jfs"),
    (0x5265_4973, FileSystem::Reiserfs, "reiserfs"),
    (0x3434, FileSystem::Nilfs2, "nilfs2"),
    (0x4d44, FileSystem::Fat, "vfat"),
    (0x2011_bab0, FileSystem::ExFat, "exfat"),
    (0x7366_746e, FileSystem::Ntfs, "ntfs"),
    (0x5346_544e, FileSystem::Ntfs, "ntfs"),
    // From the boot sector, since Windows has no such numbers.
    (0x5346_6552, FileSystem::Refs, "refs"),
    (0x2fc1_2fc1, FileSystem::Zfs, "zfs"),
];

impl FileSystem {
    #[cfg(target_os = "linux")]
    pub(crate) fn of(descriptor: std::os::fd::BorrowedFd<'_>) -> Self {
        match rustix::fs::fstatfs(descriptor) {
            Ok(status) => Self::from_magic(status.f_type as u64 & 0xffff_ffff),
            Err(_) => Self::unknown(),
        }
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    pub(crate) fn of(_descriptor: std::os::fd::BorrowedFd<'_>) -> Self {
        Self::unknown()
    }

    #[cfg(windows)]
    pub(crate) fn of(handle: std::os::windows::io::BorrowedHandle<'_>) -> Self {
        use megadir_sys::windows::{facts, volume};
        if facts::is_remote(handle) {
            return Self::Cifs;
        }
        let volume = volume::of(handle);
        Self::from_windows(&volume.map_or_else(|_| String::new(), |volume| volume.file_system))
    }

    /// Converts a Windows name such as `NTFS`.
    pub fn from_windows(name: &str) -> Self {
        match name.to_ascii_uppercase().as_str() {
            "NTFS" => Self::Ntfs,
            "REFS" => Self::Refs,
            "FAT" | "FAT32" => Self::Fat,
            "EXFAT" => Self::ExFat,
            _ => Self::unknown(),
        }
    }

    /// Converts a name as displayed, e.g. `ext4`.
    pub fn from_name(name: &str) -> Self {
        KNOWN.iter().find(|row| row.2 == name).map_or_else(Self::unknown, |row| row.1)
    }

    /// An unidentified file system.
    pub fn unknown() -> Self {
        Self::Other(0)
    }

    /// Converts a magic number of statfs(2).
    pub fn from_magic(magic: u64) -> Self {
        KNOWN.iter().find(|row| row.0 == magic).map_or(Self::Other(magic), |row| row.1)
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, KNOWN.iter().find(|row| row.1 == *self)) {
            (_, Some(row)) => f.write_str(row.2),
            (Self::Other(magic), None) if *magic != 0 => write!(f, "file system {magic:#x}"),
            _ => f.write_str("unknown file system"),
        }
    }
}
