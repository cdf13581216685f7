//! What studies of work on files have in common: files by one worker, arms that come in steps, data sets of their own.

use megadir_record::{
    Access, CellId, Data, DataId, DataSource, FileOperation, FileOrder, FileWork, Made, Role, Sharing,
    SyncPolicy, Work, WorkerKind, Workers,
};

use super::arms::Arms;
use super::{PlanError, Request, Target};
use crate::study::{SizeSpec, Study};

/// One worker, in the engine's own thread.
pub(super) const ONE: Workers = Workers { count: 1, kind: WorkerKind::Thread, sharing: Sharing::Same };

/// The most workers that may be asked for.
pub(super) const WORKERS_MAX: u32 = 256;

/// Where an arm stands among those that work on what others left.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) data: DataId,
    pub(super) chain: u32,
    pub(super) step: u32,
}

/// Returns work on files by name, by one worker.
pub(super) fn by_name(operation: FileOperation, order: FileOrder, (from, to): (u64, u64)) -> FileWork {
    let access = Access::Name { order };
    FileWork { operation, from, to, access, sync: SyncPolicy::Never, owner_and_mode: false, workers: ONE }
}

/// Refuses what only studies that list or look up can be asked for, and returns the sizes that were asked for.
pub(super) fn sizes(study: &Study, request: &Request<'_>, size: &SizeSpec) -> Result<Vec<u64>, PlanError> {
    let refuse = |what, value: String, allowed| Err(PlanError::Value { what, value, allowed });
    if !(request.backends.is_empty() && request.buffers_bytes.is_empty() && request.threads.is_empty()) {
        let allowed = format!("study `{}` lists nothing, so it has none", study.name);
        return refuse("backends, buffers or threads", "chosen".into(), allowed);
    }
    match &request.target {
        Target::Existing { path, .. } => {
            let allowed = "files are made, changed and removed, which is done in a directory of the run's own only: \
                           give --entries, or name another directory";
            refuse("the directory", path.clone(), allowed.into())
        }
        Target::Made { entries } if entries.is_empty() => {
            Ok(size.smaller.iter().copied().chain([size.entries]).collect())
        }
        Target::Made { entries } => {
            let mut entries = entries.clone();
            entries.sort_unstable();
            entries.dedup();
            Ok(entries)
        }
    }
}

impl Arms<'_> {
    /// Adds a data set.
    pub(super) fn add_data(&mut self, entries: u64, made: Made) -> DataId {
        let id = DataId(self.data.len() as u32);
        self.data.push(Data { id, entries, hash: None, on: None, source: DataSource::Made(made) });
        id
    }

    /// Adds an arm that works on files.
    pub(super) fn files(&mut self, name: String, role: Role, place: Place, work: FileWork) -> CellId {
        self.push_at(name, role, place.data, Work::Files(work), (place.chain, place.step))
    }
}
