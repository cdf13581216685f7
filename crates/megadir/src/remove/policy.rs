//! Order in which entries are removed, number of entries read ahead and number of threads: a table, with the reason in each row.

use super::WORKERS_MAX;
use crate::file_system::FileSystem;

/// Order in which a directory's entries are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Listing order.
    Listed,
    /// By inode, within windows of the row's size.
    Inode,
    /// By inode within each window, highest first.
    InodeDescending,
}

/// Removal order and window for the directories of a file system.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// File system; `None` for all without a row.
    pub file_system: Option<FileSystem>,
    /// Order of removal.
    pub order: Order,
    /// Size of a window that is read before it is removed, bytes of records (24 plus the name, rounded up).
    pub window_bytes: usize,
    /// Threads that remove, at most.
    pub workers_max: usize,
    /// Evidence for this row.
    pub reason: &'static str,
}

/// A large window, bytes: about 400 000 entries with names of 16 bytes. An uncached ext4 directory that takes
/// two windows is removed a third slower, because each window goes through the inode blocks.
pub const WINDOW_BYTES: usize = 16 << 20;
/// All windows of a removal together, bytes: with more than two workers each has a smaller one. Sorting by
/// inode adds up to two thirds of this.
pub const WINDOWS_BYTES_ALL: usize = 32 << 20;
/// Names of waiting directories of all workers together, bytes.
pub const WAITING_BYTES_ALL: usize = 4 << 20;
#[cfg(any(target_os = "linux", windows))]
pub(super) const RECORD_BYTES_MIN: usize = 24;
/// Positions stay valid during removals.
const LISTED_BYTES: usize = 128 << 10;

/// The table of file systems.
pub static ROWS: &[Row] = &[
    Row {
        file_system: Some(FileSystem::Ext4),
        order: Order::Inode,
        window_bytes: WINDOW_BYTES,
        workers_max: WORKERS_MAX,
        reason: "ext4 lists by hash, a random order of inodes; sorted, each block of the inode tables is read and changed once",
    },
    Row {
        file_system: Some(FileSystem::Xfs),
        order: Order::Listed,
        window_bytes: LISTED_BYTES,
        workers_max: WORKERS_MAX,
        reason: "XFS lists in the order of creation, which is mostly inode order",
    },
    Row {
        file_system: Some(FileSystem::Btrfs),
        order: Order::InodeDescending,
        window_bytes: WINDOW_BYTES,
        workers_max: 1,
        reason: "removing an item in btrfs moves all later items of its leaf, so the last items go first; \
            each listing call scans all uncommitted removals, so few calls are made; \
            threads wait for each other's locks on the tree of the subvolume, and two take 1.75 [1.40, 2.08] times as long as one (records/2026-11-28-btrfs-removal.md)",
    },
    Row {
        file_system: Some(FileSystem::Tmpfs),
        order: Order::Listed,
        window_bytes: LISTED_BYTES,
        workers_max: WORKERS_MAX,
        reason: "tmpfs has no inode tables",
    },
    #[cfg(windows)]
    Row {
        file_system: Some(FileSystem::Ntfs),
        order: Order::Listed,
        window_bytes: LISTED_BYTES,
        workers_max: WORKERS_MAX,
        reason: "NTFS lists by name and continues after the last name, even if names were removed meanwhile",
    },
    Row {
        file_system: None,
        order: Order::Listed,
        window_bytes: WINDOW_BYTES,
        workers_max: WORKERS_MAX,
        reason: "positions may shift when entries are removed (network, FUSE), so most directories are read to the end first",
    },
];

#[cfg(any(target_os = "linux", windows))]
pub(super) fn workers(row: &Row, dry_run: bool) -> usize {
    // Only removing waits for btrfs's locks.
    let workers_max = if dry_run { WORKERS_MAX } else { row.workers_max };
    crate::policy::processors().min(workers_max)
}

#[cfg(any(target_os = "linux", windows))]
pub(super) fn window_bytes(window_bytes: usize, workers: usize) -> usize {
    window_bytes.min(WINDOWS_BYTES_ALL / workers).max(LISTED_BYTES)
}

/// Finds the row for a file system.
pub fn row(file_system: FileSystem) -> &'static Row {
    crate::policy::row_of(ROWS, |row| row.file_system, file_system)
}

#[cfg(test)]
mod tests {
    use super::{ROWS, WORKERS_MAX, row};
    use crate::FileSystem;

    #[test]
    fn every_file_system_has_one_row_and_the_last_is_for_the_rest() {
        for (index, of_table) in ROWS.iter().enumerate() {
            assert_eq!(of_table.file_system.is_none(), index == ROWS.len() - 1);
            assert!(ROWS[..index].iter().all(|other| other.file_system != of_table.file_system));
            assert!(of_table.reason.len() > 20);
            assert!((1..=WORKERS_MAX).contains(&of_table.workers_max));
            // Positions in a window have 32 bits, and each worker has one window.
            assert!((64 << 10..=16 << 20).contains(&of_table.window_bytes));
        }
        assert_eq!(row(FileSystem::Nfs).file_system, None);
        assert_eq!(row(FileSystem::Ext4).file_system, Some(FileSystem::Ext4));
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn memory_is_bounded_for_any_number_of_workers() {
        use super::{RECORD_BYTES_MIN, WAITING_BYTES_ALL, window_bytes};
        for workers in 1..=WORKERS_MAX {
            for row in ROWS {
                let window = window_bytes(row.window_bytes.max(super::WINDOW_BYTES), workers);
                let index = window / RECORD_BYTES_MIN * size_of::<(u64, u32)>();
                let all = workers * (window + index + WAITING_BYTES_ALL / workers);
                assert!(all <= 60 << 20, "{workers} workers on {:?}: {all} bytes", row.file_system);
            }
        }
    }
}
