//! Life cycle of many small files: created, examined, read, rewritten, removed by several workers.

mod plan;

use megadir_record::{CacheState, Sharing, SyncPolicy, WorkerKind};
use serde::Deserialize;

pub(crate) use plan::small_files;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallFilesSpec {
    pub workers: Vec<u32>,
    pub worker_kind: WorkerKind,
    /// Separate files for each worker, or one tree for all.
    pub sharing: Sharing,
    /// Durability of written files: the first policy with all operations, the rest with writing operations
    /// only.
    pub sync: Vec<SyncPolicy>,
    /// Access to files: the first with all worker counts, the rest with the fewest workers in the first cache
    /// state.
    pub access: Vec<AccessSpec>,
    /// Cold states for examining, reading and removing, in addition to warm. Used if available, unless the user
    /// requests states.
    #[serde(default)]
    pub cold: Vec<CacheState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessSpec {
    /// Each directory is opened and listed, and each entry processed: compound operations.
    Directory,
    /// By known names, in order of creation: discrete operations.
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
