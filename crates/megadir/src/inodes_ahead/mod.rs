//! Reads inodes ahead in the order of the disk, where the device answers slowly.
//!
//! A rotating disk takes milliseconds per request that is far from the one before, and next to nothing for one that follows it. Listing,
//! examining and removing touch inodes in the order of the directory, and several threads at once touch distant ones. So as soon as the
//! first requests took long (`latency.rs`), one entry per block of inodes is examined first, in the order of the inodes, with as many
//! requests at a time as a disk sorts (`names.rs`), for the entries of a directory or of many directories (`below.rs`). What follows finds all in the
//! kernel's caches and needs one thread.
//!
//! Nothing here changes a file or the result of an operation: what fails is read later by the operation itself.

mod below;
mod first;
mod latency;
mod names;

use std::collections::HashSet;
use std::ffi::CStr;
use std::sync::{Mutex, OnceLock};

pub(crate) use self::below::Below;
pub(crate) use self::first::is_slow;
use self::latency::Latency;
use crate::file_system::FileSystem;
use crate::mounts::Mounts;
use crate::threads::lock;

/// Requests at a time: what the command queue of a disk holds.
const REQUESTS: usize = 32;

/// Which inodes a file system reads at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocks {
    /// Number of the first inode.
    first: u64,
    /// Inodes per block, at least.
    inodes: u64,
    /// One of this number of names of a large directory, in any order, touches nearly all blocks of its index by hash. `None` if listing has read it.
    index_one_in: Option<usize>,
}

impl Blocks {
    const fn of(file_system: FileSystem) -> Option<Self> {
        match file_system {
            // A block of 4 KiB with inodes of 256 bytes; the kernel reads 32 blocks at once.
            FileSystem::Ext4 => Some(Self { first: 1, inodes: 16, index_one_in: None }),
            // A cluster has 32 inodes, whatever their size. A leaf of the index has 256 to 512 names.
            FileSystem::Xfs => Some(Self { first: 0, inodes: 32, index_one_in: Some(64) }),
            // A leaf of 16 KiB has at most some fifty inodes with their names and extents, or some two hundred entries of the index.
            FileSystem::Btrfs => Some(Self { first: 0, inodes: 16, index_one_in: Some(16) }),
            _ => None,
        }
    }

    const fn block(self, inode: u64) -> u64 {
        inode.saturating_sub(self.first) / self.inodes
    }
}

/// State of one operation on one file system, shared by its threads.
///
/// `blocks` is `None` where the file system's inodes cannot be read in blocks, and then nothing is ever read
/// ahead. `latency` is fed by the operation itself and decides from its first requests. The threads of the
/// operation wait for `turn`, since what they are about to read is what is being read ahead.
#[derive(Debug)]
pub(crate) struct InodesAhead {
    blocks: Option<Blocks>,
    latency: Latency,
    /// Two threads that read ahead in two places would have the disk move between them.
    turn: Mutex<()>,
    /// Directories whose subdirectories were read ahead.
    done: Mutex<HashSet<u64>>,
    /// Read when they are needed first; `None` without the table.
    mounts: OnceLock<Option<Mounts>>,
}

/// Numbers of directories that are remembered.
const DONE_MAX: usize = 1 << 16;

impl InodesAhead {
    pub(crate) fn new(file_system: FileSystem) -> Self {
        #[cfg(test)]
        if tests::IS_SLOW.get() {
            // The inodes of the file system of the tests are as good as any.
            let latency = Latency::slow();
            return Self {
                blocks: Blocks::of(FileSystem::Xfs),
                latency,
                turn: Mutex::default(),
                done: Mutex::default(),
                mounts: OnceLock::new(),
            };
        }
        Self {
            blocks: Blocks::of(file_system),
            latency: Latency::new(),
            turn: Mutex::default(),
            done: Mutex::default(),
            mounts: OnceLock::new(),
        }
    }

    /// Something may be mounted on an entry of this name. Such an entry is left to the operation: a request for it goes to the mounted
    /// file system, whose server may not answer.
    fn may_be_mount_point(&self, name: &CStr) -> bool {
        let mounts = self.mounts.get_or_init(|| Mounts::read().ok());
        mounts.as_ref().is_none_or(|mounts| mounts.may_be_on(name.to_bytes()))
    }

    /// For a device that was found to be slow already.
    pub(crate) fn with_slow_device(file_system: FileSystem) -> Self {
        Self { latency: Latency::slow(), ..Self::new(file_system) }
    }

    /// Reading ahead is of use: the requests that this operation waited for took long.
    #[inline]
    pub(crate) fn is_of_use(&self) -> bool {
        self.blocks.is_some() && self.latency.is_slow()
    }

    /// Measures a call that may wait for the device.
    #[inline]
    pub(crate) fn observe<T>(&self, call: impl FnOnce() -> T) -> T {
        match self.blocks {
            Some(_) => self.latency.observe(call),
            None => call(),
        }
    }

    /// The directories below the one with this inode number were read ahead.
    pub(crate) fn are_done_below(&self, inode: u64) -> bool {
        lock(&self.done).contains(&inode)
    }

    fn note_done(&self, directories: impl Iterator<Item = u64>) {
        let mut done = lock(&self.done);
        if done.len() > DONE_MAX {
            done.clear();
        }
        done.extend(directories);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::{Blocks, InodesAhead};
    use crate::FileSystem;

    thread_local! {
        pub(super) static IS_SLOW: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn entries_on_which_something_may_be_mounted_are_left_to_the_operation() {
        let ahead = InodesAhead::new(FileSystem::Xfs);
        assert!(ahead.may_be_mount_point(c"proc"));
        assert!(!ahead.may_be_mount_point(c"no file system is mounted on this"));
    }

    /// Operations that this thread starts meanwhile take the device for slow.
    pub(crate) fn with_slow_device<T>(operation: impl FnOnce() -> T) -> T {
        IS_SLOW.set(true);
        let result = operation();
        IS_SLOW.set(false);
        result
    }

    #[test]
    fn inodes_of_one_block_have_one_number() {
        let ext4 = Blocks::of(FileSystem::Ext4).unwrap();
        assert_eq!([1, 16, 17, 32, 33].map(|inode| ext4.block(inode)), [0, 0, 1, 1, 2]);
        let xfs = Blocks::of(FileSystem::Xfs).unwrap();
        assert_eq!([0, 31, 32, 128].map(|inode| xfs.block(inode)), [0, 0, 1, 4]);
        assert_eq!(ext4.block(0), 0, "no inode has this number");
    }

    #[test]
    fn nothing_is_read_ahead_where_inodes_have_no_place_on_a_disk_or_before_the_device_was_slow() {
        assert!(!InodesAhead::with_slow_device(FileSystem::Tmpfs).is_of_use());
        assert!(!InodesAhead::with_slow_device(FileSystem::Nfs).is_of_use());
        assert!(InodesAhead::with_slow_device(FileSystem::Xfs).is_of_use());
        assert!(!InodesAhead::new(FileSystem::Xfs).is_of_use());
    }
}
