//! Sample: duration of one block of one arm, and evidence that it did the work.

use serde::{Deserialize, Serialize};

use crate::ids::CellId;
use crate::latency::Latency;

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
    pub cell: CellId,
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

/// Phase of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the series is steady; kept but never judged.
    WarmUp,
    /// Judged.
    Measure,
}

/// External criteria, declared in advance, on which a whole round is voided and repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VoidReason {
    /// The hypervisor stole more processor time than the plan allows.
    StolenTime,
    /// The wall clock and the monotonic clock disagreed over the round.
    ClockJump,
}

impl Phase {
    /// Word in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Measure => "measure",
        }
    }
}

impl VoidReason {
    /// Word in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StolenTime => "stolen-time",
            Self::ClockJump => "clock-jump",
        }
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
