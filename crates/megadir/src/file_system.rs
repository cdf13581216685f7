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
    /// NetApp's WAFL, which lies behind NFS or SMB and is known only if it is stated.
    Wafl,
    /// Any other file system, by its magic number; 0 if it has none.
    Other(u64),
}

const KNOWN: [(u64, FileSystem, &str); 36] = [
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
    // No statfs reports this number of more than 32 bits: clients see a server.
    (1 << 32, FileSystem::Wafl, "wafl"),
    // Only `mount_traits` has rules for these.
    (0x0102_1997, FileSystem::Other(0x0102_1997), "9p"),
    (0x7371_7368, FileSystem::Other(0x7371_7368), "squashfs"),
    (0xe0f5_e1e2, FileSystem::Other(0xe0f5_e1e2), "erofs"),
    (0x9660, FileSystem::Other(0x9660), "iso9660"),
    (0x1501_3346, FileSystem::Other(0x1501_3346), "udf"),
    (0x137f, FileSystem::Other(0x137f), "minix"),
    (0x138f, FileSystem::Other(0x138f), "minix"),
    (0x2468, FileSystem::Other(0x2468), "minix"),
    (0x2478, FileSystem::Other(0x2478), "minix"),
    (0x4d5a, FileSystem::Other(0x4d5a), "minix"),
    (0x4244, FileSystem::Other(0x4244), "hfs"),
    (0x482b, FileSystem::Other(0x482b), "hfsplus"),
    (0x7461_636f, FileSystem::Other(0x7461_636f), "ocfs2"),
    (0x0116_1970, FileSystem::Other(0x0116_1970), "gfs2"),
    (0xca45_1a4e, FileSystem::Other(0xca45_1a4e), "bcachefs"),
    (0xf15f, FileSystem::Other(0xf15f), "ecryptfs"),
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

    /// Converts a name as displayed, e.g. `ext4`, or `file system 0x1234` without a name.
    pub fn from_name(name: &str) -> Self {
        if let Some(row) = KNOWN.iter().find(|row| row.2 == name) {
            return row.1;
        }
        let magic =
            name.strip_prefix("file system 0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        magic.map_or_else(Self::unknown, Self::from_magic)
    }

    /// File systems that have a name and that a mount can have.
    #[cfg(test)]
    pub(crate) fn named() -> impl Iterator<Item = Self> {
        KNOWN.iter().filter(|row| row.0 >> 32 == 0).map(|row| row.1)
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

#[cfg(test)]
mod tests {
    use super::FileSystem;

    #[test]
    fn a_displayed_name_is_converted_back() {
        for file_system in FileSystem::named().chain([FileSystem::Other(0x1234), FileSystem::unknown()]) {
            let name = file_system.to_string();
            assert_eq!(FileSystem::from_name(&name).to_string(), name);
        }
        // As displayed before it had a name.
        assert_eq!(FileSystem::from_name("file system 0x73717368").to_string(), "squashfs");
    }
}
