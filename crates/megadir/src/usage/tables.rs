//! Distributions over a whole tree.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use super::{Amount, Item, Report};
use crate::attributes::Time;
use crate::file_type::FileType;
use crate::summary::{AgeBucket, SizeBucket, ages, filled, sizes};

/// Later keys count as the rest.
const ROWS_MAX: usize = 4096;
/// Longer extensions count as [`Extension::Other`].
const EXTENSION_BYTES_MAX: usize = 7;
const COUNT_BUCKETS: usize = 21;

/// Class of a file name by the text after its last dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extension {
    /// Up to 7 ASCII letters and digits, at least one letter, in lower case; 0 fills the rest.
    Letters([u8; EXTENSION_BYTES_MAX]),
    /// Digits only, such as `1` of `log.1`.
    Digits,
    /// No dot, none but at the beginning, or nothing after it.
    None,
    /// Anything else, and extensions beyond the 4096 first seen.
    Other,
}

impl Extension {
    fn of(name: &[u8]) -> Self {
        let Some(dot) = name.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0) else {
            return Self::None;
        };
        let end = &name[dot + 1..];
        if end.is_empty() {
            return Self::None;
        }
        if end.iter().all(u8::is_ascii_digit) {
            return Self::Digits;
        }
        if end.len() > EXTENSION_BYTES_MAX || !end.iter().all(u8::is_ascii_alphanumeric) {
            return Self::Other;
        }
        let mut letters = [0; EXTENSION_BYTES_MAX];
        letters[..end.len()].copy_from_slice(end);
        letters.make_ascii_lowercase();
        Self::Letters(letters)
    }

    /// Letters and digits; empty for the other classes.
    pub fn letters(&self) -> &str {
        let Self::Letters(bytes) = self else { return "" };
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..end]).unwrap_or_default()
    }
}

/// Directories in a range of numbers of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountRow {
    /// Lowest number of files directly in the directory.
    pub from: u64,
    /// Highest number.
    pub to: u64,
    /// Number of directories.
    pub directories: u64,
    /// Number of files in them.
    pub files: u64,
}

/// Fixed sizes except for owners and extensions, which are bounded tables. Each thread has its own, and they
/// are merged by addition. `now_s` is the same for all, so that an age falls into the same class whatever the
/// time of counting.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) now_s: i64,
    owners: Table<Option<u32>>,
    extensions: Table<Extension>,
    modified: [Amount; ages::BUCKETS],
    accessed: [Amount; ages::BUCKETS],
    sizes: [Amount; sizes::BUCKETS],
    directories: [(u64, u64); COUNT_BUCKETS],
    pub(super) unexamined: u64,
    pub(super) without_allocated: u64,
}

#[derive(Debug)]
struct Table<K> {
    rows: HashMap<K, Amount>,
    last: Option<(K, Amount)>,
    rest: K,
}

impl<K: Copy + Eq + Hash + Ord> Table<K> {
    fn new(rest: K) -> Self {
        Self { rows: HashMap::new(), last: None, rest }
    }

    #[inline]
    fn row(&mut self, key: K) -> &mut Amount {
        if self.last.as_ref().is_none_or(|last| last.0 != key) {
            self.turn_to(key);
        }
        match &mut self.last {
            Some((_, amount)) => amount,
            None => unreachable!("it was set above"),
        }
    }

    fn turn_to(&mut self, key: K) {
        if let Some((before, amount)) = self.last.take() {
            self.keep(before, &amount);
        }
        self.last = Some((key, Amount::default()));
    }

    fn keep(&mut self, key: K, amount: &Amount) {
        let known = self.rows.len() < ROWS_MAX || self.rows.contains_key(&key);
        self.rows.entry(if known { key } else { self.rest }).or_default().merge(amount);
    }

    fn merge(&mut self, other: &Self) {
        let mut rows: Vec<_> =
            other.rows.iter().chain(other.last.iter().map(|(key, row)| (key, row))).collect();
        rows.sort_by_key(|(key, row)| (Reverse(row.entries), **key));
        rows.into_iter().for_each(|(key, amount)| self.keep(*key, amount));
    }

    fn sorted(&self) -> Vec<(K, Amount)> {
        let mut rows = self.rows.clone();
        if let Some((key, amount)) = &self.last {
            rows.entry(*key).or_default().merge(amount);
        }
        let mut rows: Vec<_> = rows.into_iter().filter(|row| row.1 != Amount::default()).collect();
        rows.sort_by_key(|(key, amount)| (Reverse(amount.entries), *key));
        rows
    }
}

impl Tables {
    pub(super) fn new(now_s: i64) -> Self {
        Self {
            now_s,
            owners: Table::new(None),
            extensions: Table::new(Extension::Other),
            modified: Default::default(),
            accessed: Default::default(),
            sizes: [Amount::default(); sizes::BUCKETS],
            directories: Default::default(),
            unexamined: 0,
            without_allocated: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, item: &Item<'_>, is_first: bool) {
        let inodes = u64::from(is_first);
        let (allocated, apparent) = (item.allocated_bytes.unwrap_or(0), item.size_bytes.unwrap_or(0));
        let [allocated, apparent] = [allocated, apparent].map(|bytes| u128::from(bytes * inodes));
        let amount = Amount { entries: 1, inodes, allocated, apparent };
        self.unexamined += u64::from(item.is_unexamined);
        self.without_allocated += u64::from(item.allocated_bytes.is_none() && !item.is_unexamined);
        self.owners.row(item.user).merge(&amount);
        if item.kind == FileType::Directory {
            return;
        }
        self.extension(item.name).entries += 1;
        let age = |time: Time| ages::bucket_of(self.now_s.saturating_sub(time.seconds));
        if let Some(bucket) = item.modified.map(age) {
            self.modified[bucket].merge(&amount);
        }
        if let Some(bucket) = item.accessed.map(age) {
            self.accessed[bucket].merge(&amount);
        }
        if let Some(bytes) = item.size_bytes {
            self.sizes[sizes::bucket_of(bytes)].merge(&amount);
        }
    }

    #[inline]
    pub(super) fn extension(&mut self, name: &[u8]) -> &mut Amount {
        self.extensions.row(Extension::of(name))
    }

    pub(super) fn directory(&mut self, files: u64) {
        let bucket = &mut self.directories[files.checked_ilog10().map_or(0, |power| power as usize + 1)];
        bucket.0 += 1;
        bucket.1 += files;
    }

    pub(super) fn empty_directories(&mut self, count: u64) {
        self.directories[0].0 += count;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.owners.merge(&other.owners);
        self.extensions.merge(&other.extensions);
        let pairs = [(&mut self.modified[..], &other.modified[..]), (&mut self.accessed, &other.accessed)];
        for (own, other) in pairs.into_iter().chain([(&mut self.sizes[..], &other.sizes[..])]) {
            own.iter_mut().zip(other).for_each(|(own, other)| own.merge(other));
        }
        for (own, other) in self.directories.iter_mut().zip(&other.directories) {
            own.0 += other.0;
            own.1 += other.1;
        }
        self.unexamined += other.unexamined;
        self.without_allocated += other.without_allocated;
    }
}

impl Report {
    /// Entries by owner, most entries first: user IDs, `None` if unknown, and for the owners beyond the 4096 first seen.
    pub fn owners(&self) -> Vec<(Option<u32>, Amount)> {
        self.tables.owners.sorted()
    }

    /// Files (entries other than directories) by extension, most entries first.
    pub fn extensions(&self) -> Vec<(Extension, Amount)> {
        self.tables.extensions.sorted()
    }

    /// Files by age: seconds since the last modification.
    pub fn modified(&self) -> Vec<AgeBucket<Amount>> {
        AgeBucket::filled(&self.tables.modified, |amount| amount.entries)
    }

    /// Files by seconds since the last access; empty if no access times are known.
    pub fn accessed(&self) -> Vec<AgeBucket<Amount>> {
        AgeBucket::filled(&self.tables.accessed, |amount| amount.entries)
    }

    /// Files by size.
    pub fn sizes(&self) -> Vec<SizeBucket<Amount>> {
        SizeBucket::filled(&self.tables.sizes, |amount| amount.entries)
    }

    /// Directories by the number of files directly in them.
    pub fn files_per_directory(&self) -> Vec<CountRow> {
        count_rows(&self.tables.directories)
    }
}

fn count_rows(buckets: &[(u64, u64)]) -> Vec<CountRow> {
    let row = |(bucket, (directories, files)): (usize, (u64, u64))| {
        let to = 10_u64.checked_pow(bucket as u32).map_or(u64::MAX, |next| next - 1);
        CountRow { from: bucket_start(bucket), to, directories, files }
    };
    filled(buckets, |row| row.0).map(row).collect()
}

fn bucket_start(bucket: usize) -> u64 {
    bucket.checked_sub(1).map_or(0, |power| 10_u64.saturating_pow(power as u32))
}

#[cfg(test)]
mod tests {
    use super::{Extension, ROWS_MAX, Table, Tables, count_rows};

    #[test]
    fn extensions_are_few_whatever_the_names() {
        let letters = |name: &str| Extension::of(name.as_bytes()).letters().to_owned();
        assert_eq!([letters("a.JPG"), letters("a.tar.gz"), letters("é.mp3")], ["jpg", "gz", "mp3"]);
        for (name, class) in [
            ("Makefile", Extension::None),
            (".bashrc", Extension::None),
            ("ends.", Extension::None),
            ("log.1", Extension::Digits),
            ("a.20260101", Extension::Digits),
            ("a.eightlet", Extension::Other),
            ("a.b-c", Extension::Other),
            ("a.ü", Extension::Other),
        ] {
            assert_eq!(Extension::of(name.as_bytes()), class, "{name}");
        }
    }

    #[test]
    fn rows_beyond_the_most_count_as_the_rest() {
        let mut table = Table::new(None);
        for user in 0..ROWS_MAX as u32 + 10 {
            table.row(Some(user)).entries += 1;
        }
        let rows = table.sorted();
        let rest = rows.iter().find(|row| row.0.is_none()).map(|row| row.1.entries);
        assert_eq!(rows.iter().map(|row| row.1.entries).sum::<u64>(), ROWS_MAX as u64 + 10);
        assert!(rest.is_some_and(|rest| rest >= 9), "{rest:?}");
    }

    #[test]
    fn directories_are_counted_by_powers_of_ten() {
        let mut tables = Tables::new(0);
        [0, 1, 9, 10, 99, 100, u64::MAX / 4].into_iter().for_each(|files| tables.directory(files));
        let rows = count_rows(&tables.directories);
        let ends: Vec<_> = rows.iter().take(4).map(|row| (row.from, row.to, row.directories)).collect();
        assert_eq!(ends, [(0, 0, 1), (1, 9, 2), (10, 99, 2), (100, 999, 1)]);
        assert_eq!(rows.last().map(|row| (row.to >= u64::MAX / 4, row.directories)), Some((true, 1)));
    }
}
