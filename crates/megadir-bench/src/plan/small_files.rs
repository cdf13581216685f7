//! The plan of a study of the life of many small files: written, asked about, read, rewritten, removed, by ever more
//! workers.
//!
//! ```text
//! chain      one number of workers and one sync policy, on files of its own
//! steps      create, stat, read, rewrite, unlink; with other sync policies than the first: create, rewrite
//! ```

use megadir_record::{
    Access, CellId, FileOperation, FileOrder, FileWork, Made, Order, Pair, Role, Sharing, SyncPolicy, When,
    WorkerKind, Workers,
};

use super::PlanError;
use super::arms::Arms;
use super::file_studies::Place;
use crate::study::SmallFileSpec;

/// The most workers that may be asked for.
const WORKERS_MAX: u32 = 256;

/// The steps of a whole life.
const LIFE: [FileOperation; 5] = [
    FileOperation::Create,
    FileOperation::Stat,
    FileOperation::Read,
    FileOperation::Rewrite,
    FileOperation::Unlink,
];
/// The steps that write, where another sync policy makes a difference.
const WRITING: [FileOperation; 2] = [FileOperation::Create, FileOperation::Rewrite];

/// One arm with what it is made of.
struct One {
    operation: FileOperation,
    workers: u32,
    sync: SyncPolicy,
    arm: CellId,
}

/// Adds the arms and groups; every worker has `entries` files.
pub(super) fn small_files(
    spec: &SmallFileSpec,
    made: &Made,
    entries: u64,
    arms: &mut Arms<'_>,
) -> Result<Order, PlanError> {
    if let Some(count) = spec.workers.iter().find(|count| !(1..=WORKERS_MAX).contains(*count)) {
        let allowed = format!("1 to {WORKERS_MAX} are possible");
        return Err(PlanError::Value { what: "the number of workers", value: count.to_string(), allowed });
    }
    let (Some(&fewest), Some(&policy)) = (spec.workers.first(), spec.sync.first()) else {
        return Err(PlanError::Nothing { reason: "the study names no workers or no sync policy".into() });
    };
    let mut chains = Chains { spec, made, entries, chain: 0 };
    let mut all = chains.add(fewest, policy, Role::Baseline, arms);
    chains.add(fewest, policy, Role::AgainstItself, arms);
    for &workers in &spec.workers[1..] {
        all.extend(chains.add(workers, policy, Role::Arm, arms));
    }
    for &sync in &spec.sync[1..] {
        for &workers in &spec.workers {
            all.extend(chains.add(workers, sync, Role::Arm, arms));
        }
    }
    let find = |operation, workers, sync| {
        let same = |one: &&One| (one.operation, one.workers, one.sync) == (operation, workers, sync);
        all.iter().find(same).map(|one| one.arm)
    };
    let scaling = all.iter().filter(|one| one.workers != fewest).filter_map(|one| {
        Some(Pair {
            what: counted(one.workers, spec.worker_kind),
            than: counted(fewest, spec.worker_kind),
            at: format!(
                "{}{}, wall time per file",
                verb(one.operation),
                sync_name(if WRITING.contains(&one.operation) { one.sync } else { SyncPolicy::Never })
            ),
            arm: one.arm,
            to: find(one.operation, fewest, one.sync)?,
        })
    });
    let scaling = scaling.collect();
    let durable = all.iter().filter(|one| one.sync != policy).filter_map(|one| {
        Some(Pair {
            what: durable_name(one.sync).into(),
            than: durable_name(policy).into(),
            at: format!("{}, {}", verb(one.operation), counted(one.workers, spec.worker_kind)),
            arm: one.arm,
            to: find(one.operation, one.workers, policy)?,
        })
    });
    let durable = durable.collect();
    arms.pairs("scaling", "What do more workers do to the wall time per file?", scaling);
    arms.pairs("durability", "What does it cost that files are on the disk?", durable);
    Ok(Order::Chains)
}

/// The chains that are added one after the other.
struct Chains<'a> {
    spec: &'a SmallFileSpec,
    made: &'a Made,
    entries: u64,
    chain: u32,
}

impl Chains<'_> {
    fn add(&mut self, count: u32, sync: SyncPolicy, role: Role, arms: &mut Arms<'_>) -> Vec<One> {
        let data = arms.add_data(self.entries, Made { when: When::ByArms, ..self.made.clone() });
        let chain = self.chain;
        self.chain += 1;
        let whole = self.spec.sync.first() == Some(&sync);
        let steps: &[FileOperation] = if whole { &LIFE } else { &WRITING };
        let workers = Workers { count, kind: self.spec.worker_kind, sharing: self.spec.sharing };
        let itself = if role == Role::AgainstItself { " (itself)" } else { "" };
        let add = |(step, &operation): (usize, &FileOperation)| {
            let writes = WRITING.contains(&operation);
            let work = FileWork {
                operation,
                from: 0,
                to: self.entries,
                access: match self.spec.sharing {
                    Sharing::Own => Access::Directory,
                    // A directory that several list has no listing order for each.
                    Sharing::Same => Access::Name { order: FileOrder::AsWritten },
                },
                sync: if writes { sync } else { SyncPolicy::Never },
                owner_and_mode: writes,
                workers,
            };
            let kind = counted(count, self.spec.worker_kind);
            let name = format!("{}{}, {kind}{itself}", verb(operation), sync_name(work.sync));
            let arm = arms.files(name, role, Place { data, chain, step: step as u32 }, work);
            One { operation, workers: count, sync, arm }
        };
        steps.iter().enumerate().map(add).collect()
    }
}

fn verb(operation: FileOperation) -> &'static str {
    match operation {
        FileOperation::MakeDirectories => "make directories",
        FileOperation::Create => "write",
        FileOperation::Read => "read",
        FileOperation::Rewrite => "rewrite",
        FileOperation::Stat => "stat",
        FileOperation::Unlink => "unlink",
    }
}

fn sync_name(sync: SyncPolicy) -> &'static str {
    match sync {
        SyncPolicy::Never => "",
        SyncPolicy::EachFile => " with fsync",
        SyncPolicy::FileAndDirectory => " with fsync of file and directory",
        SyncPolicy::AtEnd => " with syncfs at the end",
    }
}

fn durable_name(sync: SyncPolicy) -> &'static str {
    match sync {
        SyncPolicy::Never => "no sync",
        SyncPolicy::EachFile => "fsync of each file",
        SyncPolicy::FileAndDirectory => "fsync of each file and its directory",
        SyncPolicy::AtEnd => "one syncfs at the end",
    }
}

fn counted(count: u32, kind: WorkerKind) -> String {
    match (kind, count) {
        (WorkerKind::Process, 1) => "1 process".into(),
        (WorkerKind::Process, _) => format!("{count} processes"),
        (WorkerKind::Thread, 1) => "1 thread".into(),
        (WorkerKind::Thread, _) => format!("{count} threads"),
    }
}
