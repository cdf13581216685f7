//! What is known of a directory and its file system: plain data that the models judge, however it was found out.

use std::path::PathBuf;

use super::basis::{Fact, Span};
use super::name_lengths::NameLengths;
use crate::file_system::FileSystem;

/// All that the models look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The directory as it was named, for commands and messages.
    pub path: PathBuf,
    /// The file system; that of the upper layer where the directory is on overlayfs and the layer can be seen.
    pub file_system: FileSystem,
    /// Whether that is the upper layer of an overlayfs.
    pub is_upper_layer: bool,
    /// What only some file systems have.
    pub details: Details,
    /// The size of the directory itself, bytes.
    pub directory_bytes: u64,
    /// Its hard links: on most file systems two, and one for each directory in it.
    pub links: u64,
    /// Its inode number.
    pub inode: u64,
    /// Entries now; `None` where nothing cheap tells.
    pub entries: Option<Fact<Span>>,
    /// How long the names of further entries are.
    pub names: Fact<NameLengths>,
    /// The share of directories among further entries, from 0 to 1.
    pub directory_share: f64,
    /// What a further entry holds.
    pub contents: Fact<Contents>,
    /// Blocks and inodes of the file system.
    pub space: Space,
    /// The quotas that further entries count into.
    pub quotas: Vec<Quota>,
    /// How it is mounted; `None` where the mount table does not tell.
    pub mount: Option<Mount>,
}

/// What only some file systems have.
#[derive(Clone, Debug, PartialEq)]
pub enum Details {
    /// ext2, ext3 and ext4.
    Ext4(Ext4),
    /// XFS: the size of a directory's blocks, bytes.
    Xfs(Fact<u64>),
    /// btrfs: its chunks; `None` if sysfs does not show them.
    Btrfs(Option<BtrfsSpace>),
    /// overlayfs whose upper layer cannot be seen: why.
    Overlay(String),
    /// Nothing that matters.
    None,
}

/// Space of a btrfs. Data and metadata have separate chunks, and an entry takes metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BtrfsSpace {
    /// Free in chunks of metadata, without the global reserve and reservations of running operations, bytes.
    pub metadata_free_bytes: u64,
    /// Copies of metadata: 2 for DUP and RAID1.
    pub metadata_copies: u64,
    /// Free in chunks of data, bytes.
    pub data_free_bytes: u64,
    /// In no chunk yet, without the first MiB of each device, which chunks never use, bytes.
    pub unallocated_bytes: u64,
    /// Data and metadata share chunks (`mkfs.btrfs --mixed`); then `data_free_bytes` is 0.
    pub is_mixed: bool,
}

/// What matters of an ext4 directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Ext4 {
    /// Features of the file system.
    pub features: Fact<Ext4Features>,
    /// Whether the directory has a hash index; `None` where that is not told.
    pub indexed: Option<bool>,
    /// Whether names differ by more than the case of letters.
    pub casefolded: bool,
    /// Whether names are encrypted.
    pub encrypted: bool,
}

/// Features of an ext4 file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ext4Features {
    /// Directories of several blocks get a hash index.
    pub dir_index: bool,
    /// The index may have three levels instead of two.
    pub large_dir: bool,
    /// Blocks of directories end with a checksum.
    pub metadata_csum: bool,
    /// A directory may have more than 64 998 directories in it.
    pub dir_nlink: bool,
    /// Small files are stored in their inodes.
    pub inline_data: bool,
    /// Directories use the legacy hash, which puts similar names side by side.
    pub legacy_hash: bool,
}

impl Ext4Features {
    /// What is assumed where nobody tells: how mke2fs makes ext4 since 2016.
    pub const USUAL: Self = Self {
        dir_index: true,
        large_dir: false,
        metadata_csum: true,
        dir_nlink: true,
        inline_data: false,
        legacy_hash: false,
    };
}

/// What a further entry holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contents {
    /// Space for the contents of one, bytes, on the average.
    pub mean_bytes: f64,
    /// Lower bound of the mean, bytes.
    pub low_bytes: f64,
    /// Upper bound of the mean, bytes.
    pub high_bytes: f64,
}

impl Contents {
    /// Contents of a known size.
    pub fn exact(mean_bytes: f64) -> Self {
        Self { mean_bytes, low_bytes: mean_bytes, high_bytes: mean_bytes }
    }
}

/// Blocks and inodes of a file system, as statfs(2) tells them (a project's quota is in them where one is set).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// The size of a block, bytes; on ext4 also of a directory's blocks.
    pub block_bytes: u64,
    /// The unit of the numbers of blocks, bytes.
    pub unit_bytes: u64,
    /// Blocks in all.
    pub blocks: u64,
    /// Free blocks, those kept for root included.
    pub blocks_free: u64,
    /// Free blocks for this process; on ext4 including blocks reserved for root if it may use them.
    pub blocks_available: u64,
    /// Inodes in all; 0 where the file system makes them without a limit.
    pub inodes: u64,
    /// Free inodes.
    pub inodes_free: u64,
    /// The longest name, bytes.
    pub name_bytes_max: u64,
    /// Contents up to this size always fit into the inode and take no block, bytes (ext4's `inline_data`).
    pub inline_bytes_max: u64,
    /// Contents up to this size take their own size among metadata instead of blocks, bytes (btrfs's `max_inline`).
    pub packed_bytes_max: u64,
}

/// Whose quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaOf {
    /// The user's with this number.
    User(u32),
    /// The group's with this number.
    Group(u32),
    /// The project's with this number.
    Project(u32),
    /// That of a btrfs subvolume (its level-0 group).
    Subvolume(u64),
    /// One that cannot be seen from here.
    Hidden,
}

/// A quota that is set; what has no limit is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Whose.
    pub of: QuotaOf,
    /// Bytes used and allowed.
    pub bytes: Option<(u64, u64)>,
    /// Inodes used and allowed.
    pub inodes: Option<(u64, u64)>,
}

/// How a directory's file system is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// The file system's type as the mount table has it, e.g. `ext3` or `fuse.sshfs`.
    pub kind: String,
    /// The device, or whatever the mount table has in its place.
    pub source: String,
    /// The options of the file system, with commas.
    pub options: String,
}

impl Mount {
    /// Returns the value of an option, the empty one for an option without a value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.split(',').find_map(|option| match option.split_once('=') {
            Some((key, value)) => (key == name).then_some(value),
            None => (option == name).then_some(""),
        })
    }
}

impl Facts {
    /// Returns what matters of ext4, if the directory is on it.
    pub(crate) fn ext4(&self) -> Option<&Ext4> {
        match &self.details {
            Details::Ext4(ext4) => Some(ext4),
            Details::Xfs(_) | Details::Btrfs(_) | Details::Overlay(_) | Details::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Mount;

    #[test]
    fn options_are_found_by_their_whole_name() {
        let options = "rw,max_dir_size_kb=8,nodelalloc".into();
        let mount = Mount { point: "/".into(), kind: "ext4".into(), source: "/dev/x".into(), options };
        assert_eq!(mount.option("max_dir_size_kb"), Some("8"));
        assert_eq!((mount.option("nodelalloc"), mount.option("delalloc")), (Some(""), None));
        assert_eq!((mount.option("dir_size_kb"), mount.option("rw")), (None, Some("")));
    }
}
