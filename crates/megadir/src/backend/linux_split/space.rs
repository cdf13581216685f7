//! File systems whose directory positions can be divided.
//!
//! | file system | position | end of the range |
//! |---|---|---|
//! | ext4 with an index | hash of the name, 63 bits, uniform (`hash2pos`) | 2^63 - 1 |
//! | XFS | byte offset of the record / 8 | directory size / 8 |
//! | btrfs | number of the entry in order of creation | found by probing |
//!
//! tmpfs positions descend; positions of overlayfs, NFS and FUSE are opaque. A new file system needs the property test on a real mount.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{IFlags, SeekFrom, seek};

use crate::backend::linux_getdents::read;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::ext4_disk::flags;
use crate::file_system::FileSystem;

const NO_HASHES: &str = "this directory has no hash index, so its positions are not hashes";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// ext4: 63-bit hashes of names, uniform.
    Hashes,
    /// XFS: byte offsets divided by 8.
    Offsets { size_bytes: u64 },
    /// btrfs: numbers in order of creation.
    Numbers,
}

impl Space {
    /// Fails with [`ErrorKind::Unavailable`] if positions cannot be divided.
    pub(crate) fn of(directory: &Dir) -> Result<Self> {
        let refuse =
            |reason: String| Err(Error::new("split", directory.path(), ErrorKind::Unavailable, reason));
        if cfg!(not(target_pointer_width = "64")) {
            return refuse("a 32-bit process sees positions truncated to 32 bits".into());
        }
        match directory.file_system() {
            FileSystem::Ext4 if has_index(directory) => Ok(Self::Hashes),
            FileSystem::Ext4 => refuse(NO_HASHES.into()),
            FileSystem::Xfs => Ok(Self::Offsets { size_bytes: directory.size_bytes()? }),
            FileSystem::Btrfs => Ok(Self::Numbers),
            FileSystem::Tmpfs => refuse("tmpfs returns entries in descending positions".into()),
            other @ (FileSystem::Overlay | FileSystem::Nfs | FileSystem::Cifs | FileSystem::Fuse) => {
                refuse(format!("positions on {other} are opaque cookies"))
            }
            other => {
                refuse(format!("cannot split directories on {other}; supported are ext4, xfs and btrfs"))
            }
        }
    }

    /// As [`Space::of`], if the first records of the directory end at `offset`.
    pub(crate) fn of_read(directory: &Dir, offset: i64) -> Result<Self> {
        let space = Self::of(directory)?;
        match space.is_plausible(offset) {
            true => Ok(space),
            false => Err(Error::new("split", directory.path(), ErrorKind::Unavailable, NO_HASHES)),
        }
    }

    /// `offset`: after the first records of the directory.
    pub(super) fn is_plausible(self, offset: i64) -> bool {
        match self {
            // Directories without the index feature keep their flag but have byte offsets, smaller than nearly all hashes.
            Self::Hashes => offset > i64::from(u32::MAX),
            Self::Offsets { .. } | Self::Numbers => true,
        }
    }

    /// Few or no entries lie at or past it.
    pub(crate) fn end(
        self,
        directory: BorrowedFd<'_>,
        start: i64,
        path: &Path,
        calls: &AtomicU64,
    ) -> Result<i64> {
        match self {
            Self::Hashes => Ok(i64::MAX),
            Self::Offsets { size_bytes } => Ok(i64::try_from(size_bytes / 8).unwrap_or(i64::MAX)),
            Self::Numbers => last_number(directory, start, path, calls),
        }
    }
}

fn has_index(directory: &Dir) -> bool {
    let index = IFlags::from_bits_retain(flags::INDEX);
    rustix::fs::ioctl_getflags(directory.as_fd()).is_ok_and(|flags| flags.contains(index))
}

/// At least one but few entries follow the result.
fn last_number(directory: BorrowedFd<'_>, start: i64, path: &Path, calls: &AtomicU64) -> Result<i64> {
    let has_entry_at = |position: i64| -> Result<bool> {
        calls.fetch_add(1, Ordering::Relaxed);
        seek(directory, SeekFrom::Start(u64::try_from(position).unwrap_or(0))).at("read", path)?;
        Ok(read(directory, &mut [0; 512], path)? > 0)
    };
    let (mut inside, mut outside) = (start.max(1), start.max(1));
    while has_entry_at(outside)? {
        inside = outside;
        match outside.checked_mul(2) {
            Some(doubled) => outside = doubled,
            None => return Ok(i64::MAX),
        }
    }
    while outside - inside > (outside - start.min(inside)) / 256 + 1 {
        let middle = inside + (outside - inside) / 2;
        if has_entry_at(middle)? {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    Ok(outside)
}

pub(super) fn bounds(start: i64, end: i64, shares: usize) -> Vec<i64> {
    let range = i128::from(end.saturating_sub(start).max(0));
    let mut bounds: Vec<i64> = (0..shares)
        .map(|share| (i128::from(start) + range * share as i128 / shares as i128) as i64)
        .collect();
    bounds.dedup();
    bounds.push(i64::MAX);
    bounds.dedup();
    bounds
}

#[cfg(test)]
mod tests {
    use super::bounds;

    #[test]
    fn shares_cover_the_range_without_gap() {
        assert_eq!(bounds(0, 100, 4), [0, 25, 50, 75, i64::MAX]);
        assert_eq!(bounds(10, 10, 4), [10, i64::MAX]);
        assert_eq!(bounds(7, 9, 8), [7, 8, i64::MAX]);
        let whole = bounds(5, i64::MAX, 1024);
        assert_eq!((whole.len(), whole[0], whole[1024]), (1025, 5, i64::MAX));
        assert!(whole.is_sorted());
    }

    #[test]
    fn a_directory_that_shrank_leaves_one_open_share() {
        assert_eq!(bounds(100, 40, 4), [100, i64::MAX]);
    }
}
