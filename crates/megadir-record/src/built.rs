//! Creation of the data sets, also for later epochs, and the self-check of a run.

use serde::{Deserialize, Serialize};

use crate::data::DataId;

/// Setup before the first block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Built {
    /// In the order of the plan. With several sets, files were created in turns.
    pub sets: Vec<BuiltSet>,
    /// Inodes that the whole file system lost in the meantime, including changes by other processes; `None` if it does not count them.
    pub file_system_inodes: Option<i64>,
    /// Bytes that the whole file system lost in the meantime.
    pub file_system_bytes: i64,
}

/// One created data set.
// Times are of the engine's own work before the first block, not of an arm. Space is measured after
// write-back, because many file systems allocate only then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuiltSet {
    /// Data set.
    pub data: DataId,
    /// Space that it takes.
    pub used: Used,
    /// Time to create directories before the first file, nanoseconds; `None` if created on demand, as part of `files_ns`.
    pub directories_ns: Option<u64>,
    /// Time to create files (check, open, write, close) without syncing, nanoseconds.
    pub files_ns: u64,
    /// `st_size` of the directory with all files, bytes; `None` for several directories, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_bytes: Option<u64>,
    /// Removal of its extra files; `None` if it is not aged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged: Option<BuiltAged>,
}

/// Aging of a directory: extra files were created among its own, written back, and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BuiltAged {
    /// Extra files; creating them is part of [`BuiltSet::files_ns`].
    pub files: u64,
    /// `st_size` of the directory with the extra files, bytes.
    pub directory_bytes: u64,
    /// Time to remove them without syncing, nanoseconds.
    pub removed_ns: u64,
}

/// Space of a data set that the arms create, after the first round that created all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsedByArms {
    /// Data set.
    pub data: DataId,
    /// Space that it takes.
    pub used: Used,
}

/// Space of a data set, summed over its files and directories after write-back.
// Inodes and blocks are of this set alone, found by examining each file, unlike the figures of [`Built`],
// which are of the whole file system and have the changes of other processes in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Used {
    /// Number of files.
    pub files: u64,
    /// Includes the top.
    pub directories: u64,
    /// A file with several names counts one time.
    pub inodes: u64,
    /// Sum of the sizes of the files, bytes.
    pub content_bytes: u64,
    /// Blocks of files and directories in bytes, as `du` counts them; some file systems (btrfs) store
    /// directories or small files elsewhere.
    pub bytes: u64,
}

/// Start of a later epoch. Data sets are recreated, so that chance properties of one set are not taken for a
/// difference of arms. The data sets of the first epoch are in the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// From 1.
    pub epoch: u32,
    pub seed: u64,
    /// [`Data::hash`](crate::Data::hash) of each data set in this epoch, in the plan's order.
    pub hashes: Vec<Option<u64>>,
}

/// Cost of timing single operations, and detection of known delays.
///
/// The run injects delays of known length into operations and looks for them in its own histogram, so that a
/// reader can see that the instruments work on this machine. Untimed and timed blocks alternate in rounds;
/// their ratio is the cost of timing. All figures are kept, so that the report can judge them by later rules
/// too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// `true` for the cycle counter, `false` for the monotonic clock.
    pub cycle_counter: bool,
    pub ns_per_tick: f64,
    /// Cost of one read of the clock in a series of reads, nanoseconds.
    pub timer_ns: f64,
    /// Cost of the empty measurement loop, nanoseconds an operation.
    pub null_loop_ns: f64,
    /// Operations (a cached `fstatat` of the run's directory) in each block of the rounds below.
    pub operations: u64,
    /// Wall times of blocks without timing, by round, nanoseconds.
    pub untimed_ns: Vec<u64>,
    /// Wall times of blocks with every operation timed, by round, nanoseconds.
    pub timed_ns: Vec<u64>,
    /// Sum of times and gaps in the timed blocks' histograms, relative to their wall time.
    pub accounted: f64,
    pub delays: Vec<Delay>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delay {
    /// Length by the monotonic clock, nanoseconds.
    pub injected_ns: u64,
    /// Number of operations with the delay.
    pub injected: u64,
    /// Times in the histogram between 98 and 150 % of the delay's length.
    pub found: u64,
    /// Median of these times, nanoseconds; 0 without any.
    pub found_ns: f64,
}
