//! Filling one directory: the cost of creating a file at every population.
//!
//! ```text
//!  fill         one chain:   bucket 0 | bucket 1 | ... | bucket n       population grows
//!               its control: bucket 0 in another empty directory
//!  populations  each size:   directory of n files -> create 200 -> unlink 200   population stays
//!  refusal      one arm:     create until the directory refuses a name
//! ```
//!
//! The curve alone cannot separate the population from the order of the buckets, since every bucket comes
//! after the ones before it. The excursions can: their directories exist at the same time and are visited
//! in random order.

use std::io;

use megadir::Dir;
use megadir::limits::{Limit, Step, explain_at};
use megadir_record::axes::grouped;
use megadir_record::{
    ArmId, Axes, Counted, DataId, FileOperation, FileOrder, FileWork, Group, GroupRule, Made, Operation,
    Order, Pair, Role, SyncPolicy, When, Work, Workers,
};
use serde::Deserialize;

use crate::control::{Result, WorkError};
use crate::dataset::{NAME_BYTES_MAX, Names};
use crate::kind::arms::Arms;
use crate::kind::cost::{MAKE_NS, REMOVE_NS};
use crate::kind::files::{SINGLE_WORKER, WORKERS_MAX, by, by_name};
use crate::kind::{Traits, WorkBlock, Workload};
use crate::measure::Stopwatch;
use crate::os::removal::remove_content;
use crate::os::{self, At, Owned};
use crate::request::{PlanError, check_numbers};

/// `[fill]` of a study. A size's `smaller` are further populations at which create and unlink are measured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillSpec {
    pub title: String,
    pub buckets: u32,
    pub sync: SyncPolicy,
    #[serde(skip, default = "single_worker")]
    pub workers: Workers,
}

fn single_worker() -> Workers {
    SINGLE_WORKER
}

/// Files created and removed again at every population: 1 % of 20 000.
const EXCURSION: u64 = 200;

/// The files are created in one chain of buckets, each an arm that continues where the one before it ended,
/// so a bucket's position on the curve is the population of the directory. The control repeats the first
/// bucket in a directory of its own: only there are both directories empty.
pub(crate) fn fills(
    spec: &FillSpec,
    made: &Made,
    sizes: &[u64],
    arms: &mut Arms<'_>,
) -> Result<Order, PlanError> {
    // `entries` of a data set counts per worker.
    let count = u64::from(spec.workers.count.max(1));
    let entries = sizes.last().unwrap_or(&1).div_ceil(count);
    let buckets = u64::from(spec.buckets);
    check_numbers("the number of workers", [count], WORKERS_MAX)?;
    if !(2..=100).contains(&buckets) || entries < buckets {
        let allowed = format!("expected 2 to 100, and at most {entries}, the files of a worker");
        return Err(PlanError::value("the number of buckets", buckets, allowed));
    }
    let create = |from, to| {
        let work = by_name(FileOperation::Create, FileOrder::AsWritten, (from, to));
        FileWork { sync: spec.sync, ..work }
    };
    let fill = |from, to| FileWork { workers: spec.workers, ..create(from, to) };
    let grown = Made { when: When::ByArms, ..made.clone() };
    let filled = arms.add_data(entries, grown.clone());
    let again = arms.add_data(entries, grown);
    let mut curve: Vec<ArmId> = Vec::new();
    for bucket in 0..buckets {
        let (from, to) = (entries * bucket / buckets, entries * (bucket + 1) / buckets);
        let range = Some((from * count, to * count));
        let axes = Axes { filled: range, ..by(&spec.workers, Axes::of(Operation::Create)) };
        let role = if bucket == 0 { Role::Baseline } else { Role::Arm };
        curve.push(arms.files(axes.clone(), role, (filled, bucket as u32), fill(from, to)));
        if bucket == 0 {
            arms.files(Axes { is_control: true, ..axes }, Role::Control, (again, 0), fill(from, to));
        }
    }
    for arm in &curve {
        arms.join(*arm, "fill");
    }
    let rule = GroupRule::Fill { arms: curve };
    arms.groups.push(Group::new("fill", &spec.title, true, rule));
    populations(made, sizes, &create, arms);
    Ok(Order::Chains)
}

/// Arms that create and remove a few files in a fixed population, compared with the smallest
/// population.
fn populations(made: &Made, sizes: &[u64], create: &dyn Fn(u64, u64) -> FileWork, arms: &mut Arms<'_>) {
    let mut rows: Vec<(u64, ArmId, ArmId)> = Vec::new();
    for &entries in sizes {
        let data = arms.add_data(entries, Made { when: When::BeforeRun, ..made.clone() });
        let range = (entries, entries + EXCURSION);
        let axes = |operation| Axes { files: Some(EXCURSION), entries: Some(entries), ..Axes::of(operation) };
        let unlink = by_name(FileOperation::Unlink, FileOrder::AsWritten, range);
        let create = create(range.0, range.1);
        let created = arms.files(axes(Operation::Create), Role::Arm, (data, 0), create);
        let removed = arms.files(axes(Operation::Remove), Role::Arm, (data, 1), unlink);
        rows.push((entries, created, removed));
    }
    let Some((&(few, created, removed), larger)) = rows.split_first() else { return };
    let pair = |subject: &str, entries, arm, to| {
        let among = |entries| format!("{subject} among {}", grouped(entries));
        Pair::new(among(entries), among(few), "files that come and go", (arm, to))
    };
    let pairs = larger.iter().flat_map(|&(entries, create, remove)| {
        [pair("creating", entries, create, created), pair("removing", entries, remove, removed)]
    });
    arms.pairs("population", "Is creating or removing a file slower among many files?", pairs);
}

/// `[refusal]` of a study; a size's `entries` is roughly the number of files that fit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillUntilFullSpec {
    pub title: String,
}

const GROUP: &str = "refusal";

pub(crate) fn refusals(spec: &FillUntilFullSpec, entries_about: u64, arms: &mut Arms<'_>) {
    let work = Work::FillUntilRefused { entries_about, predicted: None };
    let arm = arms.arm(GROUP, DataId(0), &work);
    let rule = GroupRule::Refusal { arm };
    arms.groups.push(Group::new(GROUP, &spec.title, true, rule));
}

pub(crate) fn traits(entries_about: u64) -> Traits {
    Traits { block_ns: entries_about * (MAKE_NS + REMOVE_NS), ..Traits::default() }
}

const FILLED: &str = "filled";
/// Files between two looks at the end of the run.
const STEP: u64 = 1024;

pub(crate) struct FillUntilFull {
    pub(crate) names: Names,
}

impl Workload for FillUntilFull {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        cfg!(windows)
            .then(|| "no file system of Windows has an index that is full before the volume is".to_owned())
    }

    fn run(&mut self, block: &WorkBlock<'_>, _stopwatch: &mut Stopwatch) -> Result<Counted> {
        let parent = block.directory;
        let making = WorkError::at("creating a directory");
        os::make_directory(parent.at(), FILLED).map_err(&making)?;
        let directory = os::open_below(parent.at(), FILLED).map_err(making)?;
        let names = Names { seed: self.names.seed ^ block.key.number(), ..self.names };
        let mut buffer = [0; NAME_BYTES_MAX];
        for index in 0.. {
            block.control.check_every(STEP, index)?;
            match os::create(directory.at(), names.write(index, &mut buffer)) {
                Ok(file) => drop(file),
                Err(error) => {
                    judge(&directory, parent, error, index)?;
                    return Ok(Counted { entries: index, hash: 0, calls: Some(index + 1), written_bytes: 0 });
                }
            }
        }
        unreachable!("the directory never refused a file")
    }

    fn teardown(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        let parent = block.directory;
        let directory =
            os::open_below(parent.at(), FILLED).map_err(WorkError::at("opening the directory"))?;
        remove_content(directory.at(), b"", block.control.heartbeat)
            .map_err(WorkError::at("removing the files"))?;
        drop(directory);
        os::remove_directory(parent.at(), FILLED).map_err(WorkError::at("removing the directory"))
    }
}

/// Accepts the refusal of a full index only. Any other limit would be a result about the volume, not about
/// directories.
fn judge(directory: &Owned, parent: &Dir, source: io::Error, made: u64) -> Result<()> {
    let explanation = explain_at(directory.at(), parent.path(), Step::Create, &source);
    match explanation {
        Some(explanation) if explanation.limit == Limit::DirectoryIndex => Ok(()),
        Some(explanation) => {
            let reason =
                format!("after {made} files a limit other than the index was reached: {explanation}");
            Err(WorkError::other("filling", reason))
        }
        None => Err(WorkError::Stage { stage: "creating a file", source }),
    }
}
