//! Net change below each directory: the difference of two sums of the tree.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use megadir::FileType;

use super::settle::Seen;
use crate::path::{Place, TreePath};
use crate::row::Facts;

type Counts = dyn Fn(&TreePath, &Facts) -> bool + Send + Sync;

/// Entries that count, by path relative to the root and facts.
#[derive(Clone)]
pub struct Counted(pub Arc<Counts>);

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counted")
    }
}

/// Net changes, see [`CompareOptions::gains`](super::CompareOptions::gains).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gains {
    /// Directories with changes, even if they cancel out, and all directories above them, by path.
    pub directories: Vec<Gain>,
    /// `false` if a counted entry has no recorded space on disk.
    pub has_allocated: bool,
}

/// Net change of everything below a directory. A rename is a loss at the old path and a gain at the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gain {
    /// Index of the root.
    pub root: u32,
    /// Path relative to the root; empty for the root.
    pub path: TreePath,
    /// Number of entries.
    pub entries: i64,
    /// Space on disk of entries other than directories, bytes. A file counts for each name. Space allocated
    /// later without another change is missing.
    pub allocated: i128,
    /// Sizes of entries other than directories, bytes, counted as `allocated`.
    pub apparent: i128,
}

/// Signed, since a directory may lose more than it gains. Bytes have 128 bits, so that no sum of sizes
/// overflows.
#[derive(Default)]
struct Sum {
    entries: i64,
    allocated: i128,
    apparent: i128,
}

struct Sums<'a> {
    counted: &'a Counted,
    by_directory: BTreeMap<Place, Sum>,
    has_allocated: bool,
}

impl Sums<'_> {
    fn add(&mut self, root: u32, path: &TreePath, facts: &Facts, sign: i8) {
        if path.is_empty() || !(self.counted.0)(path, facts) {
            return;
        }
        let sum = self.by_directory.entry((root, path.parent())).or_default();
        sum.entries += i64::from(sign);
        if facts.kind != FileType::Directory {
            self.has_allocated &= facts.allocated_bytes.is_some();
            sum.allocated += i128::from(sign) * i128::from(facts.allocated_bytes.unwrap_or(0));
            sum.apparent += i128::from(sign) * i128::from(facts.size_bytes.unwrap_or(0));
        }
    }
}

impl Gains {
    /// Works on the entries seen at each path, before renames are paired: an entry that was renamed is a loss
    /// there and a gain here, as two runs of `usage` would have it. Sums are kept for the directory of each
    /// difference, and then added to the directory above, the deepest path first; only directories with
    /// differences take memory.
    pub(super) fn of(seen: &Seen, counted: &Counted) -> Self {
        let mut sums = Sums { counted, by_directory: BTreeMap::new(), has_allocated: true };
        for old in &seen.missing {
            sums.add(old.root, &old.path, &old.facts, -1);
        }
        for new in &seen.came {
            sums.add(new.root, &new.path, &new.facts, 1);
        }
        for (old, new) in seen.replaced.iter().chain(&seen.stayed) {
            sums.add(old.root, &old.path, &old.facts, -1);
            sums.add(old.root, &old.path, new, 1);
        }
        for change in &seen.settled {
            if let (Some(old), Some(new)) = (&change.old, &change.new) {
                sums.add(change.root, &change.path, old, -1);
                sums.add(change.root, &change.path, new, 1);
            }
        }
        let Sums { mut by_directory, has_allocated, .. } = sums;
        let mut directories = Vec::new();
        // A directory comes before the directories below it, so the last one is complete.
        while let Some(((root, path), sum)) = by_directory.pop_last() {
            if !path.is_empty() {
                let above = by_directory.entry((root, path.parent())).or_default();
                above.entries += sum.entries;
                above.allocated += sum.allocated;
                above.apparent += sum.apparent;
            }
            let Sum { entries, allocated, apparent } = sum;
            directories.push(Gain { root, path, entries, allocated, apparent });
        }
        directories.reverse();
        Self { directories, has_allocated }
    }
}
