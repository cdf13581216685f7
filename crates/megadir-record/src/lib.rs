//! The record of a megadir benchmark run: the contract between measuring and judging.
//!
//! A run writes one JSON value a line: a [`Header`] (plan and machine), then a [`Sample`] for every
//! block, [`Note`]s as they arise, and an [`End`]. Measuring writes it, judging reads it, possibly on
//! another machine and years later; nothing else passes between the two.
//!
//! * [`plan`]: what was going to be measured, with nothing left to a default.
//! * [`group`]: which arms are read together, and by which rule.
//! * [`epoch`]: data sets that are made anew.
//! * [`built`]: what making them took, and what they use.
//! * [`data`]: the data sets: whose names, sizes, contents and places follow from a seed.
//! * [`file_systems`]: those that are made and mounted for the run.
//! * [`files`]: what is done to files, one after the other.
//! * [`refused`]: blocks that a full directory ended.
//! * [`sample`]: what one block took, and the proof that it did the work.
//! * [`latency`]: the times of a block's single operations.
//! * [`stop`]: when a run has measured enough.
//! * [`self_check`]: what measuring costs, and whether what is put in is found.
//! * [`share`]: what is left out of records that are shown to others.
//! * [`machine`]: where it ran.
//! * [`jsonl`]: the lines, their writer and the reader that survives a cut-off file.
//!
//! This crate knows nothing of file systems, statistics or terminals.

pub mod built;
mod contradictions;
pub mod data;
pub mod epoch;
pub mod file_systems;
pub mod files;
pub mod group;
mod ids;
pub mod jsonl;
pub mod latency;
pub mod machine;
pub mod plan;
pub mod refused;
pub mod sample;
pub mod self_check;
pub mod share;
pub mod stop;

pub use built::{Built, BuiltAged, BuiltSet, Used, UsedByArms};
pub use contradictions::contradictions;
pub use data::{
    ContentKind, Data, DataSource, DirectoryClass, Level, Made, MakeDirectories, NAME_LENGTHS, NameScheme,
    SizeLaw, Spread, When,
};
pub use epoch::Epoch;
pub use file_systems::{FsId, LabFileSystem, LabMount, Place, Unavailable};
pub use files::{
    Access, FileOperation, FileOrder, FileWork, RemoveWork, Remover, Sharing, SyncPolicy, WorkerKind, Workers,
};
pub use group::{BreakEvenArms, Group, GroupRule, Pair};
pub use jsonl::{Chain, Cut, End, Header, Line, Note, ReadError, Record, Resumed, Writer};
pub use latency::{Latency, Since};
pub use machine::{FileSystem, Machine, Pressure};
pub use plan::{
    CacheState, Cell, CellId, DataId, ExpectedFiles, Keys, LookupCall, Order, Plan, Predicted, Presence,
    Preset, Published, Role, Rules, Stage, Work,
};
pub use refused::Refused;
pub use sample::{Counted, Phase, Sample, VoidReason};
pub use self_check::{Delay, SelfCheck};
pub use stop::Stop;

/// The version of the record's format that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 4;
