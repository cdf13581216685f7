//! How attributes are asked for on which file system: a table with the reason in each row.

use super::Want;
use super::examiner;
use super::stream::{AttributeChoice, Strategy};
use crate::dir::Dir;
use crate::error::Result;
use crate::file_system::FileSystem;
use crate::policy;

/// How threads share the work on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Shares of the directory where it can be split, chunks otherwise.
    Shares,
    /// Chunks of a common listing.
    Chunks,
    /// None: one thread, at once.
    Never,
}

/// One row: how entries of a file system are examined.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The file system; `None` for whatever has no row.
    pub file_system: Option<FileSystem>,
    /// How threads share the work.
    pub sharing: Sharing,
    /// Why.
    pub reason: &'static str,
}

/// A directory below this size is examined by the reading thread, bytes.
const SMALL_BYTES: u64 = 256 << 10;
/// The buffer where threads take chunks, bytes: about 600 entries.
const CHUNK_BYTES: usize = 32 << 10;

/// The table.
pub static ROWS: &[Row] = &[
    Row {
        file_system: Some(FileSystem::Ext4),
        sharing: Sharing::Shares,
        reason: "each thread asks for the entries of the share it reads, while their names are in its cache",
    },
    Row {
        file_system: Some(FileSystem::Xfs),
        sharing: Sharing::Shares,
        reason: "shares of the directory are shares of its inodes too, so threads do not meet",
    },
    Row {
        file_system: Some(FileSystem::Btrfs),
        sharing: Sharing::Shares,
        reason: "entries are listed in the order of creation, which is the order of the inodes",
    },
    Row {
        file_system: Some(FileSystem::Tmpfs),
        sharing: Sharing::Chunks,
        reason: "the listing cannot be divided, but asking for attributes can: it costs several times as much",
    },
    Row {
        file_system: Some(FileSystem::Nfs),
        sharing: Sharing::Never,
        reason: "the listing brings the attributes along (READDIRPLUS) while they are asked for at once and in order",
    },
    Row {
        file_system: Some(FileSystem::Cifs),
        sharing: Sharing::Never,
        reason: "the listing brings the attributes along while they are asked for at once and in order",
    },
    Row {
        file_system: Some(FileSystem::Fuse),
        sharing: Sharing::Chunks,
        reason: "a FUSE server may answer several requests at a time",
    },
    Row {
        file_system: None,
        sharing: Sharing::Chunks,
        reason: "threads gain wherever the system answers from memory, and lose nothing elsewhere",
    },
];

/// Returns the row for a file system.
pub fn row(file_system: FileSystem) -> &'static Row {
    let last = &ROWS[ROWS.len() - 1];
    ROWS.iter().find(|row| row.file_system == Some(file_system)).unwrap_or(last)
}

/// Picks how a directory is listed and its entries examined; at most `threads` threads are used.
///
/// # Errors
///
/// Whatever asking for the directory's size gives.
pub fn choose(directory: &Dir, want: Want, threads: usize) -> Result<AttributeChoice> {
    let mut listing = policy::choose(directory, threads)?;
    let examiner = examiner::preferred(directory)?;
    let row = row(listing.file_system);
    let choice = |listing, strategy, reason| AttributeChoice { listing, strategy, examiner, want, reason };
    if threads < 2 {
        return Ok(choice(listing, Strategy::AtOnce, "one thread was asked for"));
    }
    match row.sharing {
        Sharing::Never => return Ok(choice(listing, Strategy::AtOnce, row.reason)),
        Sharing::Shares if listing.backend.name() == "split" => {
            return Ok(choice(listing, Strategy::Shares, row.reason));
        }
        Sharing::Shares | Sharing::Chunks => {}
    }
    // tmpfs counts 20 bytes an entry, others more: small is some thousand entries at most.
    if listing.directory_bytes < SMALL_BYTES && listing.file_system != FileSystem::Btrfs {
        return Ok(choice(
            listing,
            Strategy::AtOnce,
            "the directory is too small for a second thread to gain anything",
        ));
    }
    listing.options.buffer_bytes = CHUNK_BYTES;
    Ok(choice(listing, Strategy::Chunks { threads }, row.reason))
}

#[cfg(test)]
mod tests {
    use super::{ROWS, Sharing, row};
    use crate::FileSystem;

    #[test]
    fn every_file_system_has_one_row_and_the_last_is_for_the_rest() {
        for (index, of_table) in ROWS.iter().enumerate() {
            assert_eq!(of_table.file_system.is_none(), index == ROWS.len() - 1);
            assert!(ROWS[..index].iter().all(|other| other.file_system != of_table.file_system));
            assert!(of_table.reason.len() > 20);
        }
        assert_eq!(row(FileSystem::Nfs).sharing, Sharing::Never);
        assert_eq!(row(FileSystem::Ext4).sharing, Sharing::Shares);
        assert_eq!(row(FileSystem::Other(1)).sharing, Sharing::Chunks);
    }
}
