//! Changes in a tree since an inventory of it was made.
//!
//! ```text
//! inventory -> blocks (one directory each) --+
//!                                            +-> compared by threads -> seen, path by path -> settle -> changes
//! tree, by descriptor, names or attributes --+
//! ```

pub(crate) mod compare;
pub(crate) mod engine;
mod fields;
mod gains;
mod hash;
mod keep;
mod only;
mod proof;
mod refresh;
pub(crate) mod settle;
pub(crate) mod source;
mod two;

pub use compare::{CompareOptions, Compared, Kept, Watch, check_first_root, compare};
pub use fields::Fields;
pub use gains::{Counted, Gain, Gains};
pub use hash::{Hashing, verify};
pub use keep::Keep;
pub use only::compare_only;
pub use two::{compare_inventories, compare_scanned};

use crate::path::{Place, TreePath};
use crate::row::Facts;

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
    /// Differences, except in times, size and links of directories that follow from their entries, and ctime
    /// of renamed entries.
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
