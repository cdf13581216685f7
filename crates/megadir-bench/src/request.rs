//! Plain data of planning: the user's request, the facts of the machine, and the result.
//!
//! This module is below `kind` and `plan`, so that both can use its types without using each other.

use std::fmt::Display;

use megadir::nearest::choices;
use megadir_record::{CacheState, LabFileSystem, Note, Plan, Preset};

/// Half-width at which a run stops; absolute widths are in nanoseconds.
pub use megadir_stats::HalfWidth;

use crate::lab::Spec;
use crate::method::MethodFact;

/// Empty lists and `None` keep the study's values.
///
/// Wishes of the user and abilities of the machine: all that planning depends on, except the study, so
/// that planning is a pure function. Values are parsed and typed, but their ranges are checked by the plan.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub preset: Preset,
    pub seed: u64,
    /// Measured rounds; the maximum if the run stops at a width.
    pub rounds: Option<u32>,
    pub until: Option<HalfWidth>,
    pub epochs: Option<u32>,
    pub target: Target,
    /// Replace the study's comparisons.
    pub backends: Vec<String>,
    pub buffers_bytes: Vec<u64>,
    pub threads: Vec<u32>,
    pub aged: Option<AgedBy>,
    /// Operations per second, for studies of single operations; `None` runs them back to back.
    pub rate_per_s: Option<u64>,
    pub facts: &'a [BackendFact],
    pub methods: &'a [MethodFact],
    pub programs: &'a [ProgramFact],
    /// If empty, the study's, else warm.
    pub caches: Vec<CacheState>,
    pub drop_caches: bool,
    pub cache_facts: &'a [CacheFact],
    /// File systems to mount for the run, or directories to compare, with facts of their own; if empty, the directory is used.
    pub file_systems: &'a [FileSystemFact],
    /// Room for images of file systems, bytes.
    pub images_room_bytes: u64,
}

impl Request<'_> {
    /// Request without options: the unchanged study, in files made for it, without a limit on images.
    #[must_use]
    pub fn bare(preset: Preset, seed: u64) -> Self {
        Self {
            preset,
            seed,
            rounds: None,
            until: None,
            epochs: None,
            target: Target::Made { entries: Vec::new() },
            backends: Vec::new(),
            buffers_bytes: Vec::new(),
            threads: Vec::new(),
            aged: None,
            rate_per_s: None,
            facts: &[],
            methods: &[],
            programs: &[],
            caches: Vec::new(),
            drop_caches: false,
            cache_facts: &[],
            file_systems: &[],
            images_room_bytes: u64::MAX,
        }
    }
}

/// Further files that an aged directory has held.
///
/// In absolute numbers, or as a multiple of the files that stay: a study with several sizes ages each in
/// proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgedBy {
    Files(u64),
    Times(u64),
}

impl AgedBy {
    pub(crate) fn files(self, own: u64) -> u64 {
        match self {
            Self::Files(files) => files,
            Self::Times(times) => own.saturating_mul(times),
        }
    }
}

/// Data that the run works on. Existing directories are only read: a plan whose arms change files refuses
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Sizes of the data sets made for the run; if empty, the preset's.
    Made {
        entries: Vec<u64>,
    },
    Existing {
        path: String,
        entries: u64,
    },
}

/// Limits of a backend of this machine, so that the plan has no arm that cannot run.
/// `unavailable` is the reason, which becomes the note on the arms that are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendFact {
    pub name: &'static str,
    pub unavailable: Option<String>,
    /// 1 if it reads in the caller's thread.
    pub threads_max: u32,
    /// As the library chooses them; `None` if it does not split a directory.
    pub shares_per_thread: Option<u32>,
    /// Bytes, if the caller cannot choose.
    pub buffer_fixed: Option<u64>,
    /// Minimum and maximum, bytes.
    pub buffer_bytes: (u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFact {
    pub word: String,
    /// First line of `--version`, or why the program is unavailable.
    pub version: Result<Option<String>, String>,
}

/// A cache state as this machine and the file system of the directory can provide it. Facts are gathered
/// once before planning, because some checks (for root, for the kernel's version) have nothing to do with a
/// plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFact {
    pub state: CacheState,
    /// In a virtual machine it says that the host's cache stays warm.
    pub name: String,
    pub unavailable: Option<String>,
}

/// `found` has the reason if the file system cannot be used, so that it becomes a row of the report, not an
/// error.
#[derive(Clone, Debug)]
pub struct FileSystemFact {
    /// As requested; a user's directory has its label.
    pub name: String,
    /// `None` for a directory of the user.
    pub spec: Option<Spec>,
    pub found: Result<FoundFileSystem, String>,
}

/// Found by mounting a small one, or in the user's directory.
///
/// A file system that can be used, with the abilities that it was found to have.
#[derive(Clone, Debug)]
pub struct FoundFileSystem {
    /// The plan gives it its number, and images and file systems in memory their size.
    pub file_system: LabFileSystem,
    /// Size of a device, or the most that may be used of the memory; `u64::MAX` for images and directories, which have no such limit.
    pub bytes_max: u64,
    pub backends: Vec<BackendFact>,
    pub methods: Vec<MethodFact>,
    pub caches: Vec<CacheFact>,
}

/// The plan, and notes on everything that was wished for and left out: the record keeps them, so that a
/// reader sees which comparisons are missing, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    pub plan: Plan,
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("unknown backend `{name}`: {}", choices(.name, .known.iter().map(String::as_str)))]
    UnknownBackend { name: String, known: Vec<String> },
    #[error("{option} cannot be {value}: {allowed}")]
    Value { option: &'static str, value: String, allowed: String },
    #[error("the files cannot be created: {reason}")]
    Data { reason: String },
    #[error("the baseline `{name}` is unavailable here: {reason}")]
    NoBaseline { name: String, reason: String },
    #[error("nothing is left to compare: {reason}")]
    Nothing { reason: String },
}

impl PlanError {
    pub(crate) fn value(option: &'static str, value: impl Display, allowed: impl Into<String>) -> Self {
        Self::Value { option, value: value.to_string(), allowed: allowed.into() }
    }
}

/// Refuses a number outside of 1 to `most`.
pub(crate) fn check_numbers(
    option: &'static str,
    numbers: impl IntoIterator<Item = impl Into<u64>>,
    most: impl Into<u64>,
) -> Result<(), PlanError> {
    let most = most.into();
    match numbers.into_iter().map(Into::<u64>::into).find(|number| !(1..=most).contains(number)) {
        Some(number) => Err(PlanError::value(option, number, format!("expected 1 to {most}"))),
        None => Ok(()),
    }
}

/// An unknown backend is an error of the request; a known one that is unavailable here only leaves its arms
/// out.
pub(crate) fn backend_fact<'a>(facts: &'a [BackendFact], name: &str) -> Result<&'a BackendFact, PlanError> {
    facts.iter().find(|fact| fact.name == name).ok_or_else(|| {
        let known: Vec<String> = facts.iter().map(|fact| fact.name.to_owned()).collect();
        PlanError::UnknownBackend { name: name.to_owned(), known }
    })
}

/// Refuses a buffer or thread count that no backend takes. If only the arm's backend refuses it, the arm is omitted with a note.
pub(crate) fn check_reading(facts: &[BackendFact], buffer_bytes: u64, threads: u32) -> Result<(), PlanError> {
    let low = facts.iter().map(|fact| fact.buffer_bytes.0).min().unwrap_or(0);
    let high = facts.iter().map(|fact| fact.buffer_bytes.1).max().unwrap_or(u64::MAX);
    if !(low..=high).contains(&buffer_bytes) {
        let allowed = format!("expected {low} to {high} bytes");
        return Err(PlanError::value("the buffer", format!("{buffer_bytes} bytes"), allowed));
    }
    let threads_max = facts.iter().map(|fact| fact.threads_max).max().unwrap_or(u32::MAX);
    check_numbers("the number of threads", [threads], threads_max)
}
