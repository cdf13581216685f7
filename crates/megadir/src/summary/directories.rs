//! Totals of each directory of a tree in bounded memory: unfinished directories, a few per thread and level,
//! and of the finished ones those with the most entries.
//!
//! A walk interleaves the batches of directories and, if requested, reports the end of each, so that only unfinished
//! directories are kept.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::Total;
use crate::attributes::{Attributes, StatMask, Time};

/// Totals of one directory, without the directories below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectoryTotals {
    /// Entries and bytes.
    pub total: Total,
    /// Size of the largest entry, bytes; `None` if no size is known.
    pub largest_bytes: Option<u64>,
    /// Latest modification time of the entries; `None` if no time is known.
    pub newest: Option<Time>,
}

/// A directory and its totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryRow {
    /// Directory.
    pub path: PathBuf,
    /// Its totals.
    pub totals: DirectoryTotals,
}

/// Collects the totals of each directory of a tree and lists those with the most entries.
///
/// ```
/// use megadir::{Dir, DirectorySummary, STAT_BACKENDS, Walk, WalkItem, WalkOptions};
/// let examine = Some((STAT_BACKENDS[0], DirectorySummary::WANT));
/// let options = WalkOptions { examine, report_ends: true, ..WalkOptions::new(1) };
/// let mut walk = Walk::new(Dir::open("/etc")?, &options)?;
/// let mut summary = DirectorySummary::new(10);
/// while let Some(item) = walk.next_item() {
///     match item {
///         WalkItem::Batch { directory, attributes, .. } => {
///             summary.enter(directory);
///             attributes.iter().for_each(|attributes| summary.add(attributes));
///         }
///         WalkItem::End { directory } => summary.end(directory),
///         _ => {}
///     }
/// }
/// for row in summary.finish() {
///     println!("{} entries in {}", row.totals.total.entries, row.path.display());
/// }
/// # Ok::<(), megadir::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DirectorySummary {
    /// Comparing and hashing paths would split them into components.
    unfinished: HashMap<OsString, DirectoryTotals>,
    current: Option<(OsString, DirectoryTotals)>,
    finished: Vec<DirectoryRow>,
    capacity: usize,
    total: Total,
    directories: u64,
}

/// Others among the finished directories, in addition to as many as are listed.
const SLACK: usize = 64;

impl DirectorySummary {
    /// Attributes needed.
    pub const WANT: StatMask = StatMask::SIZE.union(StatMask::MODIFIED);

    /// Creates an empty summary that lists the `top` directories with the most entries.
    pub fn new(top: usize) -> Self {
        Self {
            unfinished: HashMap::new(),
            current: None,
            finished: Vec::new(),
            capacity: top,
            total: Total::default(),
            directories: 0,
        }
    }

    /// Sets the directory of the entries that follow.
    pub fn enter(&mut self, directory: &Path) {
        let directory = directory.as_os_str();
        if self.current.as_ref().is_some_and(|(current, _)| current == directory) {
            return;
        }
        if let Some((before, totals)) = self.current.take() {
            self.unfinished.insert(before, totals);
        }
        self.current = Some(self.take_unfinished(directory));
    }

    /// Adds an entry of the current directory. Skips entries that were removed since the listing.
    #[inline]
    pub fn add(&mut self, attributes: &Attributes) {
        let Some((_, totals)) = &mut self.current else { return };
        if attributes.has_vanished() {
            return;
        }
        let has_size = attributes.have.contains(StatMask::SIZE);
        totals.total.add(if has_size { attributes.size_bytes } else { 0 });
        if has_size {
            totals.largest_bytes = totals.largest_bytes.max(Some(attributes.size_bytes));
        }
        if attributes.have.contains(StatMask::MODIFIED) {
            totals.newest = totals.newest.max(Some(attributes.modified));
        }
    }

    /// Marks a directory as finished. A directory that was never entered is empty.
    pub fn end(&mut self, directory: &Path) {
        let directory = directory.as_os_str();
        let current = self.current.take_if(|(current, _)| *current == *directory);
        let (path, totals) = current.unwrap_or_else(|| self.take_unfinished(directory));
        self.close(path, totals);
    }

    fn take_unfinished(&mut self, directory: &OsStr) -> (OsString, DirectoryTotals) {
        let unfinished = self.unfinished.remove_entry(directory);
        unfinished.unwrap_or_else(|| (directory.to_owned(), DirectoryTotals::default()))
    }

    fn close(&mut self, path: OsString, totals: DirectoryTotals) {
        self.directories += 1;
        self.total.merge(totals.total);
        if totals.total.entries > 0 && self.capacity > 0 {
            self.finished.push(DirectoryRow { path: path.into(), totals });
        }
        if self.finished.len() > self.capacity.saturating_mul(2).saturating_add(SLACK) {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.finished.sort_unstable_by(|a, b| a.rank().cmp(&b.rank()));
        self.finished.truncate(self.capacity);
    }

    /// Counts unfinished directories and returns those with the most entries, largest first. Ties are in byte
    /// order of their paths. Empty directories are left out.
    pub fn finish(&mut self) -> Vec<DirectoryRow> {
        let unfinished = std::mem::take(&mut self.unfinished).into_iter().chain(self.current.take());
        for (path, totals) in unfinished {
            self.close(path, totals);
        }
        self.shorten();
        std::mem::take(&mut self.finished)
    }

    /// Number of finished directories.
    pub fn directories(&self) -> u64 {
        self.directories
    }

    /// Entries and bytes of all finished directories.
    pub fn total(&self) -> Total {
        self.total
    }
}

impl DirectoryRow {
    fn rank(&self) -> (Reverse<u64>, &OsStr) {
        (Reverse(self.totals.total.entries), self.path.as_os_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(size_bytes: u64, modified_s: i64) -> Attributes {
        let modified = Time { seconds: modified_s, nanoseconds: 0 };
        Attributes { have: DirectorySummary::WANT, size_bytes, modified, ..Attributes::NOTHING }
    }

    #[test]
    fn batches_of_several_directories_may_alternate() {
        let mut summary = DirectorySummary::new(5);
        for (directory, size, modified) in [("a", 3, -7), ("b", 9, 5), ("a", 1, 8), ("b", 0, 0), ("a", 2, 1)]
        {
            summary.enter(directory.as_ref());
            summary.add(&entry(size, modified));
        }
        summary.end("b".as_ref());
        summary.end("empty".as_ref());
        assert_eq!(summary.directories(), 2, "a has not ended");
        let rows = summary.finish();
        let total = Total { entries: 3, bytes: 6 };
        let newest = Some(Time { seconds: 8, nanoseconds: 0 });
        assert_eq!(rows.iter().map(|row| row.path.to_str()).collect::<Vec<_>>(), [Some("a"), Some("b")]);
        assert_eq!(rows[0].totals, DirectoryTotals { total, largest_bytes: Some(3), newest });
        assert_eq!((summary.directories(), summary.total()), (3, Total { entries: 5, bytes: 15 }));
    }

    #[test]
    fn unknown_facts_are_not_invented() {
        let mut summary = DirectorySummary::new(5);
        summary.enter("d".as_ref());
        summary.add(&Attributes { error: 13, ..Attributes::NOTHING });
        summary.add(&Attributes { error: 2, ..Attributes::NOTHING });
        let totals = summary.finish()[0].totals;
        // The second entry has vanished.
        let total = Total { entries: 1, bytes: 0 };
        assert_eq!(totals, DirectoryTotals { total, largest_bytes: None, newest: None });
    }

    proptest! {
        #[test]
        fn the_top_is_the_beginning_of_the_sorted_whole(
            entries in prop::collection::vec(0..20u8, 0..200),
            capacity in 0..8usize,
        ) {
            let mut summary = DirectorySummary::new(capacity);
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for directory in &entries {
                let path = format!("d{directory}");
                summary.enter(path.as_ref());
                summary.add(&entry(1, 1));
                *counts.entry(path).or_default() += 1;
            }
            counts.keys().step_by(2).for_each(|path| summary.end(path.as_ref()));
            let mut sorted: Vec<_> = counts.iter().map(|(path, count)| (Reverse(*count), path.clone())).collect();
            sorted.sort();
            sorted.truncate(capacity);
            let rows = summary.finish();
            let found: Vec<_> = rows
                .iter()
                .map(|row| (Reverse(row.totals.total.entries), row.path.to_string_lossy().into_owned()))
                .collect();
            prop_assert_eq!(found, sorted);
            prop_assert_eq!(summary.directories(), counts.len() as u64);
            prop_assert_eq!(summary.total().entries, entries.len() as u64);
        }
    }
}
