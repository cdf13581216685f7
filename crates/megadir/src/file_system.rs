//! Which file system a directory lies on.

use std::fmt;

/// The file systems that this library knows something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileSystem {
    /// ext2, ext3 and ext4, which share one magic number and, in today's kernels, one driver.
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
    /// FUSE, whatever is behind it.
    Fuse,
    /// f2fs.
    F2fs,
    /// FAT12, FAT16 and FAT32.
    Fat,
    /// exFAT.
    ExFat,
    /// NTFS, by a driver of the kernel (by ntfs-3g it is [`FileSystem::Fuse`]).
    Ntfs,
    /// ReFS, that of Dev Drives among others.
    Refs,
    /// ZFS.
    Zfs,
    /// Anything else, by its magic number; 0 where there is none.
    Other(u64),
}

/// Magic numbers of statfs(2) and the name the kernel gives the type.
const KNOWN: [(u64, FileSystem, &str); 16] = [
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
    (0x4d44, FileSystem::Fat, "vfat"),
    (0x2011_bab0, FileSystem::ExFat, "exfat"),
    (0x7366_746e, FileSystem::Ntfs, "ntfs"),
    (0x5346_544e, FileSystem::Ntfs, "ntfs"),
    // Windows only, where there are no such numbers: its boot sector's.
    (0x5346_6552, FileSystem::Refs, "refs"),
    (0x2fc1_2fc1, FileSystem::Zfs, "zfs"),
];

impl FileSystem {
    /// Returns the file system of an open file or directory.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(descriptor: std::os::fd::BorrowedFd<'_>) -> Self {
        match rustix::fs::fstatfs(descriptor) {
            Ok(status) => Self::from_magic(status.f_type as u64 & 0xffff_ffff),
            Err(_) => Self::unknown(),
        }
    }

    /// Returns the file system of an open file or directory; not told apart on this system.
    #[cfg(all(unix, not(target_os = "linux")))]
    pub(crate) fn of(_descriptor: std::os::fd::BorrowedFd<'_>) -> Self {
        Self::unknown()
    }

    /// Returns the file system of an open file or directory; one of another machine is [`FileSystem::Cifs`], whatever it is there.
    #[cfg(windows)]
    pub(crate) fn of(handle: std::os::windows::io::BorrowedHandle<'_>) -> Self {
        use megadir_sys::windows::{facts, volume_settings};
        if facts::is_remote(handle) {
            return Self::Cifs;
        }
        let told = volume_settings::volume(handle);
        Self::from_windows(&told.map_or_else(|_| String::new(), |told| told.file_system))
    }

    /// Returns the file system that Windows calls by a name such as `NTFS`.
    pub fn from_windows(name: &str) -> Self {
        match name.to_ascii_uppercase().as_str() {
            "NTFS" => Self::Ntfs,
            "REFS" => Self::Refs,
            "FAT" | "FAT32" => Self::Fat,
            "EXFAT" => Self::ExFat,
            _ => Self::unknown(),
        }
    }

    /// Returns the value for a file system that cannot be told.
    pub fn unknown() -> Self {
        Self::Other(0)
    }

    /// Returns the file system with a magic number of statfs(2).
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
