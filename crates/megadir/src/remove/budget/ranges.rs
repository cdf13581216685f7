//! The order of removal in bounded memory: ranges of adjacent keys, each with its number of names, files and bytes.
//!
//! At first each key is a range of its own. When the ranges exceed their memory, neighbours are joined, which keeps all sums exact and
//! forgets only where within a range they are. A key that falls into a range is added to it; ranges never overlap.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::attributes::Time;

/// Place in the order of removal: oldest first, and those of one time by the bytes of their paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) time: Time,
    pub(super) path: Arc<[u8]>,
}

impl Key {
    pub(super) fn cmp_to(&self, time: Time, path: &[u8]) -> Ordering {
        self.time.cmp(&time).then_with(|| (*self.path).cmp(path))
    }
}

/// Sums of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Names that are not directories.
    pub names: u64,
    /// Files: all names of one inode are one file.
    pub files: u64,
    /// Space on disk, bytes.
    pub bytes: u64,
}

impl Amount {
    /// Sizes are whatever a file system reports: sums stop at the largest number.
    pub(super) fn add(&mut self, other: &Self) {
        self.names = self.names.saturating_add(other.names);
        self.files = self.files.saturating_add(other.files);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) first: Key,
    pub(super) last: Key,
    pub(super) amount: Amount,
    /// Keys added, for the balance of the ranges.
    keys: u64,
}

impl Range {
    pub(super) fn is_one_key(&self) -> bool {
        self.first == self.last
    }

    fn bytes(&self) -> usize {
        let path = |key: &Key| key.path.len() + ALLOCATION_BYTES;
        let shares = Arc::ptr_eq(&self.first.path, &self.last.path);
        size_of::<Self>() + path(&self.first) + if shares { 0 } else { path(&self.last) }
    }
}

/// Counts of an `Arc` and what the allocator adds.
const ALLOCATION_BYTES: usize = 32;

#[derive(Debug)]
struct Added {
    time: Time,
    begins: usize,
    length: usize,
    amount: Amount,
}

/// Keys on their way to the ranges.
#[derive(Debug, Default)]
pub(super) struct Keys {
    added: Vec<Added>,
    paths: Vec<u8>,
}

impl Keys {
    pub(super) fn add(&mut self, time: Time, path: &[u8], amount: Amount) {
        let begins = self.paths.len();
        self.paths.extend_from_slice(path);
        self.added.push(Added { time, begins, length: self.paths.len() - begins, amount });
    }

    pub(super) fn bytes(&self) -> usize {
        self.paths.len() + self.added.len() * size_of::<Added>()
    }

    fn path(&self, added: &Added) -> &[u8] {
        &self.paths[added.begins..added.begins + added.length]
    }

    fn append(&mut self, other: &mut Self) {
        let begins = self.paths.len();
        self.paths.append(&mut other.paths);
        let moved = |added: Added| Added { begins: added.begins + begins, ..added };
        self.added.extend(other.added.drain(..).map(moved));
    }
}

#[derive(Debug)]
pub(super) struct Ranges {
    /// Ascending and disjoint.
    sorted: Vec<Range>,
    bytes: usize,
    added: Keys,
    bytes_max: usize,
}

/// Keys wait until they take this share of the memory.
const ADDED_SHARE: usize = 4;

impl Ranges {
    /// Joined once they take more than `bytes_max`.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { sorted: Vec::new(), bytes: 0, added: Keys::default(), bytes_max }
    }

    /// Takes all keys.
    pub(super) fn add(&mut self, keys: &mut Keys) {
        self.added.append(keys);
        if self.added.bytes() > self.bytes_max / ADDED_SHARE {
            self.fold();
        }
    }

    /// Ascending.
    pub(super) fn sorted(&mut self) -> &[Range] {
        self.fold();
        &self.sorted
    }

    fn fold(&mut self) {
        let mut keys = std::mem::take(&mut self.added);
        let mut added = std::mem::take(&mut keys.added);
        added.sort_unstable_by(|a, b| (a.time, keys.path(a)).cmp(&(b.time, keys.path(b))));
        let mut before = std::mem::take(&mut self.sorted).into_iter().peekable();
        let mut sorted: Vec<Range> = Vec::with_capacity(before.len() + added.len());
        for one in added {
            let path = keys.path(&one);
            while let Some(range) = before.next_if(|range| range.last.cmp_to(one.time, path).is_lt()) {
                sorted.push(range);
            }
            let holds = |range: &&mut Range| range.first.cmp_to(one.time, path).is_le();
            let same = |range: &&mut Range| range.last.cmp_to(one.time, path).is_eq();
            let found = match before.peek_mut().filter(holds) {
                // A key twice.
                None => sorted.last_mut().filter(same),
                found => found,
            };
            if let Some(range) = found {
                range.amount.add(&one.amount);
                range.keys += 1;
                continue;
            }
            let key = Key { time: one.time, path: path.into() };
            let range = Range { first: key.clone(), last: key, amount: one.amount, keys: 1 };
            self.bytes += range.bytes();
            sorted.push(range);
        }
        sorted.extend(before);
        self.sorted = sorted;
        while self.bytes > self.bytes_max && self.sorted.len() > 1 {
            self.join();
        }
    }

    /// Leaves at most about half the ranges, with no more keys in one than in four of them on average.
    fn join(&mut self) {
        let keys: u64 = self.sorted.iter().map(|range| range.keys).sum();
        let keys_max = (keys * 4).div_ceil(self.sorted.len() as u64).max(2);
        let mut joined: Vec<Range> = Vec::with_capacity(self.sorted.len() / 2 + 1);
        for range in std::mem::take(&mut self.sorted) {
            match joined.last_mut().filter(|last| last.keys + range.keys <= keys_max) {
                Some(last) => {
                    last.last = range.last;
                    last.amount.add(&range.amount);
                    last.keys += range.keys;
                }
                None => joined.push(range),
            }
        }
        joined.shrink_to_fit();
        self.bytes = joined.iter().map(Range::bytes).sum();
        self.sorted = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, Keys, Ranges};
    use crate::attributes::Time;

    fn one(bytes: u64) -> Amount {
        Amount { names: 1, files: 1, bytes }
    }

    #[test]
    fn sums_of_joined_ranges_stay_exact_in_bounded_memory() {
        for seed in 0..4_u64 {
            let mut ranges = Ranges::new(20_000);
            let mut all = Vec::new();
            for index in 0..20_000_u64 {
                let random = (index + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                // In the second half the keys concentrate in one range.
                let seconds = if seed % 2 == 1 && index > 10_000 { 77 } else { (random % 1000) as i64 };
                let key = (Time { seconds, nanoseconds: 0 }, format!("d/{random}"), index % 7);
                let mut keys = Keys::default();
                keys.add(key.0, key.1.as_bytes(), one(key.2));
                ranges.add(&mut keys);
                assert_eq!(keys.bytes(), 0);
                all.push(key);
                assert!(ranges.bytes + ranges.added.bytes() < 20_000 + 20_000 / 2, "{}", ranges.bytes);
            }
            all.sort();
            let sorted = ranges.sorted();
            assert!((20..200).contains(&sorted.len()), "{}", sorted.len());
            assert!(sorted.windows(2).all(|pair| pair[0].last < pair[1].first));
            let mut rest = all.into_iter().peekable();
            for range in sorted {
                let mut expected = Amount::default();
                while let Some(key) = rest.next_if(|key| range.last.cmp_to(key.0, key.1.as_bytes()).is_ge()) {
                    assert!(range.first.cmp_to(key.0, key.1.as_bytes()).is_le());
                    expected.add(&one(key.2));
                }
                assert_eq!(range.amount, expected);
            }
            assert_eq!(rest.next(), None);
        }
    }

    #[test]
    fn a_key_that_comes_twice_is_one_range() {
        let mut ranges = Ranges::new(1 << 20);
        for bytes in [1, 2, 4] {
            let mut keys = Keys::default();
            keys.add(Time::EPOCH, b"a", one(bytes));
            ranges.add(&mut keys);
            assert_eq!(ranges.sorted().len(), 1);
        }
        assert_eq!(ranges.sorted()[0].amount, Amount { names: 3, files: 3, bytes: 7 });
    }
}
