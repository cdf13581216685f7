//! Comparison of a tree with its copy, by relative path and by what a copy keeps.
//!
//! ```text
//! tree -> thread: scan, sorted -> bounded channel -+-> rows by key -> join -> differences, one by one
//! inventory ----------------------------------------+                  |
//!                                                   contents and link targets, by descriptor
//! ```
//!
//! Each side is a tree or an inventory. Both are sources of rows in the order of an inventory, joined in one pass, so
//! memory does not depend on the number of entries. Inode numbers, ctime, birth time and links, which no copy keeps,
//! are not looked at. Times of directories are left out: they change whenever an entry comes or goes.
//!
//! An entry below a directory that one side could not list, or below a mount that it did not enter, is neither missing nor
//! extra. Such entries are counted in [`Counts`].
//!
//! | file | subject |
//! |---|---|
//! | `join.rs` | pairs the rows of both sides and classifies them |
//! | `source.rs` | rows of a tree that another thread scans, and rows of an inventory |
//! | `properties.rs` | the set of properties, and their comparison by the facts of rows |
//! | `contents.rs` | files and link targets of trees, read relative to descriptors |
//! | `unlisted.rs` | directories whose entries one side does not know |

mod contents;
mod join;
mod properties;
mod source;
mod unlisted;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use megadir::{Conditions, TreeEvent};

pub use join::compare_copies;
pub use properties::Properties;

use crate::file::Inventory;
use crate::row::{Facts, Key};
use crate::scan::ScanOptions;

/// One side of a comparison.
pub enum Side {
    /// Directory, which is scanned. [`ScanOptions::conditions`] are replaced by those of the comparison.
    Tree(PathBuf, Box<ScanOptions>),
    /// Inventory of a tree.
    Inventory(Box<Inventory>),
}

/// Settings of a comparison.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// Properties that have to be equal; the type always has to.
    pub properties: Properties,
    /// [`Conditions::exclude`] and [`Conditions::depth_max`] leave out entries on both sides; other conditions are not supported.
    pub conditions: Option<Arc<Conditions>>,
}

/// Request to stop, and receiver of events.
pub struct CopyWatch<'w> {
    /// Set to stop the comparison.
    pub stop: &'w AtomicBool,
    /// Called by the threads of both scans and by the join (`None`) with the number of rows compared as
    /// [`TreeEvent::Written`]; the number is the index of the side.
    pub event: &'w (dyn Fn(Option<usize>, &TreeEvent<'_>) + Sync),
}

/// Kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceKind {
    /// Only the first side has the entry.
    Missing,
    /// Only the second side has it.
    Extra,
    /// Both have it, and [`Difference::properties`] differ.
    Differs,
    /// A side could not read it completely, so that nothing is known about what it could not read.
    Unreadable,
}

impl DifferenceKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Missing, Self::Extra, Self::Differs, Self::Unreadable];

    /// Name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Differs => "differs",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One difference, borrowed from the rows.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// Kind.
    pub kind: DifferenceKind,
    /// Path; the root is the index of the tree.
    pub key: Key<'a>,
    /// Properties that differ.
    pub properties: Properties,
    /// Facts of the first and of the second side, as far as the side has the entry.
    pub facts: [Option<&'a Facts>; 2],
    /// Index of the side that could not read the entry, and the operation with the reason.
    pub unreadable: Option<(usize, &'a str)>,
}

/// Numbers of entries. The roots count only in `differing` and `unreadable`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries that both sides have, equal in all properties.
    pub agreeing: u64,
    /// [`DifferenceKind::Missing`].
    pub missing: u64,
    /// [`DifferenceKind::Extra`].
    pub extra: u64,
    /// [`DifferenceKind::Differs`].
    pub differing: u64,
    /// [`DifferenceKind::Unreadable`]; an entry may also be missing or differ.
    pub unreadable: u64,
    /// Entries of one side below directories that the other side could not list.
    pub below_unread: u64,
    /// Entries of one side below mounts that the other side did not enter.
    pub below_mounts: u64,
    /// Mounts that a side did not enter where the other side has a directory, counted on each side.
    pub mounts: u64,
}

impl Counts {
    /// `true` if everything could be compared.
    pub fn is_complete(&self) -> bool {
        self.unreadable == 0 && self.below_unread == 0 && self.mounts == 0 && self.below_mounts == 0
    }

    /// Number of differences of a kind.
    pub fn of(&self, kind: DifferenceKind) -> u64 {
        match kind {
            DifferenceKind::Missing => self.missing,
            DifferenceKind::Extra => self.extra,
            DifferenceKind::Differs => self.differing,
            DifferenceKind::Unreadable => self.unreadable,
        }
    }

    fn count(&mut self, kind: DifferenceKind) {
        *match kind {
            DifferenceKind::Missing => &mut self.missing,
            DifferenceKind::Extra => &mut self.extra,
            DifferenceKind::Differs => &mut self.differing,
            DifferenceKind::Unreadable => &mut self.unreadable,
        } += 1;
    }
}
