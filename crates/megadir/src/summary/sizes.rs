//! Distribution of sizes. Quantiles come from counts by size, 128 for each power of two from 256 on: the layout of Tene's
//! HdrHistogram, 58 KiB. A count is reported by its smallest size, because many files have 4096 bytes and none 4112.

use super::{Total, filled};

const COUNTS: usize = 128;
const COUNTS_BITS: u32 = COUNTS.trailing_zeros();
const EXACT: u64 = 2 * COUNTS as u64;
const ALL_COUNTS: usize = 2 * COUNTS + (63 - COUNTS_BITS as usize) * COUNTS;

/// Size 0, sizes below 1 KiB, then one bucket per power of 4.
pub(crate) const BUCKETS: usize = 29;
const KIB_BITS: u32 = 10;

/// Distribution of sizes.
///
/// `counts` is boxed, since 58 KiB are too large for a stack with one for each thread. Smallest and largest
/// are exact. Two of these are added by adding their counts, whatever the threads have counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    counts: Box<[u64; ALL_COUNTS]>,
    buckets: [Total; BUCKETS],
    entries: u64,
    smallest: u64,
    largest: u64,
}

/// Entries in a range of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeBucket<T = Total> {
    /// Smallest size in the bucket, bytes.
    pub from: u64,
    /// Largest size in the bucket, bytes.
    pub to: u64,
    /// Figures of the entries.
    pub total: T,
}

impl<T: Copy> SizeBucket<T> {
    pub(crate) fn filled(buckets: &[T], entries: impl Fn(&T) -> u64) -> Vec<Self> {
        let bucket = |(index, total)| {
            let (from, to) = bounds(index);
            Self { from, to, total }
        };
        filled(buckets, entries).map(bucket).collect()
    }
}

impl Sizes {
    /// Maximum relative error of a quantile, which is never too large: 1/128.
    pub const QUANTILE_ERROR: f64 = 1.0 / COUNTS as f64;

    pub(super) fn new() -> Self {
        Self {
            counts: Box::new([0; ALL_COUNTS]),
            buckets: [Total::default(); BUCKETS],
            entries: 0,
            smallest: u64::MAX,
            largest: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, bytes: u64) {
        self.counts[count_of(bytes)] += 1;
        self.buckets[bucket_of(bytes)].add(bytes);
        self.entries += 1;
        self.smallest = self.smallest.min(bytes);
        self.largest = self.largest.max(bytes);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in self.counts.iter_mut().zip(other.counts.iter()) {
            *own += other;
        }
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            own.merge(*other);
        }
        self.entries += other.entries;
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// Number of entries of known size.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Buckets from the first to the last non-empty one. Lower bounds are 0, 1, 1 KiB, 4 KiB, 16 KiB and so
    /// on, each included in its bucket.
    pub fn buckets(&self) -> Vec<SizeBucket> {
        SizeBucket::filled(&self.buckets, |total| total.entries)
    }

    /// Returns the size that a share of all entries does not exceed (0.5: the median), by nearest rank,
    /// bytes; `None` without entries. At most [`Sizes::QUANTILE_ERROR`] below the true quantile, never above.
    /// Extremes, sizes below 256 bytes and multiples of large powers of two are exact.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        if self.entries == 0 {
            return None;
        }
        let rank = ((share * self.entries as f64).ceil() as u64).clamp(1, self.entries);
        if rank == self.entries {
            return Some(self.largest);
        }
        let mut below = 0;
        let count = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(least_of(count).max(self.smallest))
    }
}

#[inline]
pub(crate) fn bucket_of(bytes: u64) -> usize {
    match bytes {
        0 => 0,
        1..1024 => 1,
        _ => 2 + ((bytes.ilog2() - KIB_BITS) / 2) as usize,
    }
}

fn bounds(bucket: usize) -> (u64, u64) {
    let to = if bucket + 1 < BUCKETS { bucket_start(bucket + 1) - 1 } else { u64::MAX };
    (bucket_start(bucket), to)
}

fn bucket_start(bucket: usize) -> u64 {
    match bucket {
        0 | 1 => bucket as u64,
        _ => 1 << (KIB_BITS as usize + 2 * (bucket - 2)),
    }
}

#[inline]
fn count_of(bytes: u64) -> usize {
    if bytes < EXACT {
        return bytes as usize;
    }
    let power = bytes.ilog2();
    // The bits after the leading one select the count within the power of two.
    let within = (bytes >> (power - COUNTS_BITS)) as usize - COUNTS;
    2 * COUNTS + (power - COUNTS_BITS - 1) as usize * COUNTS + within
}

fn least_of(count: usize) -> u64 {
    match count.checked_sub(2 * COUNTS) {
        None => count as u64,
        Some(above) => ((COUNTS + above % COUNTS) as u64) << (above / COUNTS + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(all: &[u64]) -> Sizes {
        let mut sizes = Sizes::new();
        all.iter().for_each(|bytes| sizes.add(*bytes));
        sizes
    }

    #[test]
    fn buckets_begin_with_their_bounds() {
        let bounds = [0, 1, 1 << 10, 1 << 12, 1 << 14, 1 << 30, 1 << 32, 1 << 60, 1 << 62];
        for from in bounds {
            let sizes = sizes(&[from]);
            let buckets = sizes.buckets();
            assert_eq!(buckets.len(), 1);
            assert_eq!((buckets[0].from, buckets[0].total), (from, Total { entries: 1, bytes: from.into() }));
        }
        let all: Vec<_> = (0..BUCKETS).map(bucket_start).chain([u64::MAX]).collect();
        let every = sizes(&all).buckets();
        assert_eq!(every.len(), BUCKETS);
        assert_eq!((every[0].from, every[BUCKETS - 1].to), (0, u64::MAX));
        assert!(every.windows(2).all(|pair| pair[0].to + 1 == pair[1].from));
        assert_eq!(sizes(&[1023, 1024, 4095, 4096]).buckets().len(), 3);
        assert!(sizes(&[]).buckets().is_empty());
    }

    #[test]
    fn an_empty_bucket_between_others_is_given() {
        let buckets = sizes(&[0, 5000]).buckets();
        assert_eq!(buckets.iter().map(|bucket| bucket.total.entries).collect::<Vec<_>>(), [1, 0, 0, 1]);
    }

    #[test]
    fn every_count_begins_where_the_one_before_ends() {
        for count in 1..ALL_COUNTS {
            assert_eq!(count_of(least_of(count)), count);
            assert_eq!(count_of(least_of(count) - 1), count - 1);
        }
        assert_eq!(count_of(u64::MAX), ALL_COUNTS - 1);
        assert!(size_of::<[u64; ALL_COUNTS]>() <= 58 << 10);
    }

    #[test]
    fn the_smallest_the_largest_and_round_sizes_are_exact() {
        let sizes = sizes(&[4097, 4096 * 3, 4096 * 3, 99_999, 100_001]);
        let quantiles = [0.0, 0.2, 0.5, 0.8, 1.0].map(|share| sizes.quantile(share));
        assert_eq!(quantiles, [4097, 4097, 4096 * 3, 99_840, 100_001].map(Some));
    }

    #[test]
    fn sums_pass_the_range_of_one_size() {
        let total = sizes(&[u64::MAX, u64::MAX, u64::MAX]).buckets()[0].total;
        assert_eq!(total.bytes, 3 * u128::from(u64::MAX));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_their_bound(
            all in prop::collection::vec((any::<u64>(), 0..64u32).prop_map(|(value, shift)| value >> shift), 1..200),
            share in 0.0..=1.0f64,
        ) {
            let quantile = sizes(&all).quantile(share).unwrap_or_default();
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let rank = ((share * all.len() as f64).ceil() as usize).clamp(1, all.len());
            let exact = sorted[rank - 1];
            prop_assert!(quantile <= exact && exact - quantile <= exact / COUNTS as u64, "{quantile} for {exact}");
        }

        #[test]
        fn merged_parts_are_the_whole(
            all in prop::collection::vec(any::<u64>(), 0..100),
            split in 0..100usize,
        ) {
            let (first, second) = all.split_at(split.min(all.len()));
            let mut merged = sizes(first);
            merged.merge(&sizes(second));
            prop_assert_eq!(merged, sizes(&all));
        }
    }
}
