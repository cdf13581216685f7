//! The record's lines, their writer, and the reader that survives a cut-off file.
//!
//! Every line is one JSON object with a `line` tag, and ends with its number and a running checksum ([`Chain`]). The first is the header,
//! which alone carries the format's version. A run that is taken up again goes on in the same file, after a [`Resumed`] line. A file that ends without an [`End`] line, or in the middle of a line, is the
//! record of a run that was killed: what was written whole is read, and [`Record::cut`] says so.

mod chain;
mod check;
mod reader;
mod writer;

use serde::{Deserialize, Serialize};

use crate::built::{Built, UsedByArms};
use crate::epoch::Epoch;
use crate::file_systems::LabMount;
use crate::machine::{Machine, Pressure};
use crate::plan::Plan;
use crate::sample::{Sample, VoidReason};
use crate::self_check::SelfCheck;

pub use chain::Chain;
pub use reader::{Cut, ReadError, Record, read, read_partly};
pub use writer::Writer;

/// Any line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "line")]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// What the run found out about its own measuring, before the first block.
    SelfCheck(SelfCheck),
    /// What was made before the first block.
    Built(Built),
    /// What a data set that the arms made used.
    Used(UsedByArms),
    /// A later epoch begins: its data sets were made.
    Epoch(Epoch),
    /// A block.
    Sample(Sample),
    /// Voids all samples of one attempt at a round.
    Void {
        /// The epoch of the voided round.
        epoch: u32,
        /// The voided round.
        round: u32,
        /// The voided attempt.
        attempt: u32,
        /// The criterion that was met.
        reason: VoidReason,
    },
    /// Something noticed on the way.
    Note(Note),
    /// A run that had ended early is taken up again.
    Resumed(Resumed),
    /// The last line, unless the run is taken up again.
    End(End),
}

/// A run that had ended early is taken up again, on the same machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// When, seconds since 1970-01-01 UTC.
    pub resumed_unix_s: u64,
    /// The program's version, which may be another than that which began.
    pub version: String,
    /// Load and pressure at that time.
    pub pressure: Pressure,
}

/// The first line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// The format's version ([`FORMAT_VERSION`](crate::FORMAT_VERSION)).
    pub version: u32,
    /// When the run started, seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The command line that repeats the run.
    pub command: Vec<String>,
    /// The directory that is worked on or below, its whole path (older programs: as the user named it); `None` when the record is meant to be shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The plan.
    pub plan: Plan,
    /// The machine; its file system is that of the directory, on which images lie.
    pub machine: Machine,
    /// The file systems that were made for the run, as they were when it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<LabMount>,
}

/// Something the run noticed: one of a closed set of kinds, with its figures in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The kind of note, e.g. `timer-gaps`; the report knows what to do about each.
    pub kind: String,
    /// The figures in one sentence.
    pub text: String,
}

/// The last line of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// Whether all planned rounds were measured.
    pub complete: bool,
    /// Why the run ended early, one sentence.
    pub reason: Option<String>,
    /// Wall time of the whole run, nanoseconds.
    pub elapsed_ns: u64,
    /// Load and pressure when the run ended.
    pub pressure: Pressure,
    /// Cost of the measured loop with nothing in it, nanoseconds an operation.
    pub null_loop_ns: Option<f64>,
}
