//! Parts that the plans of all work on files share: files by one worker, arms in steps, data sets of their own.

use megadir_record::{
    Access, CellId, Data, DataId, DataSource, FileOperation, FileOrder, FileWork, Made, Role, Sharing,
    SyncPolicy, Work, WorkerKind, Workers,
};

use crate::kind::arms::Arms;

/// One worker, in the engine's own thread.
pub(crate) const ONE: Workers = Workers { count: 1, kind: WorkerKind::Thread, sharing: Sharing::Same };

/// The most workers that may be asked for.
pub(crate) const WORKERS_MAX: u32 = 256;

/// Position of an arm in its chain, and its data set.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) data: DataId,
    pub(crate) chain: u32,
    pub(crate) step: u32,
}

/// Returns work on files by name, by one worker.
pub(crate) fn by_name(operation: FileOperation, order: FileOrder, (from, to): (u64, u64)) -> FileWork {
    let access = Access::Name { order };
    FileWork { operation, from, to, access, sync: SyncPolicy::Never, owner_and_mode: false, workers: ONE }
}

impl Arms<'_> {
    /// Adds a data set.
    pub(crate) fn add_data(&mut self, entries: u64, made: Made) -> DataId {
        let id = DataId(self.data.len() as u32);
        self.data.push(Data { id, entries, hash: None, on: None, source: DataSource::Made(made) });
        id
    }

    /// Adds an arm that works on files.
    pub(crate) fn files(&mut self, name: String, role: Role, place: Place, work: FileWork) -> CellId {
        self.push_at(name, role, place.data, Work::Files(work), (place.chain, place.step))
    }
}
