//! What is asked of a study, what the machine can do, and what comes of it: plain data.

use megadir::nearest::choices;
use megadir_record::{CacheState, Note, Plan, Preset};

/// How narrow intervals are to be for a run to stop; absolute widths are in nanoseconds.
pub use megadir_stats::HalfWidth;

use crate::lab::Spec;
use crate::method::MethodFact;

/// What the user asks of a study; empty lists and `None` leave the study's own values.
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
    /// How often the data sets are made anew; `None` makes them once.
    pub epochs: Option<u32>,
    /// What the arms work on.
    pub target: Target,
    /// Backends to compare; the study's comparisons are replaced by one of these.
    pub backends: Vec<String>,
    /// Buffers to compare, bytes; as with `backends`.
    pub buffers_bytes: Vec<u64>,
    /// Numbers of threads to compare; as with `backends`.
    pub threads: Vec<u32>,
    /// How many files directories have held more, for twins of the arms on such; `None` leaves them out.
    pub aged: Option<AgedBy>,
    /// Operations that are to start a second, for studies of single operations; one after the other without.
    pub rate_per_s: Option<u64>,
    /// What the machine and the file system can do.
    pub facts: &'a [BackendFact],
    /// The ways of finding out attributes, and what they can do there.
    pub methods: &'a [MethodFact],
    /// The states of the cache to measure in; the study's own when empty, and warm when that names none.
    pub caches: Vec<CacheState>,
    /// Whether the caches of the whole machine may be dropped.
    pub drop_caches: bool,
    /// Which states can be had.
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

/// How many files a directory is aged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgedBy {
    /// So many beyond its own.
    Files(u64),
    /// So many times its own beyond them.
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

/// What the arms work on.
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

/// What one backend can do here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendFact {
    /// Its name.
    pub name: &'static str,
    /// Why it cannot be used here; `None` when it can.
    pub unavailable: Option<String>,
    /// The most threads it takes; 1 for those that read in the caller's thread.
    pub threads_max: u32,
    /// Shares that it splits a directory into for each thread, as the library would; `None` for those that do not split.
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

/// One state of the cache, as it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFact {
    /// The state.
    pub state: CacheState,
    /// How reports call it: within a virtual machine the host's cache stays warm, and the name says so.
    pub name: String,
    /// Why it cannot be had here; `None` when it can.
    pub unavailable: Option<String>,
}

/// A file system that was asked for.
#[derive(Clone, Debug)]
pub struct FileSystemFact {
    /// What was asked for.
    pub spec: Spec,
    /// What it is here, or why it cannot be had.
    pub found: Result<FoundFileSystem, String>,
}

/// A file system as it was found when one was made and mounted to see.
#[derive(Clone, Debug)]
pub struct FoundFileSystem {
    /// What tables call it, see [`LabFileSystem::label`].
    pub label: String,
    /// The driver that serves it.
    pub driver: String,
    /// The program that makes it, with its version.
    pub tool: Option<String>,
    /// What it will lie on.
    pub ground: Ground,
    /// What backends can do there.
    pub backends: Vec<BackendFact>,
    /// The ways of finding out attributes there.
    pub methods: Vec<MethodFact>,
    /// Which states of the cache can be had there.
    pub caches: Vec<CacheFact>,
}

/// What a file system will lie on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
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

/// A plan, and what had to be left out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Why arms or groups of the study are not in it; they belong in the record.
    pub notes: Vec<Note>,
}

/// Why there is no plan.
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
    /// A value that cannot be had.
    #[error("{what} cannot be {value}: {allowed}")]
    Value {
        /// What was asked for.
        what: &'static str,
        /// The value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Files as they are asked for cannot be.
    #[error("the files cannot be made: {reason}")]
    Data {
        /// Why.
        reason: String,
    },
    /// The arm that everything is compared with cannot run here.
    #[error("the baseline `{name}` is not available here: {reason}")]
    NoBaseline {
        /// The backend.
        name: String,
        /// Why not.
        reason: String,
    },
    /// No arm beside the baseline is left.
    #[error("nothing is left to compare: {reason}")]
    Nothing {
        /// Why.
        reason: String,
    },
}
