//! Distribution of ages, in buckets from a minute to years.

use super::{Total, filled};

const MINUTE_S: i64 = 60;
const HOUR_S: i64 = 60 * MINUTE_S;
const DAY_S: i64 = 24 * HOUR_S;
const YEAR_S: i64 = 365 * DAY_S;

/// In seconds; the first bucket is for times in the future.
const OLDEST_S: [i64; 10] =
    [-1, MINUTE_S, HOUR_S, DAY_S, 7 * DAY_S, 30 * DAY_S, 90 * DAY_S, YEAR_S, 2 * YEAR_S, 5 * YEAR_S];

/// Distribution of ages, in whole seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    buckets: [Total; BUCKETS],
    entries: u64,
}

/// Entries in a range of ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeBucket<T = Total> {
    /// Lowest age in the bucket, seconds; `None` for times in the future.
    pub from_s: Option<i64>,
    /// Highest age in the bucket, seconds, -1 for times in the future; `None` for the last bucket.
    pub to_s: Option<i64>,
    /// Figures of the entries.
    pub total: T,
}

impl<T: Copy> AgeBucket<T> {
    pub(crate) fn filled(buckets: &[T], entries: impl Fn(&T) -> u64) -> Vec<Self> {
        let bucket = |(index, total)| {
            let (from_s, to_s) = bounds(index);
            Self { from_s, to_s, total }
        };
        filled(buckets, entries).map(bucket).collect()
    }
}

impl Ages {
    #[inline]
    pub(super) fn add(&mut self, age_s: i64, size_bytes: u64) {
        self.buckets[bucket_of(age_s)].add(size_bytes);
        self.entries += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            own.merge(*other);
        }
        self.entries += other.entries;
    }

    /// Number of entries of known age.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Buckets from the first to the last non-empty one, newest first. A bucket includes its upper bound; a year has 365 days.
    pub fn buckets(&self) -> Vec<AgeBucket> {
        AgeBucket::filled(&self.buckets, |total| total.entries)
    }
}

pub(crate) const BUCKETS: usize = OLDEST_S.len() + 1;

#[inline]
pub(crate) fn bucket_of(age_s: i64) -> usize {
    OLDEST_S.iter().map(|oldest_s| usize::from(age_s > *oldest_s)).sum()
}

fn bounds(bucket: usize) -> (Option<i64>, Option<i64>) {
    (bucket.checked_sub(1).map(|before| OLDEST_S[before] + 1), OLDEST_S.get(bucket).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ages(all: &[i64]) -> Ages {
        let mut ages = Ages::default();
        all.iter().for_each(|age_s| ages.add(*age_s, 10));
        ages
    }

    #[test]
    fn buckets_end_with_their_bounds() {
        for (age_s, from_s, to_s) in [
            (i64::MIN, None, Some(-1)),
            (-1, None, Some(-1)),
            (0, Some(0), Some(60)),
            (60, Some(0), Some(60)),
            (61, Some(61), Some(3600)),
            (86_400, Some(3601), Some(86_400)),
            (30 * 86_400, Some(7 * 86_400 + 1), Some(30 * 86_400)),
            (30 * 86_400 + 1, Some(30 * 86_400 + 1), Some(90 * 86_400)),
            (365 * 86_400, Some(90 * 86_400 + 1), Some(365 * 86_400)),
            (i64::MAX, Some(5 * 365 * 86_400 + 1), None),
        ] {
            let expected = AgeBucket { from_s, to_s, total: Total { entries: 1, bytes: 10 } };
            assert_eq!(ages(&[age_s]).buckets(), [expected], "{age_s}");
        }
    }

    #[test]
    fn buckets_follow_each_other_and_ends_without_entries_are_left_out() {
        let mut every: Vec<i64> = OLDEST_S.to_vec();
        every.push(i64::MAX);
        let every = ages(&every);
        assert_eq!((every.buckets().len(), every.entries()), (11, 11));
        let follow = |pair: &[AgeBucket]| pair[0].to_s.map(|to_s| to_s + 1) == pair[1].from_s;
        assert!(every.buckets().windows(2).all(follow));
        let entries: Vec<u64> =
            ages(&[10, 100_000]).buckets().iter().map(|bucket| bucket.total.entries).collect();
        assert_eq!(entries, [1, 0, 0, 1]);
        assert!(ages(&[]).buckets().is_empty());
    }

    #[test]
    fn merged_parts_are_the_whole() {
        let mut merged = ages(&[-5, 70]);
        merged.merge(&ages(&[70, i64::MAX]));
        assert_eq!(merged, ages(&[-5, 70, 70, i64::MAX]));
    }
}
