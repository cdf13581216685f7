//! Table of what a mount can be trusted with: its inode numbers, its clock, its count of inodes, and what its system calls do.
//!
//! The table is keyed by the type in the mount table (`fuse.sshfs`, `9p`), because statfs(2) is no evidence: 9p passes the number of
//! the host's file system through, and every FUSE server has the same one. Where a server is not in the table, its inode numbers are
//! observed (`observe.rs`). Other modules query this table instead of having rules of their own.
//!
//! `changes`, `limits`, `reshard`, `remove --dry-run`, `list --json` and `doctor` query it.

#[cfg(target_os = "linux")]
mod observe;
#[cfg(target_os = "linux")]
mod source;
mod table;

use std::fmt;

#[cfg(target_os = "linux")]
pub(crate) use self::observe::{is_read_only, removed_open};
pub use self::table::ROWS;
use crate::dir::Dir;
use crate::file_system::FileSystem;

/// Facts about a mount: its row of the table, completed by observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MountTraits {
    /// Types in the mount table that the row describes; empty if the table has no such type.
    pub drivers: &'static [&'static str],
    /// Evidence that inode numbers give of a file.
    pub inode_numbers: InodeNumbers,
    /// Agreement of the inode numbers of listings and of stat(2).
    pub listed_inodes: ListedInodes,
    /// Files have a time of birth; `None` if that depends on the file system and was not observed.
    pub birth_times: Option<bool>,
    /// Clock that stamps files.
    pub clock: Clock,
    /// Meaning of the number of inodes in statfs(2).
    pub inode_count: InodeCount,
    /// Nothing can be changed through this mount.
    pub is_read_only: bool,
    /// `renameat2` takes `RENAME_NOREPLACE`; `None` if that has to be tried.
    pub renames_without_replacing: Option<bool>,
    /// `renameat2` takes `RENAME_EXCHANGE`; `None` if that has to be tried.
    pub exchanges: Option<bool>,
    /// An open directory can be read again from its start. `remove` opens directories again, whatever the mount.
    pub rewinds: bool,
    /// Fate of a file that is removed while a process has it open.
    pub removed_open: RemovedOpen,
    /// Attributes are also current when they are queried with `AT_STATX_DONT_SYNC`, which permits the cache of a client.
    pub is_current_unsynced: bool,
    /// Attributes that came with a listing contain the number of hard links.
    pub has_link_counts: bool,
    /// Effect of renaming a directory on its mtime and on its entries.
    pub directory_rename: DirectoryRename,
    /// The time of change (ctime) is stored. exFAT has no room for it: after a remount it is the mtime.
    pub stores_change_times: bool,
    /// A directory keeps its time of birth. Linux's exFAT sets it to the current time whenever an entry of the directory is renamed
    /// (6.1 and 6.12).
    pub directory_births_last: bool,
    /// A directory keeps its times. fuse-zip and ratarmount give the root of the mount the time of mounting, rclone a directory the time
    /// at which it read it.
    pub directory_times_last: bool,
    /// A create or a failing look-up searches a directory name by name.
    pub searches_linearly: bool,
}

/// Evidence that inode numbers give of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeNumbers {
    /// A file keeps its number over remounts.
    Lasting,
    /// Numbers are assigned when a file enters a cache, and change after a remount or under memory pressure.
    MadeUp,
    /// Numbers follow from the path: a renamed file has another.
    OfPaths,
    /// Not in the table, and nothing was observed.
    Unknown,
}

/// Agreement of the inode numbers of listings and of stat(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedInodes {
    /// The same number.
    Same,
    /// Listings contain other numbers, or the same constant for all entries.
    Different,
    /// Not in the table, and nothing was observed.
    Unknown,
}

/// Clock that stamps files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The clock of this machine.
    Own {
        /// Precision of the stored times, nanoseconds.
        stored_ns: u64,
    },
    /// The clock of a server, or an unknown one.
    Servers,
    /// No file can change: the format is read-only.
    Stopped,
}

/// Meaning of the number of inodes in statfs(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeCount {
    /// A count, or on XFS the maximum that the free blocks permit.
    Counted,
    /// An upper bound, since the blocks are also needed for other things. In filled images of F2FS, UDF and JFS, 2 to 14 % fewer
    /// entries fit.
    OfFreeBlocks,
    /// A constant, or whatever a server reports: rclone 10^9 with none free, exfat-fuse the free clusters, NILFS2 2^25, HFS+ 2^32 - 1,
    /// EROFS 2^64 - 1.
    Invented,
    /// 0: inodes are not limited, or not reported.
    Nothing,
}

/// Effect of renaming a directory on its mtime and on its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryRename {
    /// As POSIX describes it: only the parents' times change, and the ctime of the directory.
    KeepsTimes,
    /// The directory gets a new mtime, because the driver writes its `..` by the function that changes any entry: on NILFS2 and Minix
    /// with every rename, on F2FS and GFS2 with a move to another directory.
    SetsMtime,
    /// Each entry below it is renamed as well: on encfs, the stored names depend on the path.
    RenamesEntries,
}

/// Fate of a file that is removed while a process has it open, until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovedOpen {
    /// It has no name.
    Nameless,
    /// libfuse gives it a name with this beginning, and another one each time that name is removed.
    Renamed(&'static str),
    /// The client gives it a name with this beginning, which cannot be removed (`EBUSY`).
    Busy(&'static str),
    /// It is listed, though it can neither be opened nor queried.
    Listed,
}

impl MountTraits {
    /// Facts about the mount of a directory. Reads the mount table, and at most one buffer of the directory where a server's inode
    /// numbers have to be observed.
    pub fn of(directory: &Dir) -> Self {
        #[cfg(target_os = "linux")]
        return observe::observed(directory);
        #[cfg(not(target_os = "linux"))]
        Self::of_type(&directory.file_system().to_string())
    }

    /// Facts of the table about a type in the mount table, or about a file system by the name of [`FileSystem`].
    pub fn of_type(driver: &str) -> Self {
        let is_same = |row: &&Self| row.drivers.contains(&driver);
        match ROWS.iter().find(is_same) {
            Some(row) => *row,
            None if driver.starts_with("fuse") => table::FUSE,
            None => table::UNKNOWN,
        }
    }

    /// Facts about a type in the mount table, or about the file system if the mount is not in the table.
    pub fn of_mount(driver: Option<&str>, file_system: FileSystem) -> Self {
        match driver {
            Some(driver) => Self::of_type(driver),
            None => Self::of_type(&file_system.to_string()),
        }
    }

    /// `true` if the table or an observation shows that inode numbers identify files.
    pub fn has_lasting_inodes(&self) -> bool {
        self.inode_numbers == InodeNumbers::Lasting
    }

    /// `true` if the inode number in a listing is that of stat(2), and no other file of the mount has it. Numbers of btrfs are only unique in
    /// a subvolume, and overlays of several file systems list other numbers of directories than stat(2) has.
    pub fn lists_identities(&self) -> bool {
        let are_ambiguous = ["btrfs", "overlay"].iter().any(|driver| self.drivers.contains(driver));
        self.listed_inodes == ListedInodes::Same && !are_ambiguous
    }

    /// The facts as pairs of a name and a description, for bug reports.
    pub fn described(&self) -> Vec<(&'static str, String)> {
        let yes_no = |is: bool| if is { "yes" } else { "no" }.to_owned();
        let known = |is: Option<bool>| is.map_or("not known".to_owned(), yes_no);
        vec![
            ("inode_numbers", self.inode_numbers.to_string()),
            ("listed_inodes", self.listed_inodes.to_string()),
            ("birth_times", known(self.birth_times)),
            ("clock", self.clock.to_string()),
            ("inode_count", self.inode_count.to_string()),
            ("read_only", yes_no(self.is_read_only)),
            ("rename_noreplace", known(self.renames_without_replacing)),
            ("rename_exchange", known(self.exchanges)),
            ("rewind", yes_no(self.rewinds)),
            ("removed_open", self.removed_open.to_string()),
            ("current_unsynced", yes_no(self.is_current_unsynced)),
            ("link_counts", yes_no(self.has_link_counts)),
            ("directory_rename", self.directory_rename.to_string()),
            ("stored_ctime", yes_no(self.stores_change_times)),
            ("lasting_directory_births", yes_no(self.directory_births_last)),
            ("lasting_directory_times", yes_no(self.directory_times_last)),
            ("linear_search", yes_no(self.searches_linearly)),
        ]
    }
}

/// Type of the directory's mount in the mount table, such as `fuse.sshfs`; `None` on other systems, or if the table has no such mount.
pub fn driver_of(directory: &Dir) -> Option<String> {
    #[cfg(target_os = "linux")]
    return observe::driver_of(directory);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        None
    }
}

/// UUID of the file system that a directory is on, 32 hex digits; `None` before Linux 6.9 and on file systems without one. All
/// subvolumes of a btrfs have the same.
#[cfg(target_os = "linux")]
pub fn uuid_of(directory: impl std::os::fd::AsFd) -> Option<String> {
    let uuid = megadir_sys::volume::uuid(directory.as_fd()).ok()?;
    Some(uuid.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Type and source of a mount in the mount table, `fuse.sshfs host:/path`: the only lasting names of mounts without an id in statfs(2).
/// The source is in one spelling: devices by the UUID of their file system if udev has it, hosts and SMB shares in lower case.
#[cfg(target_os = "linux")]
pub fn source_of(directory: impl std::os::fd::AsFd) -> Option<String> {
    observe::source_of(directory)
}

impl fmt::Display for InodeNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lasting => "lasting",
            Self::MadeUp => "made up",
            Self::OfPaths => "made up from paths",
            Self::Unknown => "not known",
        })
    }
}

impl fmt::Display for ListedInodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "as by stat",
            Self::Different => "not as by stat",
            Self::Unknown => "not known",
        })
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own { stored_ns } => write!(f, "this machine's, stored in steps of {stored_ns} ns"),
            Self::Servers => f.write_str("a server's, or not known"),
            Self::Stopped => f.write_str("none, nothing changes"),
        }
    }
}

impl fmt::Display for DirectoryRename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeepsTimes => "keeps its mtime",
            Self::SetsMtime => "sets its mtime",
            Self::RenamesEntries => "renames all its entries",
        })
    }
}

impl fmt::Display for RemovedOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nameless => f.write_str("has no name"),
            Self::Renamed(prefix) | Self::Busy(prefix) => write!(f, "is renamed to {prefix}..."),
            Self::Listed => f.write_str("is listed until it is closed"),
        }
    }
}

impl fmt::Display for InodeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counted => "counted",
            Self::OfFreeBlocks => "computed from free blocks",
            Self::Invented => "invented",
            Self::Nothing => "not reported",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_type_has_one_row() {
        let mut seen = HashSet::new();
        for driver in ROWS.iter().flat_map(|row| row.drivers) {
            assert!(seen.insert(*driver), "{driver}");
            assert!(MountTraits::of_type(driver).drivers.contains(driver));
        }
        assert!(seen.len() > 50, "{}", seen.len());
    }

    #[test]
    fn times_that_a_driver_does_not_keep_are_in_the_table() {
        let exfat = MountTraits::of_type("exfat");
        assert!(!exfat.stores_change_times && !exfat.directory_births_last);
        for (driver, expected) in [
            ("nilfs2", DirectoryRename::SetsMtime),
            ("f2fs", DirectoryRename::SetsMtime),
            ("gfs2", DirectoryRename::SetsMtime),
            ("fuse.encfs", DirectoryRename::RenamesEntries),
            ("jfs", DirectoryRename::KeepsTimes),
            ("reiserfs", DirectoryRename::KeepsTimes),
            ("vfat", DirectoryRename::KeepsTimes),
        ] {
            assert_eq!(MountTraits::of_type(driver).directory_rename, expected, "{driver}");
        }
    }

    /// Seen on Linux 6.1 with images by xorriso 1.5.4, genisoimage 1.1.11, mkfs.cramfs 2.38 and genromfs 0.5.2.
    #[test]
    fn read_only_formats_with_odd_numbers_are_in_the_table() {
        let listed = |driver: &str| MountTraits::of_type(driver).listed_inodes;
        assert_eq!(listed("iso9660"), ListedInodes::Different);
        assert_eq!([listed("romfs"), listed("cramfs"), listed("squashfs")], [ListedInodes::Same; 3]);
        assert_eq!(MountTraits::of_type("cramfs").inode_numbers, InodeNumbers::MadeUp);
        for (driver, count) in [
            ("iso9660", InodeCount::Nothing),
            ("romfs", InodeCount::Nothing),
            ("cramfs", InodeCount::Counted),
        ] {
            let traits = MountTraits::of_type(driver);
            assert_eq!((traits.inode_count, traits.is_read_only), (count, true), "{driver}");
        }
    }

    #[test]
    fn the_mount_table_decides_before_the_number_of_statfs() {
        // 9p passes the number of the host's ext4 through.
        let ninep = MountTraits::of_mount(Some("9p"), FileSystem::Ext4);
        assert_eq!((ninep.clock, ninep.renames_without_replacing), (Clock::Servers, Some(false)));
        let unlisted = MountTraits::of_mount(None, FileSystem::Ext4);
        assert_eq!(unlisted.clock, Clock::Own { stored_ns: 1 });
        for (driver, expected) in [
            ("fuse.sshfs", InodeNumbers::MadeUp),
            ("fuse.rclone", InodeNumbers::OfPaths),
            ("fuse.gocryptfs", InodeNumbers::Lasting),
            ("fuse.of-tomorrow", InodeNumbers::Unknown),
            ("vfat", InodeNumbers::MadeUp),
            ("of-tomorrow", InodeNumbers::Lasting),
        ] {
            assert_eq!(MountTraits::of_type(driver).inode_numbers, expected, "{driver}");
        }
    }

    #[test]
    fn every_file_system_with_a_name_of_its_own_has_a_row() {
        for file_system in FileSystem::named() {
            let row = MountTraits::of_mount(None, file_system);
            assert!(!row.drivers.is_empty(), "{file_system}");
        }
    }

    #[test]
    fn each_fact_has_a_name_and_a_description() {
        for row in ROWS {
            let described = row.described();
            let names: HashSet<_> = described.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), described.len());
            assert!(
                described.iter().all(|(name, text)| !name.is_empty() && !text.is_empty()),
                "{described:?}"
            );
        }
    }
}
