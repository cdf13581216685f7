//! Lines of a record, their writer and their reader.
//!
//! Every line is a JSON object with a `line` tag, and ends with its number and a running checksum
//! ([`Chain`]). A resumed run continues in the same file after a [`Resumed`] line. A file without an [`End`]
//! line, or truncated within a line, is the record of a killed run: complete lines are read, and
//! [`Record::cut`] reports the rest.
//!
//! The reader refuses a record whose lines name arms, data sets or epochs that its plan does not have, so that later
//! code need not check again.

mod check;
mod reader;
mod writer;

use serde::{Deserialize, Serialize};

use crate::built::{Built, Epoch, SelfCheck, UsedByArms};
use crate::machine::{FsId, LabMount, Machine, Pressure};
use crate::plan::Plan;
use crate::ranks::Ranks;
use crate::sample::{DiskCounts, Sample, VoidReason};

pub use reader::{Cut, ReadError, Record, read, read_partly};
pub use writer::{Chain, Writer};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum Line {
    Header(Box<Header>),
    SelfCheck(SelfCheck),
    Built(Built),
    Used(UsedByArms),
    Epoch(Epoch),
    Sample(Sample),
    /// Voids all samples of one attempt at a round.
    Void {
        epoch: u32,
        round: u32,
        attempt: u32,
        reason: VoidReason,
    },
    Note(Note),
    Resumed(Resumed),
    /// Last line, unless the run is resumed.
    End(End),
}

/// Continuation of a run that had ended early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// Seconds since 1970-01-01 UTC.
    pub resumed_unix_s: u64,
    /// May differ from the version that started the run.
    pub version: String,
    pub pressure: Pressure,
}

/// Everything that is known before the first block, in one line, so that a record of a run that was killed at
/// once is complete as far as it goes. Which facts may identify a person or a machine is decided in
/// [`crate::redact`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT_VERSION`](crate::FORMAT_VERSION) of the writer.
    pub version: u32,
    /// Seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    pub command: Vec<String>,
    /// Absolute path (in older records, as given by the user); `None` in records for sharing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    pub plan: Plan,
    /// Its file system is the one of the directory, which also holds images.
    pub machine: Machine,
    /// In the state at the start of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<LabMount>,
    /// Ranks, if an MPI launcher started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
}

/// Observation during the run, of one of a fixed set of kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// For example `timer-gaps`; the report has advice for each.
    pub kind: String,
    /// Figures, one sentence.
    pub text: String,
}

/// Its presence alone shows that the run ended by itself. A run that stopped early has it too, with
/// `complete` not set and the reason; a resumed run continues after it. `pressure` is the one after the run;
/// the one before it is in the machine of the header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// `true` if all planned rounds were measured.
    pub complete: bool,
    /// Reason for an early end, one sentence.
    pub reason: Option<String>,
    /// Wall time of the whole run, nanoseconds.
    pub elapsed_ns: u64,
    pub pressure: Pressure,
    /// Cost of the empty measurement loop, nanoseconds an operation.
    pub null_loop_ns: Option<f64>,
    /// Use of the disks made for the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskUse>,
}

/// Use of a disk during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskUse {
    /// File system on the disk.
    pub on: FsId,
    /// Most memory at a time, bytes; `None` if it is not in memory.
    pub memory_bytes_max: Option<u64>,
    /// Work of a modelled disk, with making the data; `None` of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<DiskCounts>,
}
