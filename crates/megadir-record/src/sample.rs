//! The sample: what one block of one arm took, and the proof that it did the work.

use serde::{Deserialize, Serialize};

use crate::latency::Latency;
use crate::plan::CellId;
use crate::refused::Refused;

/// One block: one arm in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// The epoch (fresh data set, process or mount), from 0.
    pub epoch: u32,
    /// The round within its epoch, from 0; warm-up rounds count on their own.
    pub round: u32,
    /// How often this round had been voided before this attempt.
    pub attempt: u32,
    /// The block's place in its round, from 0.
    pub place: u32,
    /// The arm.
    pub cell: CellId,
    /// Warm-up or measured.
    pub phase: Phase,
    /// When the block started, nanoseconds after the run's start on the monotonic clock.
    pub start_ns: u64,
    /// Operations in the block; one listing of a directory is one operation.
    pub operations: u64,
    /// Wall time, nanoseconds.
    pub elapsed_ns: u64,
    /// User CPU time of the process in the block, nanoseconds (the kernel's granule may be coarse).
    pub user_ns: u64,
    /// System CPU time of the process in the block, nanoseconds.
    pub system_ns: u64,
    /// Bytes that the process had read from devices in the block; `None` where the kernel does not say. What it sees of a
    /// network or of a file system in memory is always 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Proof of equal work.
    pub counted: Counted,
    /// The times of the block's single operations, where the arm takes them; apart, for most samples have none and there may be
    /// millions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Box<Latency>>,
    /// Set when the round that the block belongs to was voided; the samples stay in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<VoidReason>,
    /// Set where the arm could not do its whole block, for a directory took no more names. The block is not judged, its
    /// operations are those that were done, and the arm is left out from then on, with those of [`Plan::stopped_by`](crate::Plan::stopped_by).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Box<Refused>>,
}

/// What a block saw, so that arms can be shown to have done the same work.
///
/// All numbers are those of one operation, however many the block repeats. A look-up has 1 entry where every
/// operation of the block found its name and 0 where none did; its hash is 0, or the number of those that did where
/// some did and some did not. A filling has the entries that were made, and 0. Where attributes are found out, the entries are regular
/// files and the hash is that of [`ExpectedFiles`](crate::ExpectedFiles); where entries are asked for, they are those that were found,
/// and the hash is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// Entries seen.
    pub entries: u64,
    /// Order-independent hash of the entries' names; not of their types, which not every file system tells.
    pub hash: u64,
    /// System calls of the measured kind, where the arm can see them.
    pub calls: Option<u64>,
    /// Bytes of text written, 0 where the arm writes none.
    pub written_bytes: u64,
}

/// Whether a block counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the series is steady; kept, never judged.
    WarmUp,
    /// Judged.
    Measure,
}

/// The external criteria, declared beforehand, on which a whole round is voided and redone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VoidReason {
    /// The hypervisor took more of the processor's time than the plan allows.
    StolenTime,
    /// The wall clock and the monotonic clock disagreed over the round.
    ClockJump,
}

impl Phase {
    /// Returns the word that it has in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Measure => "measure",
        }
    }
}

impl VoidReason {
    /// Returns the word that it has in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StolenTime => "stolen-time",
            Self::ClockJump => "clock-jump",
        }
    }
}
