//! The times of a block's single operations: a log-linear histogram, written as its buckets that hold something.
//!
//! The layout is told by one number, so that whoever knows how such histograms are laid out can read it:
//!
//! ```text
//! sub_buckets = 128
//! places    0 .. 255          256 .. 383    384 .. 511     512 .. 639      a further 128 for each power of two
//! values    each its own      256 .. 511    512 .. 1023    1024 .. 2047    in ticks; 1, 2, 4, 8 ... of them a bucket
//! ```

use serde::{Deserialize, Serialize};

/// The times of the single operations of one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The layout: buckets for every power of two; every value below twice as many has a bucket of its own.
    pub sub_buckets: u32,
    /// How long a tick is, nanoseconds.
    pub ns_per_tick: f64,
    /// What the times are counted from.
    pub since: Since,
    /// The exact sum of the times, ticks.
    pub sum_ticks: u64,
    /// The exact shortest time, ticks.
    pub min_ticks: u64,
    /// The exact longest time, ticks.
    pub max_ticks: u64,
    /// Time of the block that belongs to no operation (a look at whether the run is to end, waiting), ticks.
    pub gap_ticks: u64,
    /// Two numbers for each bucket that holds times, in ascending order: how many places it lies after the one before it
    /// (the first: after place 0), and how many times it holds.
    pub buckets: Vec<u64>,
}

/// What the time of an operation is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// The end of the operation before it: how long the service takes.
    Start,
    /// The moment for which it was planned, whether or not it could start then: how long one who asks then has to wait.
    IntendedStart,
}

impl Latency {
    /// Returns buckets as they are written, from places in ascending order and their counts.
    #[must_use]
    pub fn pack(counts: impl IntoIterator<Item = (u32, u64)>) -> Vec<u64> {
        let mut before = 0;
        let pair = |(place, count): (u32, u64)| {
            let after = place.saturating_sub(std::mem::replace(&mut before, place));
            [u64::from(after), count]
        };
        counts.into_iter().flat_map(pair).collect()
    }

    /// Returns the places of the buckets that hold times, and their counts; `None` for one whose place is out of all bounds, as
    /// in a record that was damaged.
    pub fn counts(&self) -> impl Iterator<Item = Option<(u32, u64)>> + '_ {
        let mut place = 0_u32;
        self.buckets.chunks(2).map(move |pair| {
            let [after, count] = *pair else { return None };
            place = place.checked_add(u32::try_from(after).ok()?)?;
            Some((place, count))
        })
    }

    /// Returns how many times there are.
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
