//! Sample: duration of one block of one arm, and evidence that it did the work.

use serde::{Deserialize, Serialize};

use crate::ids::ArmId;
use crate::ranks::RankTimes;

/// One block: one arm in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// Epoch (recreated data set, process or mount), from 0.
    pub epoch: u32,
    /// Round within its epoch, from 0; warm-up rounds are counted separately.
    pub round: u32,
    /// Number of voided attempts at this round before this one.
    pub attempt: u32,
    /// Position of the block in its round, from 0.
    pub place: u32,
    #[serde(rename = "cell")]
    pub arm: ArmId,
    pub phase: Phase,
    /// Start of the block, nanoseconds after the run's start on the monotonic clock.
    pub start_ns: u64,
    /// Operations in the block; one listing of a directory is one operation.
    pub operations: u64,
    /// Wall time, nanoseconds.
    pub elapsed_ns: u64,
    /// User CPU time of the process in the block, nanoseconds (the kernel's granularity may be coarse).
    pub user_ns: u64,
    /// System CPU time of the process in the block, nanoseconds.
    pub system_ns: u64,
    /// Bytes that the process read from devices in the block; `None` if the kernel does not report them. Always
    /// 0 for file systems on a network or in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Peak memory of the process that did the work, bytes; `None` if this process did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// Evidence of equal work.
    pub counted: Counted,
    /// Differences between ranks, if they did the work. Boxed, because most samples have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Box<RankTimes>>,
    /// Times of single operations, if the arm takes them. Boxed, because most samples have none and there may
    /// be millions of samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Box<Latency>>,
    /// Set if the block's round was voided; its samples stay in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<VoidReason>,
    /// Set if the arm stopped early because a directory was full or a program failed. The block is not judged, its
    /// operations are those that were done, and from then on the arm is skipped, together with
    /// [`Plan::stopped_by`](crate::Plan::stopped_by).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Box<Refused>>,
}

/// Results of a block, to show that arms did the same work.
///
/// All numbers are for one operation, however often the block repeats it. A lookup has 1 entry if every
/// operation of the block found its name and 0 if none did; its hash is 0, or the number of hits if only some
/// did. A filling has the number of entries created, and hash 0. For attributes, the entries are regular files
/// and the hash is that of [`ExpectedFiles`](crate::ExpectedFiles). For queries by name, the entries are the
/// hits and the hash is 0. For a program, both are those of [`ExpectedOutput`](crate::ExpectedOutput).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// Number of entries.
    pub entries: u64,
    /// Order-independent hash of the names. Types are excluded, because not every file system reports them.
    pub hash: u64,
    /// System calls of the measured kind, if the arm can count them.
    pub calls: Option<u64>,
    /// Bytes of text written; 0 if the arm writes none.
    pub written_bytes: u64,
}

crate::named! {
    /// Phase of a block.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Phase {
        /// Before the series is steady; kept but never judged.
        WarmUp = "warm-up",
        /// Judged.
        Measure = "measure",
    }
}

crate::named! {
    /// External criteria, declared in advance, on which a whole round is voided and repeated.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum VoidReason {
        /// The hypervisor stole more processor time than the plan allows.
        StolenTime = "stolen-time",
        /// The wall clock and the monotonic clock disagreed over the round.
        ClockJump = "clock-jump",
    }
}

/// Directory that accepted no more names although its file system had space, or program that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// Entries in a listing at that time, without `.` and `..`; 0 if a program failed.
    pub entries: u64,
    /// Evidence for this limit, with figures; or the program's exit code and the last line of its errors.
    pub cause: String,
}

// Times of a block's single operations: a log-linear histogram, stored as its non-empty buckets.
//
// One number defines the layout:
//
// ```text
// sub_buckets = 128
// places    0 .. 255          256 .. 383    384 .. 511     512 .. 639      a further 128 for each power of two
// values    each its own      256 .. 511    512 .. 1023    1024 .. 2047    in ticks; 1, 2, 4, 8 ... of them a bucket
// ```

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
