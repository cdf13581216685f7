//! Creation of the data sets, also for later epochs: its duration and the space they use; and the self-check
//! of a run.

use serde::{Deserialize, Serialize};

use crate::ids::DataId;

/// Setup before the first block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Built {
    /// Data sets, in the order of the plan. With several sets, files were created in turns.
    pub sets: Vec<BuiltSet>,
    /// Inodes that the whole file system lost in the meantime; `None` if it does not count them. Includes
    /// changes by other processes.
    pub file_system_inodes: Option<i64>,
    /// Bytes that the whole file system lost in the meantime.
    pub file_system_bytes: i64,
}

/// One created data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuiltSet {
    pub data: DataId,
    /// Space in use.
    pub used: Used,
    /// Time to create directories before the first file, nanoseconds; `None` if they were created on demand, as
    /// part of `files_ns`.
    pub directories_ns: Option<u64>,
    /// Time to create files (check, open, write, close), nanoseconds; without syncing.
    pub files_ns: u64,
    /// Size (`st_size`) of the directory with all files, bytes; `None` for several directories, and in records
    /// of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_bytes: Option<u64>,
    /// Aging, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<BuiltAged>,
}

/// Aging of a directory: extra files were created among its own, written back, and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuiltAged {
    /// Extra files; creating them is part of [`BuiltSet::files_ns`].
    pub files: u64,
    /// Size (`st_size`) of the directory with the extra files, bytes.
    pub directory_bytes: u64,
    /// Time to remove them, nanoseconds; without syncing.
    pub removed_ns: u64,
}

/// Space of a data set that the arms create, after the first round that created all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsedByArms {
    pub data: DataId,
    pub used: Used,
}

/// Space of a data set, added up over its files and directories after everything was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Used {
    pub files: u64,
    /// Directories, including the top.
    pub directories: u64,
    /// Inodes; a file with several names counts one time.
    pub inodes: u64,
    /// Sum of the file sizes, bytes.
    pub content_bytes: u64,
    /// Blocks of files and directories in bytes, as `du` counts them. File systems that store directories or
    /// small files elsewhere (btrfs) do not count those.
    pub bytes: u64,
}

/// Start of a later epoch. Data sets are recreated, so that chance properties of one set are not taken for a
/// difference of arms; the data sets of the first are in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Epoch {
    /// Epoch number, from 1.
    pub epoch: u32,
    /// Seed of its names, contents and orders.
    pub seed: u64,
    /// [`Data::hash`](crate::Data::hash) of each data set in this epoch, in the plan's order.
    pub hashes: Vec<Option<u64>>,
}

/// Cost of timing single operations, and detection of known delays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfCheck {
    /// `true` if the cycle counter is the clock, `false` for the monotonic clock.
    pub cycle_counter: bool,
    /// Length of a tick, nanoseconds.
    pub ns_per_tick: f64,
    /// Cost of one read of the counter in a series of reads, nanoseconds.
    pub timer_ns: f64,
    /// Cost of the empty measurement loop, nanoseconds an operation.
    pub null_loop_ns: f64,
    /// Operations (a cached `fstatat` of the run's directory) in each block of the rounds below.
    pub operations: u64,
    /// Wall time of the blocks without timing, in the order of rounds, nanoseconds.
    pub untimed_ns: Vec<u64>,
    /// Wall time of the blocks of the same rounds with every operation timed, nanoseconds.
    pub timed_ns: Vec<u64>,
    /// Sum of the times in the timed blocks' histograms and of the gaps, relative to their wall time.
    pub accounted: f64,
    /// Delays injected into empty operations, and their detection in the histogram.
    pub delays: Vec<Delay>,
}

/// Delay injected into some operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delay {
    /// Length by the monotonic clock, nanoseconds.
    pub injected_ns: u64,
    /// Number of operations with the delay.
    pub injected: u64,
    /// Number of times in the histogram between 98 and 150 % of its length.
    pub found: u64,
    /// Median of these times, nanoseconds; 0 if there are none.
    pub found_ns: f64,
}
