//! Facts about a directory and its file system: plain data, independent of its source.

use std::path::PathBuf;

use super::basis::{Fact, Span};
use super::name_lengths::NameLengths;
use crate::file_system::FileSystem;
use crate::mount_traits::MountTraits;

/// Input of the models.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The directory's path as the caller gave it, for commands and messages.
    pub path: PathBuf,
    /// File system; on overlayfs, the upper layer's if it is visible.
    pub file_system: FileSystem,
    /// Visible file system, if the caller stated another as `file_system`.
    pub seen_as: Option<FileSystem>,
    /// `true` if the facts are of the upper layer of an overlayfs.
    pub is_upper_layer: bool,
    /// Facts that only some file systems have.
    pub details: Details,
    /// Size of the directory itself, bytes.
    pub directory_bytes: u64,
    /// Hard links of the directory: on most file systems two, plus one per subdirectory.
    pub links: u64,
    /// Inode number of the directory.
    pub inode: u64,
    /// Number of entries; `None` without cheap evidence.
    pub entries: Option<Fact<Span>>,
    /// Number of entries of all layers of an overlayfs, while `entries` has the upper layer's; `None` on other file systems, or if a
    /// layer is not visible or without cheap evidence.
    pub merged_entries: Option<Fact<Span>>,
    /// Name lengths of the entries to come.
    pub names: Fact<NameLengths>,
    /// Share of directories among the entries to come, 0 to 1.
    pub directory_share: f64,
    /// Content size of each entry to come.
    pub contents: Fact<Contents>,
    /// Blocks and inodes of the file system.
    pub space: Space,
    /// Quotas that apply to the entries to come.
    pub quotas: Vec<Quota>,
    /// Mount; `None` if it is not in the mount table.
    pub mount: Option<Mount>,
    /// `true` if the mount is read-only, so that nothing can be created.
    pub is_read_only: bool,
    /// Names of absent files in the kernel's cache, of all directories; `None` if unknown.
    pub absent_names: Option<AbsentNames>,
}

impl Facts {
    /// Number of entries that a listing returns: on overlayfs the entries of all layers, `None` if these are unknown.
    pub fn listed_entries(&self) -> Option<&Fact<Span>> {
        let own = self.entries.as_ref().filter(|_| !self.is_upper_layer);
        self.merged_entries.as_ref().or(own)
    }
}

/// Negative dentries: a look-up of a name that does not exist leaves one, in whichever directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsentNames {
    /// Cached names of absent files.
    pub count: u64,
    /// Memory of this machine, bytes.
    pub memory_bytes: u64,
}

impl AbsentNames {
    /// For names of up to about 40 characters; longer ones take more. Measured on Linux 6.18: 190 bytes for each of a million.
    const BYTES: u64 = 192;

    /// Least memory that they take, bytes.
    pub fn bytes(&self) -> u64 {
        self.count.saturating_mul(Self::BYTES)
    }

    /// Now, on Linux 5.0 or later.
    #[cfg(target_os = "linux")]
    pub fn now() -> Option<Self> {
        let state = std::fs::read_to_string("/proc/sys/fs/dentry-state").ok()?;
        let info = rustix::system::sysinfo();
        let memory_bytes = u64::from(info.mem_unit) * info.totalram;
        Some(Self { count: negative(&state)?, memory_bytes })
    }

    /// Unknown on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn now() -> Option<Self> {
        None
    }
}

/// Fifth number of `/proc/sys/fs/dentry-state`. It is 0 on kernels before 5.0, where it is unused.
#[cfg(any(target_os = "linux", test))]
fn negative(state: &str) -> Option<u64> {
    state.split_whitespace().nth(4)?.parse().ok().filter(|count| *count > 0)
}

/// Facts that only some file systems have.
#[derive(Clone, Debug, PartialEq)]
pub enum Details {
    /// ext2, ext3 and ext4.
    Ext4(Ext4),
    /// XFS, with the directory block size in bytes.
    Xfs(Fact<u64>),
    /// btrfs, with its chunks; `None` if they are not in sysfs.
    Btrfs(Option<BtrfsSpace>),
    /// WAFL, with the volume's `maxdirsize` in bytes.
    Wafl(Fact<u64>),
    /// overlayfs whose upper layer is not visible, with the reason.
    Overlay(String),
    /// Any other file system.
    None,
}

/// Space of a btrfs. Data and metadata have separate chunks; an entry takes metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BtrfsSpace {
    /// Free in metadata chunks, without the global reserve and the reservations of running operations, bytes.
    pub metadata_free_bytes: u64,
    /// Copies of metadata: 2 for DUP and RAID1.
    pub metadata_copies: u64,
    /// Free in data chunks, bytes.
    pub data_free_bytes: u64,
    /// Unallocated, without the first MiB of each device, bytes.
    pub unallocated_bytes: u64,
    /// Data and metadata share chunks (`mkfs.btrfs --mixed`); then `data_free_bytes` is 0.
    pub is_mixed: bool,
}

/// Facts about an ext4 directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Ext4 {
    /// Features of the file system.
    pub features: Fact<Ext4Features>,
    /// `true` if the directory has a hash index; `None` if unknown.
    pub indexed: Option<bool>,
    /// Names are case-insensitive.
    pub casefolded: bool,
    /// Names are encrypted.
    pub encrypted: bool,
}

/// Features of an ext4 file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ext4Features {
    /// Directories with several blocks get a hash index.
    pub dir_index: bool,
    /// The index may have three levels instead of two.
    pub large_dir: bool,
    /// Directory blocks end with a checksum.
    pub metadata_csum: bool,
    /// A directory may have more than 64 998 subdirectories.
    pub dir_nlink: bool,
    /// Small files are stored in their inodes.
    pub inline_data: bool,
    /// Directories use the legacy hash, which places similar names side by side.
    pub legacy_hash: bool,
}

impl Ext4Features {
    /// Defaults of mke2fs since 2016, assumed if no source is available.
    pub const USUAL: Self = Self {
        dir_index: true,
        large_dir: false,
        metadata_csum: true,
        dir_nlink: true,
        inline_data: false,
        legacy_hash: false,
    };
}

/// Content size of an entry to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contents {
    /// Mean space for the contents of an entry, bytes.
    pub mean_bytes: f64,
    /// Lower bound of the mean, bytes.
    pub low_bytes: f64,
    /// Upper bound of the mean, bytes.
    pub high_bytes: f64,
}

impl Contents {
    /// A known content size.
    pub fn exact(mean_bytes: f64) -> Self {
        Self { mean_bytes, low_bytes: mean_bytes, high_bytes: mean_bytes }
    }
}

/// Blocks and inodes of a file system from statfs(2), which accounts for a project quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Block size, bytes; on ext4 also the size of a directory block.
    pub block_bytes: u64,
    /// Unit of the block counts, bytes.
    pub unit_bytes: u64,
    /// Total blocks.
    pub blocks: u64,
    /// Free blocks, including root's reserve.
    pub blocks_free: u64,
    /// Free blocks for this process; on ext4 including root's reserve if it may use it.
    pub blocks_available: u64,
    /// Total inodes; 0 if the file system has no limit.
    pub inodes: u64,
    /// Free inodes.
    pub inodes_free: u64,
    /// Longest name, bytes.
    pub name_bytes_max: u64,
    /// Contents up to this size fit in the inode and take no block, bytes (ext4's `inline_data`).
    pub inline_bytes_max: u64,
    /// Contents up to this size are stored in the metadata, bytes (btrfs's `max_inline`).
    pub packed_bytes_max: u64,
}

/// Owner of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaOf {
    /// User ID.
    User(u32),
    /// Group ID.
    Group(u32),
    /// Project ID.
    Project(u32),
    /// ID of a btrfs subvolume (its level-0 quota group).
    Subvolume(u64),
    /// Not visible to this process.
    Hidden,
}

/// A quota that is set; resources without a limit are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Owner.
    pub of: QuotaOf,
    /// Bytes used and allowed.
    pub bytes: Option<(u64, u64)>,
    /// Inodes used and allowed.
    pub inodes: Option<(u64, u64)>,
}

/// Mount of a directory's file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Mount point.
    pub point: String,
    /// File system type in the mount table, e.g. `ext3` or `fuse.sshfs`.
    pub kind: String,
    /// Device, or the entry in its place.
    pub source: String,
    /// Options of the file system, separated by commas.
    pub options: String,
}

impl Mount {
    /// Value of a mount option; empty for an option without a value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.split(',').find_map(|option| match option.split_once('=') {
            Some((key, value)) => (key == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }
}

impl Facts {
    /// Facts about the trust in the mount, by the table alone.
    pub fn mount_traits(&self) -> MountTraits {
        let driver = self.mount.as_ref().map(|mount| mount.kind.as_str());
        MountTraits::of_mount(driver, self.seen_as.unwrap_or(self.file_system))
    }

    pub(crate) fn max_dir_size_kib(&self) -> Option<u64> {
        self.mount.as_ref()?.option("max_dir_size_kb")?.parse().ok().filter(|kib| *kib > 0)
    }

    pub(crate) fn ext4(&self) -> Option<&Ext4> {
        match &self.details {
            Details::Ext4(ext4) => Some(ext4),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AbsentNames, Mount, negative};

    #[test]
    fn names_of_absent_files_are_the_fifth_number() {
        assert_eq!(negative("1002379\t1000463\t45\t0\t1000008\t0\n"), Some(1_000_008));
        assert_eq!(negative("1002379 1000463 45 0 0 0"), None, "before Linux 5.0");
        assert_eq!(negative("1 2 3"), None);
        assert_eq!(AbsentNames { count: 1_000_008, memory_bytes: 1 << 30 }.bytes(), 192_001_536);
    }

    #[test]
    fn options_are_found_by_their_whole_name() {
        let options = "rw,max_dir_size_kb=8,nodelalloc".into();
        let mount = Mount { point: "/".into(), kind: "ext4".into(), source: "/dev/x".into(), options };
        assert_eq!(mount.option("max_dir_size_kb"), Some("8"));
        assert_eq!((mount.option("nodelalloc"), mount.option("delalloc")), (Some(""), None));
        assert_eq!((mount.option("dir_size_kb"), mount.option("rw")), (None, Some("")));
    }
}
