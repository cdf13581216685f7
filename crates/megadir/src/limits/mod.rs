//! Capacity of a directory: number of entries, the limit reached first, and the limit behind a refused create.
//!
//! | file system | limit of one directory | evidence |
//! |---|---|---|
//! | ext2, ext3, ext4 | the hash index: 10 M names of 32 characters with blocks of 4 KiB, 160 k with 1 KiB | a formula, checked against fills |
//! | XFS | 32 GiB of entries: 704 M names of 32 characters | packing measured |
//! | btrfs | none; crafted names of one hash are refused | run |
//! | tmpfs | 2^31 entries; inodes end first | read from the source |
//! | FAT32, exFAT | 65 536 and 8 388 608 records of 32 bytes | read from the source |
//! | NTFS, ZFS | 2^32 - 1 files of a volume; 2^48 entries | documented |
//! | WAFL (NetApp) | the volume's maxdirsize: 4 to 5 M entries in 320 MiB | documented, and the size of the directory |
//! | overlayfs | the upper layer's | looked up if visible |
//! | NFS | the server's | not visible |
//!
//! A model judges [`Facts`], plain data; [`limits`] reads them (Linux, Windows). Every answer states its
//! [`Basis`].
//!
//! ```text
//! Dir --detect--> Facts (plain data, each with its Basis) --MODELS[file system]--> Judgement --+ room (inodes, blocks, quotas)--> Limits
//! ```
//!
//! Each file system has one model, which never touches a file system. It is chosen by the type in the mount table where
//! statfs(2) shows the host's file system (9p) or none (FUSE). `stated.rs` replaces the visible file system by one that
//! the caller names. `explain` turns the error of a create into the limit that it met, from the same facts; `cure.rs`
//! holds all remedies.

mod answer;
mod basis;
mod cure;
#[cfg(target_os = "linux")]
mod detect;
#[cfg(windows)]
#[path = "detect_windows.rs"]
mod detect;
mod explain;
mod ext4;
mod facts;
mod model;
mod name_lengths;
mod others;
mod room;
#[cfg(any(target_os = "linux", windows))]
mod sample;
mod stated;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(not(any(target_os = "linux", windows)))]
pub use answer::limits;
pub use answer::{Assumptions, Limits};
pub use basis::{Basis, Fact, Known, Span};
pub use cure::{Cure, Trap};
pub use explain::{Explanation, Refusal, Step, decide};
#[cfg(any(target_os = "linux", windows))]
pub use explain::{explain, explain_at};
pub use facts::{
    AbsentNames, BtrfsSpace, Contents, Details, Ext4, Ext4Features, Facts, Mount, Quota, QuotaOf, Space,
};
pub use model::{Ceiling, Gauge, Judgement, Limit, Model, Plan};
pub use name_lengths::{NAME_BYTES_MAX, NameLengths};
pub use room::is_linear as is_searched_linearly;
pub use stated::Stated;

#[cfg(any(target_os = "linux", windows))]
use crate::dir::Dir;
#[cfg(any(target_os = "linux", windows))]
use crate::error::Result;
use crate::file_system::FileSystem;

/// Finds how many entries fit a directory and which limit is reached first.
///
/// ```
/// use megadir::limits::{Assumptions, limits};
/// let limits = limits(&megadir::Dir::open(".")?, &Assumptions::MORE_OF_THE_SAME)?;
/// if let (Some(more), Some(limit)) = (limits.entries_until_full(), limits.runs_out_first()) {
///     println!("about {} more entries, then {limit} run out", more.likely);
/// }
/// # Ok::<(), megadir::Error>(())
/// ```
///
/// Errors: the directory cannot be opened or read, or its volume cannot be queried (Windows); write permission is not
/// needed. Other missing facts are assumed and marked as such.
#[cfg(any(target_os = "linux", windows))]
pub fn limits(directory: &Dir, assumptions: &Assumptions<'_>) -> Result<Limits> {
    Ok(Limits::judge(facts(directory, assumptions)?, assumptions.churn))
}

/// Reads the facts about a directory. Errors: as [`limits`].
#[cfg(any(target_os = "linux", windows))]
pub fn facts(directory: &Dir, assumptions: &Assumptions<'_>) -> Result<Facts> {
    let mut facts = detect::visible(directory, assumptions)?;
    if let Some(stated) = assumptions.stated {
        stated.apply(&mut facts);
    }
    Ok(facts)
}

/// All models, one per file system.
pub static MODELS: &[&Model] = &[
    &ext4::EXT4,
    &others::XFS,
    &others::BTRFS,
    &others::TMPFS,
    &others::EXFAT,
    &others::FAT,
    &others::NTFS,
    &others::ZFS,
    &others::WAFL,
    &others::OVERLAY,
    &others::NFS,
    &others::REISERFS,
];

/// Finds the model of a file system.
pub fn model_of(file_system: FileSystem) -> Option<&'static Model> {
    MODELS.iter().copied().find(|model| model.file_system == file_system)
}
