//! The oldest files of a tree in bounded memory, by time and path.
//!
//! Rows are added in any order. When they exceed their memory, the younger half is dropped, and from then on younger files are not added.
//! So the rows are always the oldest ones, none left out, whatever the number of files.

use std::cmp::Ordering;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::attributes::{Attributes, StatMask, Time};

/// Place in the order of removal: oldest first, and files of one time by the bytes of their paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) time: Time,
    pub(super) path: Vec<u8>,
}

/// Sums of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of files.
    pub files: u64,
    /// Space on disk, bytes.
    pub bytes: u64,
}

impl Amount {
    /// Sizes are whatever a file system reports: sums stop at the largest number.
    pub(super) fn add(&mut self, other: &Self) {
        self.files = self.files.saturating_add(other.files);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Hash of all that a use, a change or an exchange of a file alters: device, inode, size, times and birth time.
pub(super) fn print(file: &Attributes) -> u64 {
    let born = file.have.contains(StatMask::BORN).then_some(file.born);
    let times = (file.modified, file.changed, file.accessed, born);
    let hash = BuildHasherDefault::<DefaultHasher>::default();
    hash.hash_one((file.device, file.inode, file.size_bytes, times))
}

/// File in `Oldest`: its path is `length` bytes of the paths from `begins` on. `print` is the hash to which the file
/// is compared before its removal; `bytes` is its space on disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) time: Time,
    pub(super) print: u64,
    pub(super) bytes: u64,
    begins: usize,
    length: u32,
}

/// Paths lie one behind the other in one vector, because a million strings of their own would take more memory than
/// the rows. `bytes_max` limits both vectors by their lengths. Files are added from an interval of the order, between
/// `after`, which is fixed, and `before`, which each cut moves towards `after`.
#[derive(Debug)]
pub(super) struct Oldest {
    rows: Vec<Row>,
    paths: Vec<u8>,
    bytes_max: usize,
    /// Files up to it are not added: they were judged before.
    after: Option<Key>,
    /// Files from it on are not added: there was no room.
    before: Option<Key>,
}

/// Rows that are left after a cut, at least.
const ROWS_MIN: usize = 2;

impl Oldest {
    pub(super) fn new(bytes_max: usize, after: Option<Key>) -> Self {
        Self { rows: Vec::new(), paths: Vec::new(), bytes_max, after, before: None }
    }

    /// Adds a file if there is room for it. `false` for one that a former collection has had.
    pub(super) fn add(&mut self, time: Time, path: &[u8], bytes: u64, print: u64) -> bool {
        let place = (time, path);
        let key = |key: &Key| (key.time, key.path.as_slice()).cmp(&place);
        if self.after.as_ref().is_some_and(|after| key(after).is_ge()) {
            return false;
        }
        if self.before.as_ref().is_some_and(|before| key(before).is_le()) {
            return true;
        }
        let (begins, length) = (self.paths.len(), path.len() as u32);
        self.paths.extend_from_slice(path);
        self.rows.push(Row { time, print, bytes, begins, length });
        if self.bytes() > self.bytes_max && self.rows.len() > ROWS_MIN {
            self.cut();
        }
        true
    }

    fn bytes(&self) -> usize {
        self.paths.len() + self.rows.len() * size_of::<Row>()
    }

    /// `true` if younger files were left out.
    pub(super) fn is_cut(&self) -> bool {
        self.before.is_some()
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn path(&self, row: &Row) -> &[u8] {
        &self.paths[row.begins..row.begins + row.length as usize]
    }

    pub(super) fn key(&self, row: &Row) -> Key {
        Key { time: row.time, path: self.path(row).to_vec() }
    }

    /// Oldest first.
    pub(super) fn sort(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_unstable_by(|a, b| self.order(a, b));
        self.rows = rows;
    }

    fn order(&self, a: &Row, b: &Row) -> Ordering {
        a.time.cmp(&b.time).then_with(|| self.path(a).cmp(self.path(b)))
    }

    /// Drops the younger half.
    fn cut(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        let half = rows.len() / 2;
        rows.select_nth_unstable_by(half, |a, b| self.order(a, b));
        self.before = Some(self.key(&rows[half]));
        rows.truncate(half);
        // In the order of their paths in memory, so that each moves towards the beginning.
        rows.sort_unstable_by_key(|row| row.begins);
        let mut end = 0;
        for row in &mut rows {
            self.paths.copy_within(row.begins..row.begins + row.length as usize, end);
            row.begins = end;
            end += row.length as usize;
        }
        self.paths.truncate(end);
        self.rows = rows;
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Oldest};
    use crate::attributes::Time;

    fn time(seconds: u64) -> Time {
        Time { seconds: seconds.cast_signed(), nanoseconds: 0 }
    }

    #[test]
    fn the_oldest_are_kept_in_bounded_memory_and_the_next_collection_has_the_following_ones() {
        for (seed, bytes_max) in [(1_u64, 100), (2, 3_000), (3, 3_000), (4, 1 << 20)] {
            let mut all: Vec<(Time, Vec<u8>)> = (0..5_000_u64)
                .map(|index| {
                    let random = (index + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                    (time(random % 50), format!("d/{}/{index}", random % 7).into_bytes())
                })
                .collect();
            let mut found = Vec::new();
            let mut after: Option<Key> = None;
            loop {
                let mut oldest = Oldest::new(bytes_max, after.take());
                for (time, path) in &all {
                    oldest.add(*time, path, 1, 0);
                    assert!(oldest.bytes() <= bytes_max.max(200), "{}", oldest.bytes());
                }
                oldest.sort();
                let rows = oldest.rows();
                found.extend(rows.iter().map(|row| (row.time, oldest.path(row).to_vec())));
                after = rows.last().map(|row| oldest.key(row));
                if !oldest.is_cut() || found.len() > 300 {
                    break;
                }
            }
            all.sort();
            assert_eq!(found, all[..found.len()], "seed {seed}");
            assert_eq!(found.len() == all.len(), bytes_max == 1 << 20);
        }
    }
}
