//! The file systems that the lab can make, with the published study's options: mkfs defaults and `noatime`,
//! plus the lab's label, inode tables and journals of ext2 to ext4 written at once (else the kernel writes
//! them during measurements), and a quick format for NTFS.
//!
//! To add a file system, write a row and name it in `FILE_SYSTEMS`; parser, help, plan and error messages
//! read the rows. Estimates are upper bounds from the format of each file system, because the plan must
//! refuse a run that would run out of space after an hour, and may well ask for too much.

/// 11 bytes, the smallest limit of any file system.
pub const LABEL: &str = "megadir-lab";

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Row of a file system. The plan, mkfs, mount, the estimates of space and the messages read it. `PLAIN`
/// has the defaults, and each row is another one with some fields changed. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    pub about: &'static str,
    /// For mount(2); for FUSE the type that the kernel shows.
    pub kind: &'static str,
    /// mkfs program with its options; the device is appended. Empty if there is nothing to make.
    pub make: &'static [&'static str],
    pub version: &'static str,
    /// FUSE server with its options; device and mount point are appended.
    pub server: Option<&'static [&'static str]>,
    pub package: &'static str,
    /// Kernel configuration option, without `CONFIG_`.
    pub config: &'static str,
    /// Reason, other than configuration, that a kernel may lack it.
    pub removed: Option<&'static str>,
    pub variants: &'static [&'static Variant],
    pub journal: bool,
    /// Driver that skips recently freed inodes if there is no journal, by deletion times on disk: only mkfs resets them.
    pub remembering_driver: Option<&'static str>,
    /// Smallest image that behaves like a larger one.
    pub smallest_bytes: u64,
    /// For each available inode, with mkfs defaults.
    pub bytes_per_inode: u64,
    /// Space of a file in addition to its content and directory entry, an upper bound.
    pub file_overhead_bytes: u64,
    /// Memory of a file without content on a disk that compresses with lzo-rle, with a name of 32 hexadecimal digits; measured with
    /// 50 000 files in one directory and in 5000 on ext4 (155 and 229), XFS (123 and 174) and btrfs (366 and 326), a guess elsewhere.
    /// With what the journal still had: ext4 (179 to 225), XFS (222 to 272), btrfs (303 to 373).
    pub packed_inode_bytes: u64,
    /// Contents up to this length lie in metadata, which has two copies.
    pub inline_bytes: u64,
}

/// Word that may follow a name, as `block=1k` in `ext4:block=1k`: its values, its effect on mkfs or mount,
/// and what a kernel `needs` for it, as the hint of an error. The kernel is not asked in advance; it
/// refuses the mount.
#[derive(Debug, PartialEq, Eq)]
pub struct Variant {
    pub name: &'static str,
    pub takes: Takes,
    pub changes: Changes,
    pub needs: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// Written `1k` or `1024`.
    Bytes(&'static [u64]),
    Words(&'static [&'static str]),
    MountOption,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// For the mkfs program; `{}` is the value.
    Make(&'static [&'static str]),
    /// For `mke2fs -O`, joined to one argument.
    Feature,
    /// Adds the journal (`true`) or removes it.
    Journal(bool),
    /// For mount(8); `{}` is the value.
    Mount(&'static str),
}

const fn feature(name: &'static str) -> Variant {
    Variant { name, takes: Takes::Nothing, changes: Changes::Feature, needs: None }
}

const fn bytes(name: &'static str, of: &'static [u64], make: &'static [&'static str]) -> Variant {
    Variant { name, takes: Takes::Bytes(of), changes: Changes::Make(make), needs: None }
}

const BLOCKS: &[u64] = &[KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB];
const NODES: &[u64] = &[4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB];

static MOUNT: Variant =
    Variant { takes: Takes::MountOption, changes: Changes::Mount("{}"), ..feature("mount") };

static EXT_BLOCK: Variant = Variant {
    needs: Some("blocks larger than a page of memory need Linux 6.19"),
    ..bytes("block", BLOCKS, &["-b", "{}"])
};
static EXT_INODE: Variant = bytes("inode", &[128, 256, 512, KIB, 2 * KIB, 4 * KIB], &["-I", "{}"]);
/// Space for each inode that mke2fs makes; below the default of 16 KiB, an image for many small files can
/// be smaller.
static EXT_INODE_RATIO: Variant = bytes("inode_ratio", &[4 * KIB, 8 * KIB, 16 * KIB], &["-i", "{}"]);
static DIR_INDEX: Variant = feature("dir_index");
static NO_DIR_INDEX: Variant = feature("^dir_index");

static EXT2_VARIANTS: &[&Variant] =
    &[&EXT_BLOCK, &EXT_INODE, &EXT_INODE_RATIO, &DIR_INDEX, &NO_DIR_INDEX, &MOUNT];
static EXT4_VARIANTS: &[&Variant] = &[
    &EXT_BLOCK,
    &EXT_INODE,
    &EXT_INODE_RATIO,
    &feature("large_dir"),
    &DIR_INDEX,
    &NO_DIR_INDEX,
    &Variant { changes: Changes::Journal(true), ..feature("has_journal") },
    &Variant { changes: Changes::Journal(false), ..feature("^has_journal") },
    &feature("^extent"),
    &feature("^metadata_csum"),
    &feature("inline_data"),
    &MOUNT,
];

const PLAIN: Entry = Entry {
    name: "",
    about: "",
    kind: "",
    make: &[],
    version: "-V",
    server: None,
    package: "",
    config: "",
    removed: None,
    variants: &[&MOUNT],
    journal: true,
    remembering_driver: None,
    // Below 512 MiB mke2fs uses 1 KiB blocks, and below 300 MiB mkfs.xfs refuses.
    smallest_bytes: GIB,
    bytes_per_inode: 0,
    file_overhead_bytes: KIB,
    packed_inode_bytes: 400,
    inline_bytes: 0,
};

/// Its driver has the same name.
const fn named(name: &'static str, about: &'static str, like: Entry) -> Entry {
    Entry { name, about, kind: name, ..like }
}

const EXT: Entry = Entry {
    package: "e2fsprogs",
    config: "EXT4_FS",
    // `recently_deleted` in fs/ext4/ialloc.c: 60 s, plus 300 s while the inode table is being written.
    remembering_driver: Some("ext4"),
    bytes_per_inode: 16 * KIB,
    file_overhead_bytes: 512,
    packed_inode_bytes: 240,
    ..PLAIN
};

static EXT2: Entry = Entry {
    make: &["mke2fs", "-q", "-F", "-t", "ext2", "-L", LABEL, "-E", "lazy_itable_init=0"],
    config: "EXT4_USE_FOR_EXT2",
    variants: EXT2_VARIANTS,
    journal: false,
    ..named("ext2", "no journal; hash index", EXT)
};
static EXT3: Entry = Entry {
    make: &["mke2fs", "-q", "-F", "-t", "ext3", "-L", LABEL, "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    variants: EXT2_VARIANTS,
    ..named("ext3", "journal; block maps; hash index", EXT)
};
static EXT4: Entry = Entry {
    make: &["mke2fs", "-q", "-F", "-t", "ext4", "-L", LABEL, "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    variants: EXT4_VARIANTS,
    ..named("ext4", "journal; extents; hash index", EXT)
};

static NO_FTYPE: Variant = Variant {
    takes: Takes::Words(&["0"]),
    // Only the format without checksums can omit file types.
    changes: Changes::Make(&["-m", "crc=0", "-n", "ftype=0"]),
    needs: Some("it needs XFS version 4, which most current kernels are built without (XFS_SUPPORT_V4)"),
    ..feature("ftype")
};
static XFS_BLOCK: Variant = Variant {
    needs: Some("blocks larger than a page of memory need Linux 6.12"),
    ..bytes("block", BLOCKS, &["-b", "size={}"])
};
static XFS_INODE: Variant = bytes("inode", &[512, KIB, 2 * KIB], &["-i", "size={}"]);
static XFS_DIRECTORY: Variant = bytes("dirblock", NODES, &["-n", "size={}"]);
static XFS: Entry = Entry {
    make: &["mkfs.xfs", "-q", "-f", "-L", LABEL],
    package: "xfsprogs",
    config: "XFS_FS",
    variants: &[&NO_FTYPE, &XFS_BLOCK, &XFS_INODE, &XFS_DIRECTORY, &MOUNT],
    // At most a quarter of the space becomes inodes of 512 bytes.
    bytes_per_inode: 2 * KIB,
    packed_inode_bytes: 180,
    ..named("xfs", "journal of metadata; B+ trees", PLAIN)
};

static NODATACOW: Variant = Variant { changes: Changes::Mount("nodatacow"), ..feature("nodatacow") };
static BTRFS_NODE: Variant = bytes("node", NODES, &["-n", "{}"]);
static BTRFS: Entry = Entry {
    make: &["mkfs.btrfs", "-q", "-f", "-L", LABEL],
    version: "--version",
    package: "btrfs-progs",
    config: "BTRFS_FS",
    variants: &[&NODATACOW, &BTRFS_NODE, &MOUNT],
    // Metadata is duplicated, allocated in chunks of 256 MiB, and contains small files inline.
    bytes_per_inode: 4 * KIB,
    file_overhead_bytes: 4 * KIB,
    packed_inode_bytes: 370,
    inline_bytes: 2 * KIB,
    ..named("btrfs", "copy on write; B-trees", PLAIN)
};

static TMPFS: Entry = Entry {
    config: "TMPFS",
    smallest_bytes: 64 * MIB,
    bytes_per_inode: 4 * KIB,
    ..named("tmpfs", "in memory", PLAIN)
};

static F2FS: Entry = Entry {
    make: &["mkfs.f2fs", "-q", "-f", "-l", LABEL],
    package: "f2fs-tools",
    config: "F2FS_FS",
    bytes_per_inode: 8 * KIB,
    file_overhead_bytes: 4 * KIB,
    ..named("f2fs", "log-structured, for flash", PLAIN)
};
static REISERFS: Entry = Entry {
    make: &["mkreiserfs", "-q", "-f", "-l", LABEL],
    package: "reiserfsprogs",
    config: "REISERFS_FS",
    removed: Some("ReiserFS left Linux in 6.13"),
    ..named("reiserfs", "version 3; one tree, with tails of files in it", PLAIN)
};
static JFS: Entry = Entry {
    make: &["mkfs.jfs", "-q", "-L", LABEL],
    package: "jfsutils",
    config: "JFS_FS",
    bytes_per_inode: KIB,
    ..named("jfs", "journal of metadata; B+ trees", PLAIN)
};
static NILFS2: Entry = Entry {
    make: &["mkfs.nilfs2", "-q", "-f", "-L", LABEL],
    package: "nilfs-tools",
    config: "NILFS2_FS",
    file_overhead_bytes: 4 * KIB,
    ..named("nilfs2", "log-structured, with snapshots; directories without index", PLAIN)
};

const CLUSTERS: &[u64] = &[512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB];
static NTFS_CLUSTER: Variant = bytes("cluster", CLUSTERS, &["-c", "{}"]);
const NTFS: Entry = Entry {
    make: &["mkntfs", "-q", "-Q", "-F", "-L", LABEL],
    version: "--version",
    package: "ntfs-3g",
    variants: &[&NTFS_CLUSTER, &MOUNT],
    file_overhead_bytes: 2 * KIB,
    ..PLAIN
};
static NTFS3: Entry = Entry { config: "NTFS3_FS", ..named("ntfs3", "NTFS by the kernel's driver", NTFS) };
static NTFS_3G: Entry = Entry {
    kind: "fuseblk",
    server: Some(&["ntfs-3g"]),
    config: "FUSE_FS",
    ..named("ntfs-3g", "NTFS by a program, through FUSE", NTFS)
};
static EXFAT: Entry = Entry {
    make: &["mkfs.exfat", "-L", LABEL],
    package: "exfatprogs",
    config: "EXFAT_FS",
    file_overhead_bytes: 32 * KIB,
    ..named("exfat", "no journal, no index, no hard links", PLAIN)
};

/// In the order of help and of choices in error messages: common ones first.
pub static FILE_SYSTEMS: &[&Entry] =
    &[&EXT2, &EXT3, &EXT4, &XFS, &BTRFS, &TMPFS, &F2FS, &REISERFS, &JFS, &NILFS2, &NTFS3, &NTFS_3G, &EXFAT];

impl Entry {
    pub fn in_memory(&self) -> bool {
        self.make.is_empty()
    }

    /// As the user types them: `block=1k|2k`, `large_dir`.
    pub fn variants_in_words(&self) -> Vec<String> {
        self.variants.iter().map(|variant| variant.in_words()).collect()
    }
}

impl Variant {
    fn in_words(&self) -> String {
        let values = match self.takes {
            Takes::Nothing => return self.name.to_owned(),
            Takes::Bytes(bytes) => sizes(bytes).join("|"),
            Takes::Words(words) => words.join("|"),
            Takes::MountOption => "OPTION".to_owned(),
        };
        format!("{}={values}", self.name)
    }
}

pub(crate) fn sizes(bytes: &[u64]) -> Vec<String> {
    bytes.iter().copied().map(size).collect()
}

pub(crate) fn size(bytes: u64) -> String {
    match bytes % KIB {
        0 if bytes > 0 => format!("{}k", bytes / KIB),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FILE_SYSTEMS, LABEL};

    #[test]
    fn entries_have_unique_names_and_requirements() {
        for (index, entry) in FILE_SYSTEMS.iter().enumerate() {
            assert!(FILE_SYSTEMS[..index].iter().all(|other| other.name != entry.name), "{}", entry.name);
            assert!(!entry.kind.is_empty() && !entry.about.is_empty() && !entry.config.is_empty());
            assert_eq!(entry.make.is_empty(), entry.package.is_empty(), "{}", entry.name);
            assert!(entry.make.is_empty() || entry.make.contains(&LABEL), "{} has no label", entry.name);
            assert!(!entry.name.contains([':', ',', '=']));
        }
    }

    #[test]
    fn variants_are_named_once_in_each_entry() {
        for entry in FILE_SYSTEMS {
            let names: Vec<_> = entry.variants.iter().map(|variant| variant.name).collect();
            let distinct: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "{}", entry.name);
        }
    }
}
