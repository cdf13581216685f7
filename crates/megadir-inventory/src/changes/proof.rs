//! What the numbers and times of a file system prove.

use megadir::FileSystem;

/// What is relied on when two rows are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// A file's number is not given to another file once it is gone, so that it alone tells who is who, and the time of
    /// birth says nothing.
    ///
    /// So it is on NTFS as Windows shows it: the number holds how often its place in the master file table was given away
    /// (16 bits). The time of birth can be set there like any other, and a file that takes the name of one that has
    /// gone within 15 s is given that one's ("tunneling", by which editors keep it), so files that swap their
    /// names would seem to be others. On ReFS the 64 bits that listings tell need not be unique, on FAT they are a place.
    pub(crate) unique_numbers: bool,
    /// The times of a directory are those of its last change wherever they are asked for. On Windows a listing has them as
    /// of the last time that the entry was brought up to date, which may be before names in the directory changed.
    pub(crate) directory_times: bool,
    /// There may be stubs of subvolumes, see [`crate::volumes::is_stub`].
    pub(crate) stubs: bool,
}

impl Proof {
    /// What holds where nothing is known.
    pub(crate) const COMMON: Self =
        Self { unique_numbers: false, directory_times: !cfg!(windows), stubs: false };

    pub(crate) fn of(file_system: FileSystem) -> Self {
        let unique_numbers = cfg!(windows) && file_system == FileSystem::Ntfs;
        Self { unique_numbers, stubs: file_system == FileSystem::Btrfs, ..Self::COMMON }
    }
}
