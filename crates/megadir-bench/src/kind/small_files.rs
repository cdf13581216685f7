//! Life cycle of many small files: created, examined, read, rewritten, removed by several workers.
//!
//! ```text
//!  chain (a host, a number of workers):   create -> stat -> read -> rewrite -> unlink      one life
//!  host 0: first sync policy, warm        host 1: second policy, and a cold state ...
//!  control: host 0 with the fewest workers, on files of its own
//! ```
//!
//! Chains are carried out one after the other, in random order, and each begins with an empty data set.

use megadir_record::axes::{sync_words, workers as counted};
use megadir_record::{
    Access, AccessBy, ArmId, Axes, CacheState, FileOperation, FileOrder, FileWork, Made, Order, Pair, Role,
    Sharing, SyncPolicy, When, WorkerKind, Workers,
};
use serde::Deserialize;

use crate::kind::arms::{Arms, paired};
use crate::kind::files::WORKERS_MAX;
use crate::kind::named_kind;
use crate::request::{CacheFact, PlanError, check_numbers};

/// Section of a study on the life of small files. The axes are not crossed completely, which would take days:
/// the first value of each list is measured with all others, and the rest only where it matters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallFilesSpec {
    pub workers: Vec<u32>,
    pub worker_kind: WorkerKind,
    pub sharing: Sharing,
    /// The first policy is measured with all operations, the rest with writing operations only.
    pub sync: Vec<SyncPolicy>,
    /// Directory by directory, each listed and its entries processed, or by known names in order of creation. The
    /// first is measured with all worker counts, the rest with the fewest workers in the first cache state.
    pub access: Vec<AccessBy>,
    /// Operations on each file, in the order of its life: from create to unlink.
    #[serde(default = "life")]
    pub operations: Vec<FileOperation>,
    /// Owner and mode of written files are set by descriptor, except on Windows.
    #[serde(default = "yes")]
    pub owner_and_mode: bool,
    /// Cold states for examining, reading and removing, if available and unless the user requests states.
    #[serde(default)]
    pub cold: Vec<CacheState>,
    /// Ranks, if they are the workers. More workers are threads of these.
    #[serde(skip)]
    pub ranks: u32,
}

impl SmallFilesSpec {
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.workers.is_empty() || self.sync.is_empty() || self.access.is_empty() {
            let text = "smallfile.workers, smallfile.sync and smallfile.access need at least one value each";
            return Some(text.into());
        }
        if !self.workers.is_sorted_by(|a, b| a < b) {
            return Some("smallfile.workers must ascend".into());
        }
        (!are_in_order(&self.operations)).then(|| format!("smallfile.operations: expected {IN_ORDER}"))
    }
}

fn life() -> Vec<FileOperation> {
    STEPS.to_vec()
}

fn yes() -> bool {
    true
}

const STEPS: [FileOperation; 5] = [
    FileOperation::Create,
    FileOperation::Stat,
    FileOperation::Read,
    FileOperation::Rewrite,
    FileOperation::Unlink,
];
/// Operations that a sync policy concerns.
const WRITING: [FileOperation; 2] = [FileOperation::Create, FileOperation::Rewrite];
const IN_ORDER: &str = "create, any of stat, read and rewrite, and unlink, in this order";

fn are_in_order(operations: &[FileOperation]) -> bool {
    let in_order = STEPS.into_iter().filter(|step| operations.contains(step));
    let has = |step| operations.contains(&step);
    in_order.eq(operations.iter().copied()) && has(FileOperation::Create) && has(FileOperation::Unlink)
}

/// One measured operation of a chain. Two variants that differ in one field alone are compared.
///
/// `cold` is the name of the cache state, and `None` in a warm cache.
#[derive(Clone, Copy, PartialEq)]
struct Variant<'a> {
    operation: FileOperation,
    workers: u32,
    sync: SyncPolicy,
    cold: Option<&'a str>,
    access: AccessBy,
}

impl Variant<'_> {
    fn conditions(&self) -> String {
        let cold = self.cold.map(|name| format!(", {name}")).unwrap_or_default();
        format!("{}{}{cold}", self.operation.word(), sync_words(self.sync))
    }
}

/// A chain is one life: files are created, and all later operations work on them. Sync policies and cold
/// states are "hosts" of a chain, since each needs files of its own. A list of operations must be in the
/// order of a life, or an arm would find no files.
pub(crate) fn small_files(
    spec: &SmallFilesSpec,
    made: &Made,
    entries: u64,
    states: &[CacheFact],
    arms: &mut Arms<'_>,
) -> Result<Order, PlanError> {
    check_numbers("the number of workers", spec.workers.iter().copied(), WORKERS_MAX)?;
    if !are_in_order(&spec.operations) {
        let value = serde_json::to_string(&spec.operations).unwrap_or_default().replace('"', "");
        return Err(PlanError::value("the operations", value, format!("expected {IN_ORDER}")));
    }
    let (Some(&fewest), Some(_), Some(_)) = (spec.workers.first(), spec.sync.first(), spec.access.first())
    else {
        return Err(PlanError::Nothing { reason: "the study has no workers, sync policy or access".into() });
    };
    let chains = Chains { spec, made, entries };
    let mut all = Vec::new();
    for &count in &spec.workers {
        for host in hosts(spec, states) {
            // Each cache state has an A/A comparison on its own files: caches below the guest hold files that were just read.
            let cold = host.state.is_some_and(|state_fact| state_fact.state.is_cold());
            let is_baseline = count == fewest && (host.place == 0 || cold);
            let role = if is_baseline { Role::Baseline } else { Role::Arm };
            all.extend(chains.add(count, &host, role, arms));
            if role == Role::Baseline {
                chains.add(count, &host, Role::Control, arms);
            }
        }
    }
    // In a shared tree files are accessed by name anyway.
    if spec.sharing == Sharing::Own {
        for &access in &spec.access[1..] {
            let host = Host { place: 0, sync: spec.sync[0], state: states.first(), access };
            all.extend(chains.add(fewest, &host, Role::Arm, arms));
        }
    }
    groups(spec, &all, arms);
    Ok(Order::Chains)
}

/// Conditions of a chain. Sync policies and cache states are paired by their place in their lists, so that
/// files written by one policy also serve a cold state; otherwise each state would need a further chain.
struct Host<'a> {
    place: usize,
    sync: SyncPolicy,
    state: Option<&'a CacheFact>,
    access: AccessBy,
}

fn hosts<'a>(spec: &SmallFilesSpec, states: &'a [CacheFact]) -> Vec<Host<'a>> {
    let host = |place: usize| Host {
        place,
        sync: *spec.sync.get(place).unwrap_or(&spec.sync[0]),
        state: states.get(place),
        access: spec.access[0],
    };
    (0..spec.sync.len().max(states.len())).map(host).collect()
}

/// Values that all chains have in common.
struct Chains<'a> {
    spec: &'a SmallFilesSpec,
    made: &'a Made,
    entries: u64,
}

impl Chains<'_> {
    /// Adds the operations of one chain, in order. Creation is always a step, because the others need the
    /// files; whether it is a measured arm depends on the chain. Cold states apply to operations that find
    /// files, not to groups that write them.
    fn add<'h>(
        &self,
        count: u32,
        host: &Host<'h>,
        role: Role,
        arms: &mut Arms<'_>,
    ) -> Vec<(Variant<'h>, ArmId)> {
        let data = arms.add_data(self.entries, Made { when: When::ByArms, ..self.made.clone() });
        // The first policy's writing is measured in the first chain.
        let own_writing = host.place < self.spec.sync.len();
        let wanted = |operation: &FileOperation| match host.state {
            _ if WRITING.contains(operation) => own_writing || *operation == FileOperation::Create,
            None => false,
            Some(state_fact) => applies(state_fact.state, *operation),
        };
        let mut added = Vec::new();
        for (step, operation) in (0..).zip(self.spec.operations.iter().copied().filter(wanted)) {
            let writes = WRITING.contains(&operation);
            let cold = host.state.filter(|state_fact| state_fact.state.is_cold() && !writes);
            let work = self.work(operation, count, host);
            let sync = work.sync;
            let axes = Axes { is_control: role == Role::Control, ..self.axes(&work, host, cold) };
            let arm = arms.files(axes, role, (data, step), work);
            if let Some(state_fact) = cold {
                arms.planned[arm.0 as usize].cache = state_fact.state;
            }
            // Another chain measures this writing; here it only provides files.
            if own_writing || !writes {
                let cold = cold.map(|state_fact| state_fact.name.as_str());
                added.push((Variant { operation, workers: count, sync, cold, access: host.access }, arm));
            }
        }
        added
    }

    fn work(&self, operation: FileOperation, count: u32, host: &Host<'_>) -> FileWork {
        let writes = WRITING.contains(&operation);
        FileWork {
            operation,
            from: 0,
            to: self.entries,
            access: match (self.spec.sharing, host.access) {
                (Sharing::Own, AccessBy::Directory) => Access::Directory,
                // In a shared directory a single worker has no listing order of its own.
                (Sharing::Same, _) | (_, AccessBy::Name) => Access::Name { order: FileOrder::AsWritten },
            },
            sync: if writes { host.sync } else { SyncPolicy::Never },
            owner_and_mode: writes && self.spec.owner_and_mode && !cfg!(windows),
            workers: Workers { count, kind: self.spec.worker_kind, sharing: self.spec.sharing },
        }
    }

    /// Axes of an arm. Only values that differ between arms are named, so that names stay readable.
    fn axes(&self, work: &FileWork, host: &Host<'_>, cold: Option<&CacheFact>) -> Axes {
        let for_state = cold.is_none() && host.place >= self.spec.sync.len();
        let state = || host.state.map_or_else(String::new, |state_fact| state_fact.name.clone());
        Axes {
            access: Some(host.access).filter(|access| *access != self.spec.access[0]),
            sync: Some(work.sync).filter(|sync| *sync != SyncPolicy::Never),
            workers: Some(work.workers.count),
            worker_kind: named_kind(self.spec.worker_kind, work.workers.count, self.spec.ranks),
            cache: cold.map(|state_fact| state_fact.name.clone()),
            for_cache: for_state.then(state),
            ..Axes::of(work.operation.into())
        }
    }
}

/// `true` if the state makes a difference to the operation. Files that a chain creates have been seen by
/// its workers.
fn applies(state: CacheState, operation: FileOperation) -> bool {
    match state {
        CacheState::Unseen => false,
        CacheState::DataCold => operation == FileOperation::Read,
        CacheState::Warm | CacheState::VfsCold | CacheState::FsCold => true,
    }
}

/// Four questions, each a set of pairs that differ in one field of the variant.
fn groups(spec: &SmallFilesSpec, all: &[(Variant<'_>, ArmId)], arms: &mut Arms<'_>) {
    let (fewest, policy, access) = (spec.workers[0], spec.sync[0], spec.access[0]);
    let counted = |workers: u32| counted(workers, named_kind(spec.worker_kind, workers, spec.ranks));
    let at = |variant: Variant<'_>| format!("{}, {}", variant.operation.word(), counted(variant.workers));
    let scaling = paired(all, |variant| {
        let words = [counted(variant.workers), counted(fewest), variant.conditions()];
        (variant.workers != fewest).then_some((Variant { workers: fewest, ..variant }, words))
    });
    let scaling = scaling.into_iter().map(|pair| Pair { wall_time: true, ..pair });
    let durable = paired(all, |variant| {
        let words = [durable_name(variant.sync), durable_name(policy), &at(variant)].map(str::to_owned);
        let differs = variant.sync != policy && WRITING.contains(&variant.operation);
        differs.then_some((Variant { sync: policy, cold: None, ..variant }, words))
    });
    let cold = paired(all, |variant| {
        let [subject, than] =
            [variant.cold?, CacheState::Warm.name()].map(|state| format!("a {state} cache"));
        Some((Variant { cold: None, ..variant }, [subject, than, at(variant)]))
    });
    let discrete = paired(all, |variant| {
        let at = format!("{}, {}", variant.conditions(), counted(variant.workers));
        let words = ["operations by known names", "directories listed and worked on", &at].map(str::to_owned);
        (variant.access != access).then_some((Variant { access, ..variant }, words))
    });
    arms.pairs("scaling", "How do more workers change the wall time per file?", scaling);
    arms.answers("scaling");
    arms.pairs("durability", "How much does durability cost?", durable);
    arms.pairs("cache", "How much does a cold cache cost?", cold);
    arms.pairs("discrete", "How much faster are operations if the names are known?", discrete);
}

fn durable_name(sync: SyncPolicy) -> &'static str {
    match sync {
        SyncPolicy::Never => "no sync",
        SyncPolicy::EachFile => "fsync of each file",
        SyncPolicy::FileAndDirectory => "fsync of each file and its directory",
        SyncPolicy::AtEnd => "one syncfs at the end",
    }
}
