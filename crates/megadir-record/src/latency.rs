//! Times of a block's single operations: a log-linear histogram, stored as its non-empty buckets.
//!
//! One number defines the layout:
//!
//! ```text
//! sub_buckets = 128
//! places    0 .. 255          256 .. 383    384 .. 511     512 .. 639      a further 128 for each power of two
//! values    each its own      256 .. 511    512 .. 1023    1024 .. 2047    in ticks; 1, 2, 4, 8 ... of them a bucket
//! ```

use serde::{Deserialize, Serialize};

/// Times of the single operations of one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Layout: buckets for every power of two; each value below twice this number has its own bucket.
    pub sub_buckets: u32,
    /// Length of a tick, nanoseconds.
    pub ns_per_tick: f64,
    /// Start of the times.
    pub since: Since,
    /// Exact sum of the times, ticks.
    pub sum_ticks: u64,
    /// Exact shortest time, ticks.
    pub min_ticks: u64,
    /// Exact longest time, ticks.
    pub max_ticks: u64,
    /// Time of the block outside operations (checks for the end of the run, waiting), ticks.
    pub gap_ticks: u64,
    /// Two numbers for each non-empty bucket, ascending: distance from the previous bucket's index (the first:
    /// from 0), and count.
    pub buckets: Vec<u64>,
}

/// Start of an operation's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// End of the previous operation: the service time.
    Start,
    /// Planned start, even if the operation could not start then: the response time.
    IntendedStart,
}

impl Latency {
    /// Encodes buckets, given as ascending indices with counts.
    #[must_use]
    pub fn pack(counts: impl IntoIterator<Item = (u32, u64)>) -> Vec<u64> {
        let mut before = 0;
        let pair = |(place, count): (u32, u64)| {
            let after = place.saturating_sub(std::mem::replace(&mut before, place));
            [u64::from(after), count]
        };
        counts.into_iter().flat_map(pair).collect()
    }

    /// Returns indices and counts of the non-empty buckets; `None` for an index out of range, as in a damaged
    /// record.
    pub fn counts(&self) -> impl Iterator<Item = Option<(u32, u64)>> + '_ {
        let mut place = 0_u32;
        self.buckets.chunks(2).map(move |pair| {
            let [after, count] = *pair else { return None };
            place = place.checked_add(u32::try_from(after).ok()?)?;
            Some((place, count))
        })
    }

    /// Returns the number of times.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.buckets.chunks_exact(2).fold(0, |sum, pair| sum.saturating_add(pair[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(buckets: Vec<u64>) -> Latency {
        Latency {
            sub_buckets: 128,
            ns_per_tick: 0.5,
            since: Since::Start,
            sum_ticks: 0,
            min_ticks: 0,
            max_ticks: 0,
            gap_ticks: 0,
            buckets,
        }
    }

    #[test]
    fn buckets_are_written_as_distances_and_read_back() {
        let counts = [(0, 4), (7, 1), (8, 2), (7423, 9)];
        let packed = Latency::pack(counts);
        assert_eq!(packed, [0, 4, 7, 1, 1, 2, 7415, 9]);
        let read: Option<Vec<(u32, u64)>> = latency(packed.clone()).counts().collect();
        assert_eq!(read.unwrap(), counts);
        assert_eq!(latency(packed).operations(), 16);
    }

    #[test]
    fn damaged_buckets_are_noticed() {
        for buckets in [vec![1], vec![1 << 40, 1], vec![u64::from(u32::MAX), 1, 1, 1]] {
            assert!(latency(buckets.clone()).counts().any(|pair| pair.is_none()), "{buckets:?}");
        }
    }
}
