//! Evidence that inode numbers and times of a file system give.

use megadir::FileSystem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// Birth times are not needed. True for NTFS under Windows: numbers include a sequence number, and birth
    /// times can be set and are inherited by a new file of the same name ("tunneling"). False for ReFS, whose
    /// listed 64 bits need not be unique, and FAT.
    pub(crate) unique_numbers: bool,
    /// Directory times are current wherever they are read. Listings on Windows may have older ones.
    pub(crate) directory_times: bool,
    /// Subvolume stubs are possible, see [`crate::volumes::is_stub`].
    pub(crate) stubs: bool,
}

impl Proof {
    pub(crate) const COMMON: Self =
        Self { unique_numbers: false, directory_times: !cfg!(windows), stubs: false };

    pub(crate) fn of(file_system: FileSystem) -> Self {
        let unique_numbers = cfg!(windows) && file_system == FileSystem::Ntfs;
        Self { unique_numbers, stubs: file_system == FileSystem::Btrfs, ..Self::COMMON }
    }
}
