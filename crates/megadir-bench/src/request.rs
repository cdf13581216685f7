//! Plain data of planning: the user's request, the facts of the machine, and the result.

use megadir::nearest::choices;
use megadir_record::{CacheState, Note, Plan, Preset};

/// Width of intervals at which a run stops; absolute widths are in nanoseconds.
pub use megadir_stats::HalfWidth;

use crate::lab::Spec;
use crate::method::MethodFact;

/// The user's options for a study; empty lists and `None` leave the study's own values.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The size.
    pub preset: Preset,
    /// The seed of all random choices.
    pub seed: u64,
    /// Measured rounds; the most of them where the run stops at a width.
    pub rounds: Option<u32>,
    /// The half-width at which the run stops, of ratios or of differences in nanoseconds; `None` measures all rounds.
    pub until: Option<HalfWidth>,
    /// Number of times the data sets are made; `None` makes them once.
    pub epochs: Option<u32>,
    /// Target of the arms.
    pub target: Target,
    /// Backends to compare; the study's comparisons are replaced by one of these.
    pub backends: Vec<String>,
    /// Buffers to compare, bytes; as with `backends`.
    pub buffers_bytes: Vec<u64>,
    /// Numbers of threads to compare; as with `backends`.
    pub threads: Vec<u32>,
    /// Number of further files that aged directories have held, for twins of the arms; `None` makes no twins.
    pub aged: Option<AgedBy>,
    /// Operations that are to start a second, for studies of single operations; one after the other without.
    pub rate_per_s: Option<u64>,
    /// Facts of the backends on the machine and the file system.
    pub facts: &'a [BackendFact],
    /// Facts of the methods of finding attributes.
    pub methods: &'a [MethodFact],
    /// The states of the cache to measure in; the study's own when empty, and warm when that names none.
    pub caches: Vec<CacheState>,
    /// `true` if the caches of the whole machine may be dropped.
    pub drop_caches: bool,
    /// The available states of the cache.
    pub cache_facts: &'a [CacheFact],
    /// The file systems to measure on, made and mounted for the run, with what can be done on each, in the place of what is above;
    /// none works in the directory that was named.
    pub file_systems: &'a [FileSystemFact],
    /// Bytes free where their images will lie.
    pub images_room_bytes: u64,
}

#[cfg(test)]
impl Request<'_> {
    /// Returns a request that leaves all to the study, on a system that can do nothing.
    pub(crate) fn bare(preset: Preset, seed: u64) -> Self {
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
            caches: Vec::new(),
            drop_caches: false,
            cache_facts: &[],
            file_systems: &[],
            images_room_bytes: u64::MAX,
        }
    }
}

/// Number of further files that an aged directory has held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgedBy {
    /// This number of files.
    Files(u64),
    /// This multiple of its own files.
    Times(u64),
}

impl AgedBy {
    /// Returns the number of further files for a directory of `own` files.
    pub(crate) fn files(self, own: u64) -> u64 {
        match self {
            Self::Files(files) => files,
            Self::Times(times) => own.saturating_mul(times),
        }
    }
}

/// Target of the arms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Data sets made for the run, of these sizes; of the preset's when empty.
    Made {
        /// Entries of each data set.
        entries: Vec<u64>,
    },
    /// The user's own directory, only ever read.
    Existing {
        /// Its path, for the record.
        path: String,
        /// Its entries as just counted.
        entries: u64,
    },
}

/// Capabilities of a backend here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendFact {
    /// Its name.
    pub name: &'static str,
    /// Reason why it is unavailable here.
    pub unavailable: Option<String>,
    /// The largest number of threads; 1 if it reads in the caller's thread.
    pub threads_max: u32,
    /// Shares of a directory for each thread, as the library chooses them; `None` if it does not split.
    pub shares_per_thread: Option<u32>,
    /// The only buffer it can have, bytes, where the caller cannot choose.
    pub buffer_fixed: Option<u64>,
    /// The smallest and the largest buffer it takes, bytes.
    pub buffer_bytes: (u64, u64),
}

#[cfg(test)]
impl BackendFact {
    /// Returns a backend that reads in the caller's thread, into any buffer.
    pub(crate) fn bare(name: &'static str) -> Self {
        Self {
            name,
            unavailable: None,
            threads_max: 1,
            shares_per_thread: None,
            buffer_fixed: None,
            buffer_bytes: (4096, 16 << 20),
        }
    }
}

/// Availability of a state of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFact {
    /// The state.
    pub state: CacheState,
    /// Its name in reports: in a virtual machine the host's cache stays warm, and the name says so.
    pub name: String,
    /// Reason why it is unavailable here.
    pub unavailable: Option<String>,
}

/// A file system that was asked for.
#[derive(Clone, Debug)]
pub struct FileSystemFact {
    /// The requested file system.
    pub spec: Spec,
    /// The file system as it was found, or the reason why it is unavailable.
    pub found: Result<FoundFileSystem, String>,
}

/// Facts of a file system, found by making and mounting a small one.
#[derive(Clone, Debug)]
pub struct FoundFileSystem {
    /// Its name in tables, see `LabFileSystem::label`.
    pub label: String,
    /// The driver that serves it.
    pub driver: String,
    /// The program that makes it, with its version.
    pub tool: Option<String>,
    /// Where it will be made.
    pub backing: Backing,
    /// Facts of the backends there.
    pub backends: Vec<BackendFact>,
    /// The ways of finding out attributes there.
    pub methods: Vec<MethodFact>,
    /// The states of the cache that are available there.
    pub caches: Vec<CacheFact>,
}

/// Backing of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// An image file as large as is needed.
    Image,
    /// A device.
    Device {
        /// Its path.
        path: String,
        /// Its size, bytes.
        bytes: u64,
    },
    /// Memory.
    Memory {
        /// The most that may be taken, bytes.
        bytes_max: u64,
    },
}

/// A plan and the notes about omitted parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Reasons why arms or groups of the study are missing; they belong in the record.
    pub notes: Vec<Note>,
}

/// Reason why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No backend has this name.
    #[error("there is no backend `{name}`: {}", choices(.name, .known.iter().map(String::as_str)))]
    UnknownBackend {
        /// The name.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// An impossible value.
    #[error("{what} cannot be {value}: {allowed}")]
    Value {
        /// The option.
        what: &'static str,
        /// The value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// Files as they are asked for cannot be.
    #[error("the files cannot be made: {reason}")]
    Data {
        /// The reason.
        reason: String,
    },
    /// The arm that everything is compared with cannot run here.
    #[error("the baseline `{name}` is not available here: {reason}")]
    NoBaseline {
        /// The backend.
        name: String,
        /// The reason.
        reason: String,
    },
    /// Only the baseline is left.
    #[error("nothing is left to compare: {reason}")]
    Nothing {
        /// The reason.
        reason: String,
    },
}

/// Returns the facts of a backend, or an error that names the nearest.
pub(crate) fn backend_fact<'a>(facts: &'a [BackendFact], name: &str) -> Result<&'a BackendFact, PlanError> {
    facts.iter().find(|fact| fact.name == name).ok_or_else(|| {
        let known: Vec<String> = facts.iter().map(|fact| fact.name.to_owned()).collect();
        PlanError::UnknownBackend { name: name.to_owned(), known }
    })
}

/// Refuses a buffer or a number of threads that no backend takes.
///
/// This is the only range check between the command line or a study file and the backend, which refuses too. A value that some
/// backends take and the arm's own does not is no error: that arm is left out with a note.
pub(crate) fn check_reading(
    facts: &[BackendFact],
    buffer_bytes: Option<u64>,
    threads: u32,
) -> Result<(), PlanError> {
    let refuse = |what, value, allowed| Err(PlanError::Value { what, value, allowed });
    let low = facts.iter().map(|fact| fact.buffer_bytes.0).min().unwrap_or(0);
    let high = facts.iter().map(|fact| fact.buffer_bytes.1).max().unwrap_or(u64::MAX);
    if let Some(bytes) = buffer_bytes.filter(|bytes| !(low..=high).contains(bytes)) {
        let allowed = format!("{low} to {high} bytes are possible");
        return refuse("the buffer", format!("{bytes} bytes"), allowed);
    }
    let threads_max = facts.iter().map(|fact| fact.threads_max).max().unwrap_or(u32::MAX);
    if !(1..=threads_max).contains(&threads) {
        let allowed = format!("1 to {threads_max} are possible");
        return refuse("the number of threads", threads.to_string(), allowed);
    }
    Ok(())
}
