//! Choice of the strategy for reading attributes: a table of file systems with the reason for each row.

use crate::attributes::StatMask;
use crate::backend::Backend;
use crate::dir::Dir;
use crate::error::Result;
use crate::file_system::FileSystem;
use crate::options::RECORD_BYTES_MAX;
use crate::policy::{self, Choice, processors, uncached_threads};
pub use crate::stat::fresh;
use crate::stat::{self, StatBackend};

/// Strategy for reading attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The listing thread reads the attributes of each batch.
    AtOnce,
    /// Threads of backend `split` read the attributes of the shares that they list.
    Shares,
    /// Threads take buffers from one reader and read their attributes.
    Chunks {
        /// Number of threads, not including the caller's.
        threads: usize,
    },
    /// Windows of entries are sorted by inode and processed in that order, in chunks.
    Windows {
        /// Entries per window.
        entries: usize,
        /// Number of threads.
        threads: usize,
    },
}

/// Choice for listing a directory with attributes.
#[derive(Clone, Copy)]
pub struct AttributeChoice {
    /// Backend and options for the listing.
    pub listing: Choice,
    /// Strategy for the attributes.
    pub strategy: Strategy,
    /// Reads the attributes.
    pub stat_backend: &'static dyn StatBackend,
    /// Attributes to read.
    pub want: StatMask,
    /// The device answered the first requests slowly: inodes are read ahead in the order of the disk, many at a time. Only with
    /// [`Strategy::Windows`].
    pub slow_device: bool,
    /// Reason, one sentence.
    pub reason: &'static str,
}

/// Division of work among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Shares of the directory if it can be split, else chunks.
    Shares,
    /// Chunks of one common listing.
    Chunks,
    /// None: one thread, at once.
    Never,
}

/// One row: how to read the attributes of entries of a file system.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// File system; `None` for all without a row.
    pub file_system: Option<FileSystem>,
    /// Division of work among threads.
    pub sharing: Sharing,
    /// Smaller directories are read by one thread; bytes of the directory itself. 0 if its size does not
    /// depend on the number of entries.
    pub alone_below_bytes: u64,
    /// On rotating disks, read larger directories in inode order instead, whether they are cached or not.
    pub inode_order_on_disks: bool,
    /// Buffer per chunk, bytes.
    pub chunk_bytes: usize,
    /// Threads worth having even on fewer processors, because they wait for a server; else 0.
    pub waiting_threads: usize,
    /// Useful threads per processor while they wait for the device.
    pub uncached_threads_per_processor: usize,
    /// Reason, one sentence.
    pub reason: &'static str,
}

/// Entries per window that is sorted by inode: about 20 MiB of names and attributes.
pub const WINDOW_ENTRIES: usize = 100_000;

/// Entries per window for a stat backend that reads inodes with their neighbours: at most 64 MiB of names, and
/// 16 MiB of inode numbers.
pub const NEIGHBOURS_WINDOW_ENTRIES: usize = 1 << 20;

const NEIGHBOURS: &str =
    "the stat backend reads neighbouring inodes at once, and this order makes neighbours of them";

const ON_A_SLOW_DEVICE: &str = "the first requests to the device took over 2 ms each, as on a rotating disk: \
                                the inodes are read ahead in their order on it";

const ON_A_DISK: &str =
    "on a rotating disk, inodes in listing order take one seek each; sorted, they take few";

/// At most a few thousand entries; tmpfs counts 20 bytes per entry, others more.
const SMALL_BYTES: u64 = 256 << 10;
/// 1300 entries with names of 32 bytes, 256 with the longest names.
pub const CHUNK_BYTES: usize = 72 << 10;
/// Small, so that several threads have work in a directory of a few thousand entries, and that attributes that came with the names
/// (READDIRPLUS) are read before they expire. Before Linux 6.16 a call of getdents64 asked a server for no more than a page. Since then
/// larger buffers save requests, 5 instead of 31 READDIRs with 72 KiB for 5000 entries, and as many requests as before for the entries' attributes:
/// on bindfs, sshfs and mergerfs, 32 threads took no less time with 32, 72 or 128 KiB (Linux 6.18).
const FUSE_CHUNK_BYTES: usize = 8 << 10;
const CHUNK_ENTRIES_MIN: usize = 256;
const _: () = assert!(CHUNK_BYTES >= CHUNK_ENTRIES_MIN * RECORD_BYTES_MAX);

const CHUNKS: Row = Row {
    file_system: None,
    sharing: Sharing::Chunks,
    alone_below_bytes: SMALL_BYTES,
    inode_order_on_disks: false,
    chunk_bytes: CHUNK_BYTES,
    waiting_threads: 0,
    uncached_threads_per_processor: 1,
    reason: "",
};

/// The table.
pub static ROWS: &[Row] = &[
    Row {
        file_system: Some(FileSystem::Ext4),
        sharing: Sharing::Shares,
        inode_order_on_disks: true,
        uncached_threads_per_processor: 4,
        reason: "each thread reads attributes in the share that it lists, while the names are in its cache",
        ..CHUNKS
    },
    Row {
        file_system: Some(FileSystem::Xfs),
        sharing: Sharing::Shares,
        uncached_threads_per_processor: 4,
        reason: "shares of the directory are also shares of its inodes, so threads do not contend",
        ..CHUNKS
    },
    Row {
        file_system: Some(FileSystem::Btrfs),
        sharing: Sharing::Shares,
        alone_below_bytes: 0,
        uncached_threads_per_processor: 4,
        reason: "entries are listed in order of creation, which is inode order",
        ..CHUNKS
    },
    Row {
        file_system: Some(FileSystem::Tmpfs),
        reason: "the listing cannot be divided, but reading attributes can, and takes several times as long",
        ..CHUNKS
    },
    Row {
        file_system: Some(FileSystem::Nfs),
        sharing: Sharing::Never,
        alone_below_bytes: u64::MAX,
        reason: "the listing also fetches attributes (READDIRPLUS) if they are read at once and in order",
        ..CHUNKS
    },
    Row {
        file_system: Some(FileSystem::Cifs),
        sharing: Sharing::Never,
        alone_below_bytes: u64::MAX,
        reason: "the listing also fetches attributes if they are read at once and in order",
        ..CHUNKS
    },
    Row {
        file_system: Some(FileSystem::Fuse),
        alone_below_bytes: 0,
        chunk_bytes: FUSE_CHUNK_BYTES,
        waiting_threads: 32,
        reason: "a FUSE server may answer several requests at a time, and keeps attributes that it returned with the names only briefly",
        ..CHUNKS
    },
    Row {
        file_system: None,
        reason: "threads help if the system answers from memory, and do no harm otherwise",
        ..CHUNKS
    },
];

/// Row of a file system.
pub fn row(file_system: FileSystem) -> &'static Row {
    policy::row_of(ROWS, |row| row.file_system, file_system)
}

/// Number of threads worth using for attributes and for trees: one per processor, or as many as wait for a server.
pub fn threads(file_system: FileSystem, processors: usize) -> usize {
    processors.max(row(file_system).waiting_threads)
}

/// Most threads worth using while they wait for the device. Only Linux reports such waits.
pub fn threads_max(file_system: FileSystem, processors: usize) -> usize {
    let per_processor =
        if cfg!(target_os = "linux") { row(file_system).uncached_threads_per_processor } else { 1 };
    uncached_threads(per_processor, processors).max(threads(file_system, processors))
}

/// Chooses how to list a directory and read attributes, with at most `threads` threads. Errors: as [`Dir::size_bytes`].
pub fn choose(directory: &Dir, want: StatMask, threads: usize) -> Result<AttributeChoice> {
    choose_between(directory, want, threads, threads)
}

/// Chooses how to list a directory and read attributes, with [`threads`] threads, or [`threads_max`] where they wait for the
/// device. Errors: as [`choose`].
pub fn choose_freely(directory: &Dir, want: StatMask) -> Result<AttributeChoice> {
    let (file_system, processors) = (directory.file_system(), processors());
    choose_between(directory, want, threads(file_system, processors), threads_max(file_system, processors))
}

pub(crate) fn choose_between(
    directory: &Dir,
    want: StatMask,
    threads: usize,
    threads_max: usize,
) -> Result<AttributeChoice> {
    let listing = policy::choose_between(directory, threads, threads_max)?;
    let stat_backend = stat::preferred(directory)?;
    let row = row(listing.file_system);
    let is_large = listing.directory_bytes >= row.alone_below_bytes;
    let disk = if listing.directory_bytes >= SMALL_BYTES && is_slow(directory) {
        Device::Slow
    } else if row.inode_order_on_disks && is_large && is_rotating(directory) {
        Device::Rotating
    } else {
        Device::Other
    };
    // Chunks do not notice whether they wait. Where the listing is not in inode order, each uncached inode may be waited for.
    let waits_for_each = row.inode_order_on_disks && disk != Device::Slow;
    let threads = if waits_for_each { threads_max } else { threads };
    Ok(decide(row, listing, stat_backend, want, threads, disk))
}

/// The stat backend that was asked for, or else the one that [`choose`] chooses for one thread. Errors: it is unavailable for the
/// directory ([`StatBackend::probe`]), or as [`Dir::size_bytes`].
pub fn stat_backend(
    directory: &Dir,
    want: StatMask,
    requested: Option<&'static dyn StatBackend>,
) -> Result<&'static dyn StatBackend> {
    match requested {
        Some(requested) => requested.probe(directory).map(|()| requested),
        None => Ok(choose(directory, want, 1)?.stat_backend),
    }
}

/// Returns the stat backend, or the default one if it needs attributes from the listing and the backend
/// returns none. Fails only if the system has no stat backend.
pub fn fitting(
    stat_backend: &'static dyn StatBackend,
    backend: &dyn Backend,
) -> Result<&'static dyn StatBackend> {
    let is_in_vain = stat_backend.is_listed() && backend.provides() == StatMask::NOTHING;
    if is_in_vain { stat::by_name("std") } else { Ok(stat_backend) }
}

impl AttributeChoice {
    /// The same with another stat backend, which may want another strategy.
    #[must_use]
    pub fn with_stat_backend(mut self, stat_backend: &'static dyn StatBackend) -> Self {
        self.stat_backend = stat_backend;
        let listing = &self.listing;
        let threads = match self.strategy {
            Strategy::AtOnce => 1,
            Strategy::Shares => listing.options.threads_max,
            Strategy::Chunks { threads } | Strategy::Windows { threads, .. } => threads,
        };
        let is_large = listing.directory_bytes >= row(listing.file_system).alone_below_bytes;
        if stat_backend.reads_neighbours() && is_large {
            self.strategy = Strategy::Windows { entries: NEIGHBOURS_WINDOW_ENTRIES, threads };
            self.reason = NEIGHBOURS;
        }
        self
    }
}

/// Knowledge about the device of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    /// The first requests took long.
    Slow,
    /// A rotating disk by its kind, whose answers did not take long: perhaps all is cached.
    Rotating,
    Other,
}

/// Pure, so that the table is tested without devices. The conditions are in the order of their weight:
/// attributes that the listing returns cost nothing more; a device that was slow, or rotates, decides before
/// the number of threads, because the order of reading matters more there than who reads; then the number of
/// threads; then the row of the file system. The reason of the first condition that applies is the one that
/// is shown.
fn decide(
    row: &Row,
    mut listing: Choice,
    stat_backend: &'static dyn StatBackend,
    want: StatMask,
    threads: usize,
    device: Device,
) -> AttributeChoice {
    let is_large = listing.directory_bytes >= row.alone_below_bytes;
    let (strategy, reason) = if stat_backend.is_listed() {
        (Strategy::AtOnce, "the listing returns the attributes")
    } else if device == Device::Slow {
        (Strategy::Windows { entries: WINDOW_ENTRIES, threads }, ON_A_SLOW_DEVICE)
    } else if device == Device::Rotating && is_large {
        (Strategy::Windows { entries: WINDOW_ENTRIES, threads }, ON_A_DISK)
    } else if threads.max(listing.options.threads_max) < 2 {
        (Strategy::AtOnce, "only one thread is allowed")
    } else if row.sharing == Sharing::Never {
        (Strategy::AtOnce, row.reason)
    } else if row.sharing == Sharing::Shares && listing.backend.name() == "split" {
        (Strategy::Shares, row.reason)
    } else if !is_large {
        (Strategy::AtOnce, "the directory is too small for a second thread to help")
    } else {
        listing.options.buffer_bytes = row.chunk_bytes;
        let one_lists =
            "one thread lists this directory, but several can read attributes, which takes longer";
        let reason = if row.sharing == Sharing::Shares { one_lists } else { row.reason };
        (Strategy::Chunks { threads }, reason)
    };
    let slow_device = device == Device::Slow && matches!(strategy, Strategy::Windows { .. });
    AttributeChoice { listing, strategy, stat_backend, want, slow_device, reason }
}

impl std::fmt::Display for AttributeChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stat_backend = self.stat_backend.name();
        match self.strategy {
            Strategy::AtOnce => write!(f, "{stat_backend} at once, one thread")?,
            Strategy::Shares => write!(f, "{stat_backend} in {} shares", self.listing.options.shares)?,
            Strategy::Chunks { threads } => write!(f, "{stat_backend} in chunks, {threads} threads")?,
            Strategy::Windows { entries, threads } => {
                write!(f, "{stat_backend} in inode order, windows of {entries}, {threads} threads")?;
            }
        }
        write!(f, " ({}); listed by {}", self.reason, self.listing)
    }
}

fn is_rotating(directory: &Dir) -> bool {
    #[cfg(target_os = "linux")]
    return super::disk::is_rotating(directory);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        false
    }
}

fn is_slow(directory: &Dir) -> bool {
    #[cfg(target_os = "linux")]
    return crate::inodes_ahead::is_slow(directory);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Device, FUSE_CHUNK_BYTES, ROWS, Sharing, decide, row};
    use crate::policy::Choice;
    use crate::{FileSystem, ReadOptions, StatMask, Strategy, backend, stat_backend};

    #[test]
    fn every_file_system_has_one_row_and_the_last_is_for_the_rest() {
        for (index, of_table) in ROWS.iter().enumerate() {
            assert_eq!(of_table.file_system.is_none(), index == ROWS.len() - 1);
            assert!(ROWS[..index].iter().all(|other| other.file_system != of_table.file_system));
            assert!(of_table.reason.len() > 20);
            assert_eq!(of_table.sharing == Sharing::Never, of_table.alone_below_bytes == u64::MAX);
        }
        assert_eq!(row(FileSystem::Overlay).file_system, None);
        assert_eq!(row(FileSystem::Other(1)).file_system, None);
    }

    /// Strategy, buffer and reason for a directory of a given size, backend and number of threads.
    fn decided(
        file_system: FileSystem,
        name: &str,
        bytes: u64,
        threads: usize,
    ) -> (Strategy, usize, &'static str) {
        let options = ReadOptions::serial(1 << 20);
        let listing = Choice {
            backend: backend(name).unwrap(),
            options,
            file_system,
            directory_bytes: bytes,
            reason: "picked by the test",
        };
        let choice = decide(
            row(file_system),
            listing,
            stat_backend("std").unwrap(),
            StatMask::ALL,
            threads,
            Device::Other,
        );
        assert_eq!((choice.want, choice.stat_backend.name()), (StatMask::ALL, "std"));
        assert_eq!(choice.listing.backend.name(), name, "the backend stays");
        (choice.strategy, choice.listing.options.buffer_bytes, choice.reason)
    }

    #[test]
    fn every_policy_row_decides_its_case() {
        use FileSystem::{Btrfs, Cifs, Ext4, F2fs, Fuse, Nfs, Other, Overlay, Tmpfs, Xfs};
        const SMALL: &str = "the directory is too small for a second thread to help";
        let chunks = Strategy::Chunks { threads: 3 };
        for file_system in [Ext4, Xfs, Btrfs, Tmpfs, Nfs, Cifs, Fuse, Overlay, F2fs, Other(0x1234)] {
            let of_row = row(file_system).reason;
            let alone = (Strategy::AtOnce, 1 << 20, "only one thread is allowed");
            assert_eq!(decided(file_system, "std", 1 << 30, 1), alone, "{file_system}");
            let large = decided(file_system, "std", 1 << 30, 3);
            let small = decided(file_system, "std", 4096, 3);
            match file_system {
                Nfs | Cifs => {
                    assert_eq!(large, (Strategy::AtOnce, 1 << 20, of_row), "{file_system}");
                    assert_eq!(small, large, "{file_system}");
                }
                // The size of the directory does not matter.
                Fuse => {
                    assert_eq!(large, (chunks, FUSE_CHUNK_BYTES, of_row));
                    assert_eq!(small, large);
                    assert_eq!(super::threads(file_system, 2), 32);
                }
                Ext4 | Xfs | Btrfs => {
                    assert_eq!((large.0, large.1), (chunks, CHUNK_BYTES), "{file_system}");
                    assert!(large.2.starts_with("one thread lists this directory"), "not split: {}", large.2);
                    let expected =
                        if file_system == Btrfs { large } else { (Strategy::AtOnce, 1 << 20, SMALL) };
                    assert_eq!(small, expected, "{file_system}");
                }
                _ => {
                    assert_eq!(large, (chunks, CHUNK_BYTES, of_row), "{file_system}");
                    assert_eq!(small, (Strategy::AtOnce, 1 << 20, SMALL), "{file_system}");
                }
            }
        }
    }

    #[test]
    fn large_directories_on_disks_that_turn_are_examined_in_windows() {
        let in_inode_order: Vec<_> = ROWS.iter().filter(|row| row.inode_order_on_disks).collect();
        assert_eq!(in_inode_order.len(), 1, "others list in the order of inodes, or have none of their own");
        let ext4 = row(FileSystem::Ext4);
        assert!(ext4.inode_order_on_disks);
        for (bytes, threads) in [(1 << 30, 1), (1 << 30, 4), (4096, 4)] {
            let options = ReadOptions::serial(1 << 20);
            let listing = Choice {
                backend: backend("std").unwrap(),
                options,
                file_system: FileSystem::Ext4,
                directory_bytes: bytes,
                reason: "picked by the test",
            };
            let decide =
                |device| decide(ext4, listing, stat_backend("std").unwrap(), StatMask::ALL, threads, device);
            let windows = Strategy::Windows { entries: 100_000, threads };
            let choice = decide(Device::Rotating);
            assert_eq!(choice.strategy == windows, bytes > 4096, "{bytes} bytes, {threads} threads");
            assert!(!choice.slow_device, "it may be cached");
            let choice = decide(Device::Slow);
            assert_eq!((choice.strategy, choice.slow_device), (windows, true));
            assert!(decide(Device::Other).strategy != windows);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn split_directories_are_examined_in_shares() {
        for file_system in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
            let expected = (Strategy::Shares, 1 << 20, row(file_system).reason);
            assert_eq!(decided(file_system, "split", 1 << 20, 2), expected);
        }
    }
}
