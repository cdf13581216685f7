//! The table. Most rows come from runs on the real file system: some fifty of them on Linux 6.12 in an emulator, and FUSE and stacked
//! ones on Linux 6.18. Rows of cluster and vendor file systems follow from their documentation alone.

use super::{Clock, DirectoryRename, InodeCount, InodeNumbers, ListedInodes, MountTraits, RemovedOpen};

const SECOND_NS: u64 = 1_000_000_000;

/// A file system on a device of this machine, with numbers and times as POSIX describes them.
const LOCAL: MountTraits = MountTraits {
    drivers: &[],
    inode_numbers: InodeNumbers::Lasting,
    listed_inodes: ListedInodes::Same,
    birth_times: Some(false),
    clock: Clock::Own { stored_ns: 1 },
    inode_count: InodeCount::Counted,
    is_read_only: false,
    renames_without_replacing: Some(true),
    exchanges: Some(false),
    rewinds: true,
    removed_open: RemovedOpen::Nameless,
    is_current_unsynced: true,
    has_link_counts: true,
    directory_rename: DirectoryRename::KeepsTimes,
    stores_change_times: true,
    directory_births_last: true,
    directory_times_last: true,
    searches_linearly: false,
};

/// A format that is written as a whole, by a program.
const READ_ONLY: MountTraits = MountTraits { clock: Clock::Stopped, is_read_only: true, ..LOCAL };

/// A client of a server that has inode numbers.
const NETWORK: MountTraits = MountTraits {
    birth_times: None,
    clock: Clock::Servers,
    renames_without_replacing: None,
    exchanges: None,
    is_current_unsynced: false,
    ..LOCAL
};

/// Any FUSE server: what it does is its own choice.
pub(super) const FUSE: MountTraits = MountTraits {
    inode_numbers: InodeNumbers::Unknown,
    listed_inodes: ListedInodes::Unknown,
    birth_times: None,
    inode_count: InodeCount::Invented,
    removed_open: RemovedOpen::Renamed(".fuse_hidden"),
    ..NETWORK
};

/// A FUSE server that keeps the numbers of the files below it, or has its own.
const FUSE_WITH_INODES: MountTraits = MountTraits {
    inode_numbers: InodeNumbers::Lasting,
    listed_inodes: ListedInodes::Same,
    renames_without_replacing: Some(false),
    exchanges: Some(false),
    ..FUSE
};

/// A FUSE server that leaves the numbers to libfuse, which counts look-ups.
const FUSE_WITHOUT_INODES: MountTraits = MountTraits {
    inode_numbers: InodeNumbers::MadeUp,
    listed_inodes: ListedInodes::Different,
    has_link_counts: false,
    ..FUSE_WITH_INODES
};

/// No row: nothing is known but that inode numbers of kernel file systems usually last.
pub(super) const UNKNOWN: MountTraits = MountTraits { listed_inodes: ListedInodes::Unknown, ..NETWORK };

/// The rows, by groups: local, read-only, stacked, network, FUSE.
pub static ROWS: &[MountTraits] = &[
    MountTraits { drivers: &["ext4", "ext3"], birth_times: None, exchanges: Some(true), ..LOCAL },
    MountTraits { drivers: &["ext2"], birth_times: None, exchanges: None, searches_linearly: true, ..LOCAL },
    MountTraits { drivers: &["xfs"], birth_times: None, exchanges: Some(true), ..LOCAL },
    MountTraits {
        drivers: &["btrfs"],
        birth_times: Some(true),
        exchanges: Some(true),
        inode_count: InodeCount::Nothing,
        ..LOCAL
    },
    MountTraits {
        drivers: &["bcachefs", "zfs"],
        birth_times: None,
        renames_without_replacing: None,
        exchanges: None,
        ..LOCAL
    },
    MountTraits {
        drivers: &["tmpfs", "ramfs", "devtmpfs"],
        birth_times: None,
        exchanges: Some(true),
        ..LOCAL
    },
    MountTraits {
        drivers: &["f2fs"],
        birth_times: None,
        directory_rename: DirectoryRename::SetsMtime,
        exchanges: Some(true),
        inode_count: InodeCount::OfFreeBlocks,
        ..LOCAL
    },
    MountTraits { drivers: &["jfs"], inode_count: InodeCount::OfFreeBlocks, ..LOCAL },
    MountTraits {
        drivers: &["reiserfs"],
        clock: Clock::Own { stored_ns: SECOND_NS },
        inode_count: InodeCount::Nothing,
        ..LOCAL
    },
    MountTraits {
        drivers: &["nilfs2"],
        inode_count: InodeCount::Invented,
        directory_rename: DirectoryRename::SetsMtime,
        searches_linearly: true,
        ..LOCAL
    },
    MountTraits {
        drivers: &["udf"],
        birth_times: None,
        clock: Clock::Own { stored_ns: 1000 },
        inode_count: InodeCount::OfFreeBlocks,
        searches_linearly: true,
        ..LOCAL
    },
    MountTraits {
        drivers: &["minix"],
        directory_rename: DirectoryRename::SetsMtime,
        clock: Clock::Own { stored_ns: SECOND_NS },
        searches_linearly: true,
        ..LOCAL
    },
    // Hard links of hfsplus have a number of their own in listings.
    MountTraits {
        drivers: &["hfsplus"],
        birth_times: None,
        listed_inodes: ListedInodes::Different,
        clock: Clock::Own { stored_ns: SECOND_NS },
        inode_count: InodeCount::Invented,
        ..LOCAL
    },
    MountTraits {
        drivers: &["hfs"],
        birth_times: None,
        clock: Clock::Own { stored_ns: SECOND_NS },
        inode_count: InodeCount::Invented,
        ..LOCAL
    },
    // Linux numbers files of FAT and exFAT whenever they enter the cache.
    MountTraits {
        drivers: &["vfat", "msdos"],
        birth_times: None,
        inode_numbers: InodeNumbers::MadeUp,
        clock: Clock::Own { stored_ns: 2 * SECOND_NS },
        inode_count: InodeCount::Nothing,
        searches_linearly: true,
        ..LOCAL
    },
    MountTraits {
        drivers: &["exfat"],
        birth_times: Some(true),
        stores_change_times: false,
        directory_births_last: false,
        inode_numbers: InodeNumbers::MadeUp,
        clock: Clock::Own { stored_ns: SECOND_NS / 100 },
        inode_count: InodeCount::Nothing,
        searches_linearly: true,
        ..LOCAL
    },
    MountTraits {
        drivers: &["ntfs3", "ntfs", "refs"],
        birth_times: Some(true),
        clock: Clock::Own { stored_ns: 100 },
        inode_count: InodeCount::Nothing,
        ..LOCAL
    },
    MountTraits { drivers: &["ocfs2"], renames_without_replacing: Some(false), ..LOCAL },
    MountTraits {
        drivers: &["gfs2"],
        directory_rename: DirectoryRename::SetsMtime,
        renames_without_replacing: None,
        exchanges: None,
        inode_count: InodeCount::OfFreeBlocks,
        ..LOCAL
    },
    MountTraits { drivers: &["squashfs"], ..READ_ONLY },
    MountTraits { drivers: &["erofs"], inode_count: InodeCount::Invented, ..READ_ONLY },
    MountTraits { drivers: &["romfs"], inode_count: InodeCount::Nothing, ..READ_ONLY },
    // Files with the same contents have the same number, and one link each.
    MountTraits { drivers: &["cramfs"], inode_numbers: InodeNumbers::MadeUp, ..READ_ONLY },
    // Listings number files by their place in the directory, stat by that on the disk (Linux 6.1, Rock Ridge and Joliet).
    MountTraits {
        drivers: &["iso9660"],
        listed_inodes: ListedInodes::Different,
        inode_count: InodeCount::Nothing,
        ..READ_ONLY
    },
    // The first change below a directory of a lower layer copies the directory up: its number stays, its birth is that of the copy.
    MountTraits {
        drivers: &["overlay"],
        birth_times: None,
        exchanges: None,
        directory_births_last: false,
        ..LOCAL
    },
    MountTraits {
        drivers: &["ecryptfs"],
        birth_times: None,
        renames_without_replacing: Some(false),
        ..LOCAL
    },
    MountTraits {
        drivers: &["nfs", "nfs4"],
        removed_open: RemovedOpen::Busy(".nfs"),
        renames_without_replacing: Some(false),
        exchanges: Some(false),
        ..NETWORK
    },
    // Listings bring the attributes, with one link for every file.
    MountTraits {
        drivers: &["cifs", "smb3"],
        birth_times: Some(true),
        inode_count: InodeCount::Nothing,
        renames_without_replacing: Some(true),
        exchanges: Some(false),
        has_link_counts: false,
        removed_open: RemovedOpen::Listed,
        ..NETWORK
    },
    MountTraits {
        drivers: &["9p"],
        renames_without_replacing: Some(false),
        exchanges: Some(false),
        is_current_unsynced: true,
        ..NETWORK
    },
    MountTraits { drivers: &["virtiofs"], ..NETWORK },
    MountTraits {
        drivers: &["ceph", "lustre", "gpfs", "beegfs", "orangefs", "pvfs2", "afs", "wekafs"],
        ..NETWORK
    },
    MountTraits { drivers: &["fuse.ext4"], inode_count: InodeCount::Counted, ..FUSE_WITH_INODES },
    MountTraits {
        drivers: &["fuse.encfs"],
        directory_rename: DirectoryRename::RenamesEntries,
        ..FUSE_WITH_INODES
    },
    MountTraits {
        drivers: &["fuse.zfs", "fuse.posixovl", "fuse.glusterfs", "fuse.bindfs", "fuse.mfs"],
        ..FUSE_WITH_INODES
    },
    MountTraits {
        drivers: &["fuse.gocryptfs", "fuse.fuse-overlayfs"],
        renames_without_replacing: Some(true),
        exchanges: Some(true),
        ..FUSE_WITH_INODES
    },
    // A rewound handle returns no entries, and the server remembers that for 20 seconds.
    MountTraits { drivers: &["fuse.sshfs"], rewinds: false, ..FUSE_WITHOUT_INODES },
    MountTraits {
        drivers: &["fuse.unionfs", "fuse.unionfs-fuse", "fuse.s3fs", "fuse.securefs"],
        ..FUSE_WITHOUT_INODES
    },
    MountTraits { drivers: &["fuse.archivemount"], ..FUSE_WITHOUT_INODES },
    MountTraits {
        drivers: &["fuse.fuse-zip", "fuse.ratarmount"],
        directory_times_last: false,
        ..FUSE_WITHOUT_INODES
    },
    // Mounted as writable, and every change is refused with ENOSYS.
    MountTraits {
        drivers: &["fuse.squashfuse", "fuse.squashfuse_ll"],
        is_read_only: true,
        ..FUSE_WITHOUT_INODES
    },
    MountTraits {
        drivers: &["fuse.rclone"],
        inode_numbers: InodeNumbers::OfPaths,
        directory_times_last: false,
        ..FUSE_WITH_INODES
    },
    // By the option `use_ino`, which the mount table does not show.
    MountTraits {
        drivers: &["fuse.mergerfs"],
        renames_without_replacing: Some(false),
        exchanges: Some(false),
        ..FUSE
    },
    // bindfs, ratarmount, MooseFS and others; ntfs-3g and exfat-fuse.
    MountTraits { drivers: &["fuse", "fuseblk"], ..FUSE },
];
