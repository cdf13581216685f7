//! Shared parts of the plans for work on files: single-worker work, arms in steps, data sets.

use megadir_record::{
    Access, Axes, CellId, Data, DataId, DataSource, FileOperation, FileOrder, FileWork, Made, Role, Sharing,
    SyncPolicy, Work, WorkerKind, Workers,
};

use crate::kind::arms::Arms;

pub(crate) const ONE: Workers = Workers { count: 1, kind: WorkerKind::Thread, sharing: Sharing::Same };

pub(crate) const WORKERS_MAX: u32 = 256;

#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) data: DataId,
    pub(crate) chain: u32,
    pub(crate) step: u32,
}

pub(crate) fn by_name(operation: FileOperation, order: FileOrder, (from, to): (u64, u64)) -> FileWork {
    let access = Access::Name { order };
    FileWork { operation, from, to, access, sync: SyncPolicy::Never, owner_and_mode: false, workers: ONE }
}

impl Arms<'_> {
    pub(crate) fn add_data(&mut self, entries: u64, made: Made) -> DataId {
        let id = DataId(self.data.len() as u32);
        self.data.push(Data { id, entries, hash: None, on: None, source: DataSource::Made(made) });
        id
    }

    pub(crate) fn files(&mut self, axes: Axes, role: Role, place: Place, work: FileWork) -> CellId {
        self.push_at(axes, role, place.data, Work::Files(work), (place.chain, place.step))
    }
}
