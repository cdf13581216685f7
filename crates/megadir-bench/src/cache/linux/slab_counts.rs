//! Kernel counts of inodes, names and metadata buffers; root only. Reference: slabinfo(5), cachestat(2). The
//! counts cover the whole machine or the whole device, so they are an upper bound for a data set.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use megadir_sys::page_cache::resident;
use rustix::fs::{fstat, major, minor};

pub(super) const SLABINFO: &str = "/proc/slabinfo";
const DENTRY: &str = "dentry";
/// Pages of a device that a mounted file system holds.
const PAGES_FEW: u64 = 256;
/// Objects counted as used although they are free: the kernel counts per-CPU slabs as full.
const OBJECTS_FEW: u64 = 2_000;

/// A file system with known caches: contents in the page cache, names and inodes in kernel slabs, metadata
/// blocks as `buffers` says; all of them read from a device.
struct Known {
    name: &'static str,
    /// Slabs of its inodes; the kernel configuration decides which driver serves an older version.
    inodes: &'static [&'static str],
    buffers: Buffers,
}

enum Buffers {
    Device,
    /// In objects of this slab, which is missing from the list if the kernel merged it with another slab.
    Slab(&'static str),
}

const KNOWN: &[Known] = &[
    Known { name: "ext2", inodes: &["ext2_inode_cache", "ext4_inode_cache"], buffers: Buffers::Device },
    Known { name: "ext3", inodes: &["ext4_inode_cache"], buffers: Buffers::Device },
    Known { name: "ext4", inodes: &["ext4_inode_cache"], buffers: Buffers::Device },
    Known { name: "xfs", inodes: &["xfs_inode"], buffers: Buffers::Slab("xfs_buf") },
    Known { name: "btrfs", inodes: &["btrfs_inode"], buffers: Buffers::Slab("btrfs_extent_buffer") },
];

fn known(file_system: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == file_system)
}

/// `true` if the caches of this file system are known.
pub(super) fn is_known(file_system: &str) -> bool {
    known(file_system).is_some()
}

/// Reason for a state being unavailable or not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) String);

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlabCounts {
    pub(super) inodes: u64,
    pub(super) names: u64,
    /// Buffers or pages of metadata; `None` if they cannot be counted.
    pub(super) buffers: Option<Buffered>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffered {
    pub(super) count: u64,
    /// Number that may always be present.
    pub(super) few: u64,
}

impl SlabCounts {
    /// Reads the counts for the file system of `directory`.
    pub(super) fn now(directory: BorrowedFd<'_>, file_system: &str) -> Result<Self, Refusal> {
        let text = std::fs::read_to_string(SLABINFO)
            .map_err(|error| format!("{SLABINFO} cannot be read: {error}"))?;
        let counts = Self::parse(&text, file_system)
            .ok_or_else(|| format!("{SLABINFO} counts no inodes of {file_system}"))?;
        match known(file_system).map(|known| &known.buffers) {
            Some(Buffers::Device) => {
                let buffered = |count| Buffered { count, few: PAGES_FEW };
                Ok(Self { buffers: device_pages(directory).map(buffered), ..counts })
            }
            _ => Ok(counts),
        }
    }

    fn parse(text: &str, file_system: &str) -> Option<Self> {
        let known = known(file_system)?;
        let active = |slab: &str| {
            let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(slab))?;
            line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let inodes: Vec<u64> = known.inodes.iter().filter_map(|slab| active(slab)).collect();
        if inodes.is_empty() {
            return None;
        }
        let buffers = match known.buffers {
            Buffers::Device => None,
            Buffers::Slab(name) => active(name).map(|count| Buffered { count, few: OBJECTS_FEW }),
        };
        Some(Self { inodes: inodes.iter().sum(), names: active(DENTRY)?, buffers })
    }
}

fn device_pages(directory: BorrowedFd<'_>) -> Option<u64> {
    let number = fstat(directory).ok()?.st_dev;
    let told = format!("/sys/dev/block/{}:{}/uevent", major(number), minor(number));
    let told = std::fs::read_to_string(told).ok()?;
    let name = told.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
    let device = File::open(std::path::Path::new("/dev").join(name)).ok()?;
    // In a container the path may lead to another device.
    if fstat(&device).ok()?.st_rdev != number {
        return None;
    }
    resident(device.as_fd()).ok().map(|found| found.cached)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "slabinfo - version: 2.1\n# name <active_objs> <num_objs>\n\
        ext4_inode_cache   69440  69441   1128   14    4 : tunables    0    0    0 : slabdata   4960   4960      0\n\
        xfs_buf              126    210    384   21    2 : tunables    0    0    0 : slabdata     10     10      0\n\
        xfs_inode            112    176   1024   16    4 : tunables    0    0    0 : slabdata     11     11      0\n\
        dentry            114723 114724    192   21    1 : tunables    0    0    0 : slabdata   5463   5463      0\n";

    #[test]
    fn counts_are_read_by_file_system() {
        assert_eq!(
            SlabCounts::parse(TEXT, "ext4"),
            Some(SlabCounts { inodes: 69440, names: 114_723, buffers: None })
        );
        assert_eq!(
            SlabCounts::parse(TEXT, "ext2"),
            Some(SlabCounts { inodes: 69440, names: 114_723, buffers: None })
        );
        assert_eq!(
            SlabCounts::parse(TEXT, "xfs"),
            Some(SlabCounts {
                inodes: 112,
                names: 114_723,
                buffers: Some(Buffered { count: 126, few: OBJECTS_FEW })
            })
        );
        assert_eq!(SlabCounts::parse(TEXT, "btrfs"), None);
        assert_eq!(SlabCounts::parse(TEXT, "tmpfs"), None);
        assert!(is_known("xfs") && !is_known("tmpfs") && !is_known("overlay"));
    }
}
