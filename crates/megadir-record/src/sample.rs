//! Sample: one block of one arm, and evidence that it did the work.

use serde::{Deserialize, Serialize};

use crate::plan::ArmId;
use crate::ranks::RankTimes;

/// One line of the record for each block, so its fields are numbers and short words. Times are of the block
/// as a whole; the report divides by `operations`. Nothing is averaged or left out when a record is written:
/// warm-up, voided rounds and refused blocks stay, marked, because only then can another rule of judging be
/// applied later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// From 0.
    pub epoch: u32,
    /// Within its epoch, from 0; warm-up rounds are counted separately.
    pub round: u32,
    /// Number of voided attempts before this one.
    pub attempt: u32,
    /// Position in the round, from 0.
    pub place: u32,
    #[serde(rename = "cell")]
    pub arm: ArmId,
    pub phase: Phase,
    /// Nanoseconds after the run's start on the monotonic clock.
    pub start_ns: u64,
    /// One listing of a directory is one operation.
    pub operations: u64,
    /// Wall time.
    pub elapsed_ns: u64,
    /// User CPU time of the process, nanoseconds (the kernel's granularity may be coarse).
    pub user_ns: u64,
    /// System CPU time of the process, nanoseconds.
    pub system_ns: u64,
    /// Bytes that the process read from devices; 0 on a network or in memory, `None` if not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Peak of the process that did the work; `None` if this process did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    pub counted: Counted,
    /// Differences between ranks, if they did the work. Boxed, because most samples have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Box<RankTimes>>,
    /// Boxed, as `ranks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Box<Latency>>,
    /// Work of a modelled disk during the block. Boxed, as `ranks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Box<DiskCounts>>,
    /// Set if the round was voided; its samples stay in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<VoidReason>,
    /// Set if a directory was full or a program failed. The block is not judged, and its operations are those
    /// that were done. From then on the arm is skipped, together with [`Plan::stopped_by`](crate::Plan::stopped_by).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Box<Refused>>,
}

/// Work of a modelled disk, as the model counts it. On a rotating disk the seeks decide, and they depend on programs and file systems
/// much more than on the machine, so records keep them beside the times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskCounts {
    /// Reads and writes that reached the disk.
    pub requests: u64,
    /// Moves of the head by more than a track's length; waiting for a sector alone is none.
    pub seeks: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Time in which the head was positioned, read or wrote, nanoseconds.
    pub busy_ns: u64,
}

impl DiskCounts {
    /// Work between an earlier reading of the same disk and this one.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            seeks: self.seeks.saturating_sub(before.seeks),
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
            busy_ns: self.busy_ns.saturating_sub(before.busy_ns),
        }
    }
}

/// Results of one operation, to show that arms did the same work.
///
/// Entries and hash are, for a lookup, 1 if all operations found their name and 0 if none did, and 0 or the
/// number of hits if only some did; for a filling, the number of created entries and 0; for attributes, the
/// regular files and the hash of [`ExpectedFiles`](crate::ExpectedFiles); for queries by name, the hits and
/// 0; for a program, both of [`ExpectedOutput`](crate::ExpectedOutput).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    pub entries: u64,
    /// Order-independent, of the names. Types are excluded, because not every file system reports them.
    pub hash: u64,
    /// Calls of the measured kind, if the arm can count them.
    pub calls: Option<u64>,
    /// Length of the written text; 0 if the arm writes none.
    pub written_bytes: u64,
}

crate::named! {
    pub enum Phase {
        /// Before the series is steady; kept but never judged.
        WarmUp = "warm-up",
        Measure = "measure",
    }
}

crate::named! {
    /// External criteria, declared in advance, on which a round is voided and repeated.
    pub enum VoidReason {
        /// Above [`Rules::stolen_fraction_max`](crate::Rules::stolen_fraction_max).
        StolenTime = "stolen-time",
        /// The wall clock and the monotonic clock disagreed over the round.
        ClockJump = "clock-jump",
    }
}

/// Directory that was full although its file system had space, or program that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Without `.` and `..`; 0 if a program failed.
    pub entries: u64,
    /// Evidence for this limit, with figures; or the program's exit code and the last line of its errors.
    pub cause: String,
}

// Layout of a block's histogram of single operations:
//
// ```text
// sub_buckets = 128
// places    0 .. 255          256 .. 383    384 .. 511     512 .. 639      a further 128 for each power of two
// values    each its own      256 .. 511    512 .. 1023    1024 .. 2047    in ticks; 1, 2, 4, 8 ... of them a bucket
// ```

/// Times of the single operations of a block.
///
/// Ticks and not nanoseconds are stored, as they were counted, so that converting them adds no rounding.
/// Invariant: the sum of all times and `gap_ticks` is about the wall time of the block, which shows that no
/// operation was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Buckets for every power of two; each value below twice this number has its own bucket.
    pub sub_buckets: u32,
    /// Length of a tick, nanoseconds.
    pub ns_per_tick: f64,
    pub since: Since,
    /// Exact, in ticks.
    pub sum_ticks: u64,
    /// Exact, in ticks.
    pub min_ticks: u64,
    /// Exact, in ticks.
    pub max_ticks: u64,
    /// Time of the block outside operations, ticks.
    pub gap_ticks: u64,
    /// For each non-empty bucket, ascending: distance from the previous index (the first: from 0), and count.
    pub buckets: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// Service time, from the end of the previous operation.
    Start,
    /// Response time, even if the operation could not start as planned.
    IntendedStart,
}

impl Latency {
    /// Buckets are ascending indices with counts.
    pub fn pack(counts: impl IntoIterator<Item = (u32, u64)>) -> Vec<u64> {
        let mut before = 0;
        let pair = |(place, count): (u32, u64)| {
            let after = place.saturating_sub(std::mem::replace(&mut before, place));
            [u64::from(after), count]
        };
        counts.into_iter().flat_map(pair).collect()
    }

    /// `None` for an index out of range, as in a damaged record.
    pub fn counts(&self) -> impl Iterator<Item = Option<(u32, u64)>> + '_ {
        let mut place = 0_u32;
        self.buckets.chunks(2).map(move |pair| {
            let [after, count] = *pair else { return None };
            place = place.checked_add(u32::try_from(after).ok()?)?;
            Some((place, count))
        })
    }

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
