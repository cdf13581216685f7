//! What changed in a tree since an inventory of it was made.
//!
//! ```text
//! inventory -> blocks (one directory each) --+
//!                                            +-> compared by threads -> seen, path by path -> settle -> changes
//! tree, by descriptor, names or attributes --+
//! ```

pub(crate) mod compare;
pub(crate) mod engine;
mod fields;
mod hash;
mod only;
mod proof;
mod racy;
pub(crate) mod settle;
pub(crate) mod source;

pub use compare::{CompareOptions, Compared, Watch, compare};
pub use fields::Fields;
pub use hash::{Hashing, verify};
pub use only::compare_only;

use crate::path::TreePath;
use crate::row::Facts;

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// There is an entry where there was none.
    Added,
    /// There is no entry any more.
    Removed,
    /// Something about it differs; [`Change::fields`] says what.
    Modified,
    /// The same file has another path: inode, device and time of birth are the same, without a time of birth size and
    /// time of modification too; on NTFS of Windows the file's number alone.
    Renamed,
    /// There is a file of another type.
    TypeChanged,
    /// Nothing differs, and yet the contents may: the file was changed so shortly before it was examined, or after,
    /// that one more change in the same step of the clock would have left its times as they are.
    Suspect,
}

impl ChangeKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Added, Self::Removed, Self::Modified, Self::Renamed, Self::TypeChanged, Self::Suspect];

    /// Returns the name used in output, e.g. `type-changed`.
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
    /// What became of the entry.
    pub kind: ChangeKind,
    /// The index of its tree.
    pub root: u32,
    /// Its path relative to the root of the tree: where it is, or where it was if it was removed; empty for the root.
    pub path: TreePath,
    /// Where it was, if it is elsewhere now: it was renamed, or a directory above it was.
    pub from: Option<TreePath>,
    /// What was known of it.
    pub old: Option<Facts>,
    /// What is known of it now.
    pub new: Option<Facts>,
    /// What differs. Times, size and links of directories that follow from their entries are left out, and so is the
    /// time of change of what was renamed, which the renaming changes.
    pub fields: Fields,
    /// The contents may have changed besides without anything telling, see [`ChangeKind::Suspect`].
    pub suspect: bool,
}
