//! Changes in a tree since an inventory of it was made.
//!
//! ```text
//! inventory -> blocks (one directory each) --+
//!                                            +-> compared by threads -> seen, path by path -> settle -> changes
//! tree, by descriptor, names or attributes --+
//! ```
//!
//! Directories are compared in any order. A directory with unchanged times that is not racy is not listed again: the
//! names of its block are queried by fstatat(2), which costs less than statx(2) and returns everything except the birth
//! time; an entry with a different or racy value is queried in full. This applies to ext4, XFS, btrfs and tmpfs, where
//! every change of a name changes the times; elsewhere the listing is needed, or carries the attributes.
//!
//! | file | subject |
//! |---|---|
//! | `engine/` | threads join each directory with its rows and compare them; memory holds the directories in progress and the changes |
//! | `proof.rs` | equal times that prove nothing (racy), and numbers that identify a file: on NTFS under Windows only the file ID |
//! | `evidence.rs` | a single entry against its row: the same, changed, or only its contents decide |
//! | `settle.rs` | the only module that knows about renames: pairs removed entries with added ones, directories first |
//! | `two.rs`, `source.rs` | two inventories as one source of pairs of blocks, where names and facts of the newer block replace a listing |
//! | `gains.rs` | sums per path before renames are detected, so that they are the difference of two `usage` runs |
//! | `selection.rs` | conditions on changes, and the inventory's own |
//! | `keep.rs` | passes rows to the sorter of a scan for `--update`: a file has the same form whichever command wrote it |

pub(crate) mod compare;
pub(crate) mod engine;
mod evidence;
mod fields;
mod gains;
pub(crate) mod hash;
mod keep;
mod known;
mod only;
mod proof;
mod refresh;
mod rotten;
mod selection;
pub(crate) mod settle;
pub(crate) mod source;
mod two;

pub use crate::contents::window::ReadOptions;
pub use compare::{check_first_root, compare};
pub use evidence::{Evidence, Sameness};
pub use fields::Fields;
pub use gains::{Counted, Gain, Gains};
pub use hash::{HashCounts, Hashed, Hashing, JournalEnd, verify};
pub use keep::{Keep, Kept};
pub use only::compare_only;
pub use rotten::{Rotten, Share, Verified, Verify, VerifyOptions, verify_contents};
pub use selection::Selection;
pub use two::{compare_inventories, compare_scanned};

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::{Conditions, Error, ErrorKind, Result};

use crate::metadata::Root;
use crate::path::{Place, TreePath};
use crate::row::Facts;
use crate::scan::Excluded;

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// New entry.
    Added,
    /// Entry that is gone.
    Removed,
    /// Entry that differs in [`Change::fields`].
    Modified,
    /// The same file at another path, by inode, device and birth time, or without birth time size and mtime.
    /// On NTFS under Windows the file number is enough.
    Renamed,
    /// Replaced by a file of another type.
    TypeChanged,
    /// Nothing differs, but the file was modified within one clock tick of its examination or later, so a
    /// later write could have kept its times.
    Suspect,
}

impl ChangeKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Added, Self::Removed, Self::Modified, Self::Renamed, Self::TypeChanged, Self::Suspect];

    /// Name in output, e.g. `type-changed`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::TypeChanged => "type-changed",
            Self::Suspect => "suspect",
        }
    }
}

/// One change.
///
/// Old and new facts come from the rows, before and after. `Added` has no old facts and `Removed` no new
/// ones; all other kinds have both. A renamed entry may have changed too, in `fields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Kind.
    pub kind: ChangeKind,
    /// Index of the root.
    pub root: u32,
    /// Path relative to the root; the old path of a removed entry; empty for the root.
    pub path: TreePath,
    /// Old path, if the entry or a directory above it was renamed.
    pub from: Option<TreePath>,
    /// Old facts.
    pub old: Option<Facts>,
    /// New facts.
    pub new: Option<Facts>,
    /// Differences, except in times, size and links of directories that follow from their entries, and ctime of renamed entries.
    pub fields: Fields,
    /// The contents may have changed too, see [`ChangeKind::Suspect`].
    pub suspect: bool,
}

impl Change {
    /// Change of an entry that is the same file: modified, or nothing differs but a later write is possible (`suspect`).
    fn of_same(
        place: impl FnOnce() -> Place,
        (old, new): (&Facts, &Facts),
        fields: Fields,
        suspect: bool,
    ) -> Option<Self> {
        let kind = match (fields.is_empty(), suspect) {
            (false, _) => ChangeKind::Modified,
            (true, true) => ChangeKind::Suspect,
            (true, false) => return None,
        };
        let ((root, path), suspect) = (place(), kind == ChangeKind::Suspect);
        Some(Self { kind, root, path, from: None, old: Some(*old), new: Some(*new), fields, suspect })
    }
}

/// Settings of a comparison.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Number of threads, including the caller's.
    pub threads: usize,
    /// Examine the inventory's names instead of listing directories whose times show no change of names, where that is reliable.
    pub skip_unchanged: bool,
    /// Compare even if a root is not the directory that was scanned.
    pub any_root: bool,
    /// Keep the current rows of the trees as [`Compared::now`].
    pub keep: Option<Keep>,
    /// Files to ignore.
    pub exclude: Vec<Excluded>,
    /// Entries to ignore on both sides, by [`Conditions::exclude`] and [`Conditions::depth_max`]; other
    /// conditions have no effect. Cannot be combined with `keep`.
    pub conditions: Option<Arc<Conditions>>,
    /// Sum up net changes of directories as [`Compared::gains`], counting these entries.
    pub gains: Option<Counted>,
    /// Ask the server of a network file system for attributes ([`megadir::attribute_policy::fresh`]).
    pub fresh: bool,
}

impl CompareOptions {
    /// All entries by `threads` threads, without listing directories that show no change.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            skip_unchanged: true,
            any_root: false,
            keep: None,
            exclude: Vec::new(),
            conditions: None,
            gains: None,
            fresh: false,
        }
    }
}

/// Cancellation flag and progress of a comparison.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set to cancel.
    pub stop: Arc<AtomicBool>,
    /// Number of entries examined.
    pub entries: AtomicU64,
}

/// Result of a comparison.
///
/// The comparison is complete only if `failed` and `unread` are 0 and no mount covers a directory of the
/// inventory; otherwise some entries were not seen, and their changes are not reported.
#[derive(Debug, Default)]
pub struct Compared {
    /// Changes, sorted by root and path.
    pub changes: Vec<Change>,
    /// Failed operations; only the first for the entries of a directory.
    pub failures: Vec<Error>,
    /// Number of entries not examined and directories not listed.
    pub failed: u64,
    /// Number of directories that cannot be listed now but could be at the scan.
    pub unread: u64,
    /// Number of entries and directories that cannot be read now and are not recorded as unreadable.
    pub lost: u64,
    /// The inventory does not record the tree's btrfs subvolumes, so device numbers mean nothing after a remount.
    pub volumes_unknown: bool,
    /// Roots on mounts whose inode numbers identify no files, which were compared by path, type, birth time, size and times.
    pub unnumbered: Vec<u32>,
    /// The same for mounts below the roots.
    pub unnumbered_mounts: Vec<Root>,
    /// Directories covered by a new mount.
    pub other_mounts: Vec<PathBuf>,
    /// Directories that were unreadable at the scan: all their entries count as added.
    pub unknown_before: Vec<PathBuf>,
    /// Number of directories listed.
    pub listed: u64,
    /// Number of directories not listed because of [`CompareOptions::skip_unchanged`].
    pub not_listed: u64,
    /// Current rows, if [`CompareOptions::keep`].
    pub now: Option<Kept>,
    /// Net change of each directory, if [`CompareOptions::gains`].
    pub gains: Option<Gains>,
}

impl Compared {
    /// `true` if everything could be compared.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.unread == 0 && self.other_mounts.is_empty()
    }

    /// `true` if there is any change or suspect.
    pub fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Takes out fields, and entries that are `modified` in nothing else. Everything else stays: entries that were added, removed or renamed, or have
    /// another type.
    pub fn ignore(&mut self, fields: Fields) {
        self.changes.retain_mut(|change| {
            let before = change.fields;
            change.fields = before.without(fields);
            change.kind != ChangeKind::Modified || !change.fields.is_empty() || before.is_empty()
        });
    }

    /// Returns the number of changes of one kind.
    pub fn count(&self, kind: ChangeKind) -> usize {
        self.changes.iter().filter(|change| change.kind == kind).count()
    }
}

fn refuse<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::new("compare", "".as_ref(), ErrorKind::BadOption, reason))
}

fn interrupted(operation: &'static str) -> Error {
    Error::new(operation, "".as_ref(), ErrorKind::Io, "interrupted")
}
