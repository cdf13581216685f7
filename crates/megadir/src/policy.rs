//! Choice of the backend: a table of file systems with the reason for each row.
//!
//! [`crate::Listing`] applies the table, and `Listing::choice` reports the chosen row.
//!
//! Uncached names are listed by more threads than processors, because threads that wait for the device need no
//! processor: on two processors eight threads list names on XFS in 0.49 of the time of two [0.45, 0.55], but cached
//! ones in 1.27 [1.09, 1.41] (`records/2026-11-27-threads.md`). So the extra threads are started only if the first
//! batch waited. This helps names on ext4 and XFS, and attributes and trees on btrfs too. It has not been measured on
//! rotating disks.

use std::fmt;
use std::sync::OnceLock;

use crate::backend::{self, Backend};
use crate::dir::Dir;
use crate::error::Result;
use crate::file_system::FileSystem;
use crate::options::{ReadAhead, ReadOptions};

/// Backend and options chosen for a directory, and the reason.
#[derive(Clone, Copy)]
pub struct Choice {
    /// Backend.
    pub backend: &'static dyn Backend,
    /// Options for the backend.
    pub options: ReadOptions,
    /// File system of the directory.
    pub file_system: FileSystem,
    /// Size of the directory itself, bytes.
    pub directory_bytes: u64,
    /// Reason, one sentence.
    pub reason: &'static str,
}

/// One row: how to read directories of a file system.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// File system; `None` for all without a row.
    pub file_system: Option<FileSystem>,
    /// Minimum size of the directory itself for splitting, bytes; `None` for never.
    pub split_from_bytes: Option<u64>,
    /// Shares per thread, if split.
    pub shares_per_thread: usize,
    /// Useful threads per processor while the directory is read from the device; one where it is cached.
    pub uncached_threads_per_processor: usize,
    /// Buffer per system call, bytes.
    pub buffer_bytes: usize,
    /// Reason, one sentence.
    pub reason: &'static str,
}

const LOCAL: usize = 128 << 10;
const REMOTE: usize = 1 << 20;

/// The most that old servers accept, and the size of the fastest method of the source study.
const WINDOWS: usize = 64 << 10;
const WINDOWS_REASON: &str = "each call returns a buffer of entries with attributes and file IDs; \
                              chosen from published results, not yet measured on Windows";

const WHOLE: Row = Row {
    file_system: None,
    split_from_bytes: None,
    shares_per_thread: 1,
    uncached_threads_per_processor: 1,
    buffer_bytes: LOCAL,
    reason: "",
};

/// The table. Sizes from which splitting pays were measured by the `listing` study, positions by `tests/positions.rs`.
pub static ROWS: &[Row] = &[
    Row {
        file_system: Some(FileSystem::Ext4),
        split_from_bytes: Some(1 << 20),
        shares_per_thread: 8,
        uncached_threads_per_processor: 4,
        reason: "ext4 orders entries by a uniform hash, so threads can read equal shares; \
                 uncached reads wait for every block, so more threads than processors help",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Xfs),
        split_from_bytes: Some(1 << 20),
        shares_per_thread: 16,
        uncached_threads_per_processor: 4,
        reason: "XFS orders entries by their offset in the directory, so threads can read shares; \
                 shares are uneven, so there are many",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Btrfs),
        split_from_bytes: Some(1 << 20),
        shares_per_thread: 16,
        reason: "btrfs numbers entries in order of creation, so threads can read ranges of numbers",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Tmpfs),
        reason: "tmpfs returns entries in descending positions, which cannot be divided",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Overlay),
        reason: "overlayfs merges layers in memory; its positions cannot be divided",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Nfs),
        buffer_bytes: REMOTE,
        reason: "NFS positions are the server's cookies; a large buffer saves round trips",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Cifs),
        buffer_bytes: REMOTE,
        reason: "SMB positions are the client's; a large buffer saves round trips",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Fuse),
        buffer_bytes: REMOTE,
        reason: "FUSE positions are the server's cookies; a large buffer saves context switches",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Jfs),
        reason: "JFS lists in the order of names, and its positions are numbers in order of creation, so they do not ascend",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Reiserfs),
        reason: "ReiserFS orders entries by a hash; dividing it was not measured, since Linux removed it in 6.13",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::F2fs),
        reason: "F2FS orders entries by the slots of its hash table; dividing them was not measured with several processors",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Nilfs2),
        reason: "NILFS2 positions are byte offsets, and Linux 5.10 cannot begin to read between two entries",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::Ntfs),
        reason: "NTFS moves entries to other positions while names are created, so shares would lose entries",
        ..WHOLE
    },
    Row {
        file_system: Some(FileSystem::ExFat),
        reason: "exFAT positions are byte offsets; dividing them was not measured with several processors",
        ..WHOLE
    },
    Row {
        file_system: None,
        reason: "the positions of this file system may not be divisible, so one thread reads it",
        ..WHOLE
    },
];

/// Row of a file system.
pub fn row(file_system: FileSystem) -> &'static Row {
    row_of(ROWS, |row| row.file_system, file_system)
}

pub(crate) fn row_of<T>(
    rows: &'static [T],
    file_system_of: impl Fn(&T) -> Option<FileSystem>,
    file_system: FileSystem,
) -> &'static T {
    let last = &rows[rows.len() - 1];
    rows.iter().find(|row| file_system_of(row) == Some(file_system)).unwrap_or(last)
}

/// Maximum number of threads chosen for one directory. More are not faster.
pub const THREADS_PICKED_MAX: usize = 8;

/// Number of processors that this process may use, at most [`THREADS_PICKED_MAX`]; as when it was first asked for.
pub fn processors() -> usize {
    // A dozen system calls, as many as the rest of a small directory takes.
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS
        .get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_PICKED_MAX))
}

/// Number of threads worth using for a directory of a file system, if it is not cached.
pub fn threads(file_system: FileSystem, processors: usize) -> usize {
    uncached_threads(row(file_system).uncached_threads_per_processor, processors)
}

pub(crate) fn uncached_threads(per_processor: usize, processors: usize) -> usize {
    (per_processor * processors.max(1)).min(THREADS_PICKED_MAX)
}

/// Chooses backend and options for a directory, with at most `threads` threads. Errors: as [`Dir::size_bytes`].
pub fn choose(directory: &Dir, threads: usize) -> Result<Choice> {
    choose_between(directory, threads, threads)
}

/// Chooses backend and options for a directory, with one thread per processor, or [`threads`] if reading the first batch waits
/// for the device. Errors: as [`choose`].
pub fn choose_freely(directory: &Dir) -> Result<Choice> {
    let threads_max = threads(directory.file_system(), processors());
    choose_between(directory, processors(), threads_max)
}

/// The table proposes; what the directory shows decides. `split` is chosen only if its probe succeeds on this
/// very directory and it can be opened again, because each thread needs a position of its own. Everything
/// that speaks against it is a reason in words and leaves `getdents`. On Windows and other systems the backend
/// is always the same.
pub(crate) fn choose_between(directory: &Dir, threads: usize, threads_max: usize) -> Result<Choice> {
    let file_system = directory.file_system();
    let directory_bytes = directory.size_bytes()?;
    let row = row(file_system);
    let choice = |backend, options, reason| Choice { backend, options, file_system, directory_bytes, reason };
    let serial = ReadOptions { read_ahead: ReadAhead::Auto, ..ReadOptions::serial(row.buffer_bytes) };
    if let Some(by_handle) = backend::find("by-handle") {
        let options = ReadOptions { buffer_bytes: WINDOWS, ..serial };
        return Ok(choice(by_handle, options, WINDOWS_REASON));
    }
    let Some(getdents) = backend::find("getdents") else {
        return Ok(choice(backend::by_name("std")?, serial, "the only backend on this system"));
    };
    let reason = match row.split_from_bytes {
        None => row.reason,
        Some(_) if threads_max < 2 => "only one thread is allowed, and getdents is the fastest with one",
        Some(split_from_bytes) if directory_bytes < split_from_bytes => {
            "the directory is too small for a second thread to help"
        }
        Some(_) => {
            let split = backend::by_name("split")?;
            if split.probe(directory).is_ok() && directory.reopen().is_ok() {
                let shares = threads_max * row.shares_per_thread;
                let options = ReadOptions { threads, threads_max, shares, ..serial };
                return Ok(choice(split, options, row.reason));
            }
            "the directory's positions cannot be divided (no index, or no search permission)"
        }
    };
    Ok(choice(getdents, serial, reason))
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadOptions { buffer_bytes, threads, threads_max, shares, .. } = self.options;
        write!(f, "{} on {}", self.backend.name(), self.file_system)?;
        if self.backend.uses_buffer() {
            write!(f, ", buffer {} KiB", buffer_bytes >> 10)?;
        }
        if self.backend.uses_threads() {
            write!(f, ", {threads} {}", if threads == 1 { "thread" } else { "threads" })?;
            match threads_max > threads {
                true => write!(f, " ({threads_max} if uncached), up to {shares} shares")?,
                false => write!(f, ", {shares} shares")?,
            }
        }
        write!(f, ", directory of {} bytes: {}", self.directory_bytes, self.reason)
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Choice({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::{ROWS, row};
    use crate::FileSystem;

    #[test]
    fn every_file_system_has_one_row_and_the_last_is_for_the_rest() {
        for (index, of_table) in ROWS.iter().enumerate() {
            assert_eq!(of_table.file_system.is_none(), index == ROWS.len() - 1);
            assert!(ROWS[..index].iter().all(|other| other.file_system != of_table.file_system));
            assert!(of_table.reason.len() > 20);
        }
        assert!(row(FileSystem::Other(1)).split_from_bytes.is_none());
        assert_eq!(row(FileSystem::Ext4).shares_per_thread, 8);
    }
}
