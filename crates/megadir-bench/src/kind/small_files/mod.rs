//! The life of many small files: created, examined, read, rewritten, removed by several workers.

mod plan;

use megadir_record::{CacheState, Sharing, SyncPolicy, WorkerKind};
use serde::Deserialize;

pub(crate) use plan::small_files;

/// `[smallfile]` of a study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallFilesSpec {
    /// Numbers of workers, ascending.
    pub workers: Vec<u32>,
    /// Threads or processes.
    pub worker_kind: WorkerKind,
    /// Own files for each worker, or one tree for all.
    pub sharing: Sharing,
    /// When written files are made durable: the first with all operations, the rest with those that write.
    pub sync: Vec<SyncPolicy>,
    /// How files are found: the first with all workers, the rest with the fewest workers and in the first state of the cache.
    pub access: Vec<AccessSpec>,
    /// Cold states in which files are examined, read and removed besides the warm one, if they are available and the user
    /// asks for no states.
    #[serde(default)]
    pub cold: Vec<CacheState>,
}

/// How files are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessSpec {
    /// Each directory is opened and listed, and each entry worked on: compound operations.
    Directory,
    /// By names known beforehand, in the order in which they were made: discrete operations.
    Name,
}

impl SmallFilesSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.workers.is_empty() || self.sync.is_empty() || self.access.is_empty() {
            let text = "smallfile.workers, smallfile.sync and smallfile.access need at least one value each";
            return Some(text.into());
        }
        (!self.workers.is_sorted_by(|a, b| a < b)).then(|| "smallfile.workers must ascend".into())
    }
}
