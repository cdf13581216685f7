//! Kinds of work, one folder each: section of a study file (`mod.rs`), arms (`plan.rs`), traits, blocks (`run.rs`). A new kind
//! is a folder, a variant of [`Kind`], and perhaps of `megadir_record::Work`. Blocks know no rounds, clocks or records.
//!
//! A plan and a run must know some properties before a workload exists: duration of a block, operations after a drop of
//! caches, names. They are the `Traits` that the file of the kind states. `Study` holds exactly one `Kind`; only the
//! reader of study files (`study/load.rs`) knows that a file could name several. Fill, layout and small_files share the
//! engine in `files/`.
//!
//! `arms.rs` puts the arms of a plan together; axes cross them afterwards (`plan/aged.rs`, `plan/caches.rs`,
//! `plan/file_systems.rs`, `plan/stopping.rs`). Groups of arms are read by rules: Compare, Pairs, Decompose, Grow,
//! Fill, Refusal, BreakEven.
//!
//! ```text
//!  plan:  spec of a kind -> arms and groups (`Arms`) -> Work, in the plan and the record
//!  run:   Work -> workload() -> Box<dyn Workload>, one for each arm, kept for the whole run
//!           setup      untimed: draws names, starts workers, runs `--prepare`
//!           run        timed by the caller; single operations by the stopwatch
//!           usage      its own figures, if it paused or ran elsewhere
//!           teardown   untimed: leaves the data as the next block expects it
//!  ranks: OnRanks wraps any workload but files, and repeats these calls on every rank
//! ```

pub(crate) mod arms;
pub(crate) mod command;
pub(crate) mod files;
pub(crate) mod fill;
pub(crate) mod layout;
pub(crate) mod list;
pub(crate) mod lookup;
pub(crate) mod on_ranks;
pub(crate) mod remove;
pub(crate) mod small_files;
pub(crate) mod stat_all;
pub(crate) mod stat_some;

use std::ffi::OsString;
use std::path::PathBuf;

use megadir::Dir;
use megadir_record::{
    Arm, Counted, Data, DataSource, Note, Phase, Plan, RankTimes, Sharing, Work, WorkerKind, Workers,
};
use megadir_stats::permutation::SplitMix64;
use megadir_sys::usage::Usage;
use serde::{Deserialize, Serialize};

use crate::control::{Result, RunControl};
use crate::dataset::Names;
use crate::measure::Stopwatch;
use command::CommandSpec;
use files::Files;
use fill::{FillSpec, FillUntilFull, FillUntilFullSpec};
use layout::LayoutSpec;
use list::ListSpec;
use lookup::{Lookup, LookupSpec};
use on_ranks::OnRanks;
use remove::{Removal, RemoveSpec};
use small_files::SmallFilesSpec;
use stat_all::{FileAttributes, StatAllSpec};
use stat_some::{StatSome, StatSomeSpec};

#[cfg(target_os = "linux")]
pub use command::launch;
pub use command::program_facts;
pub(crate) use command::{Fingerprint, fingerprint};
#[cfg(target_os = "linux")]
pub(crate) use command::{Program, printed_otherwise};
pub use files::{RankWorkers, SharedDirectory, prove_shared, serve};
pub(crate) use list::Listing;
pub(crate) use lookup::{ABSENT_NAMES, NameSource};
pub use on_ranks::serve_rank;
pub(crate) use stat_all::Expected;

/// One variant for each section of a study file. Adding one makes the compiler name every match that lacks
/// it.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    List(ListSpec),
    Lookup(LookupSpec),
    StatAll(StatAllSpec),
    StatSome(StatSomeSpec),
    Fill(FillSpec),
    FillUntilFull(FillUntilFullSpec),
    Layout(LayoutSpec),
    SmallFiles(SmallFilesSpec),
    Remove(RemoveSpec),
    Command(CommandSpec),
}

impl Kind {
    pub(crate) fn contradiction(&self) -> Option<String> {
        match self {
            Self::List(spec) => spec.contradiction(),
            Self::Lookup(spec) => spec.contradiction(),
            Self::StatAll(spec) => spec.contradiction(),
            Self::StatSome(spec) => spec.contradiction(),
            Self::Fill(_) | Self::FillUntilFull(_) => None,
            Self::Layout(spec) => spec.contradiction(),
            Self::SmallFiles(spec) => spec.contradiction(),
            Self::Remove(spec) => spec.contradiction(),
            Self::Command(spec) => spec.contradiction(),
        }
    }

    /// The arms create their files again in every round; such studies have no warm-up.
    pub(crate) fn makes_files(&self) -> bool {
        !matches!(
            self,
            Self::List(_) | Self::Lookup(_) | Self::StatAll(_) | Self::StatSome(_) | Self::Command(_)
        )
    }
}

/// Program and arguments that start this program as a worker. The engine cannot know them: it is a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

/// Means of starting workers that are no threads; an arm that needs a missing one is left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerSource<'a> {
    pub(crate) command: Option<&'a WorkerCommand>,
    pub(crate) ranks: Option<&'a RankWorkers>,
}

/// Each rank has the same number of threads, or some ranks have one worker.
pub fn has_shares(workers: u32, ranks: u32) -> bool {
    workers <= ranks || workers.is_multiple_of(ranks)
}

/// Kind of workers in names; `None` for threads of ranks.
pub(crate) fn named_kind(kind: WorkerKind, workers: u32, ranks: u32) -> Option<WorkerKind> {
    (kind != WorkerKind::Rank || workers <= ranks).then_some(kind)
}

impl WorkerSource<'_> {
    fn lacking(&self, workers: &Workers) -> Option<String> {
        let Workers { count, kind, .. } = *workers;
        match (kind, self.command, self.ranks) {
            (WorkerKind::Process, None, _) => Some("this program cannot start worker processes".into()),
            (WorkerKind::Rank, _, None) => {
                Some("its workers are ranks; start the run with an MPI launcher and --engine mpi".into())
            }
            (WorkerKind::Rank, _, Some(ranks)) if !has_shares(count, ranks.size()) => {
                Some(format!("{count} workers cannot be shared out among {} ranks", ranks.size()))
            }
            _ => None,
        }
    }
}

/// Work of one arm, block after block. Implementations know neither rounds nor records, and keep only the
/// state that a block passes to the next. An error of the kinds `Refused` and `Program` ends the arm, any
/// other the run.
pub(crate) trait Workload {
    fn unavailable(&self, directory: &Dir) -> Option<String>;

    /// Reason of the first rank that has one.
    fn unavailable_anywhere(&self, directory: &Dir, _control: RunControl<'_>) -> Result<Option<String>> {
        Ok(self.unavailable(directory))
    }

    /// Note if the work differs here from the plan but is still worth measuring.
    fn remark(&self) -> Option<Note> {
        None
    }

    fn setup(&mut self, _block: &WorkBlock<'_>) -> Result<()> {
        Ok(())
    }

    /// Work that times single operations uses the stopwatch, which is empty at the start.
    fn run(&mut self, block: &WorkBlock<'_>, stopwatch: &mut Stopwatch) -> Result<Counted>;

    /// Resources of the last block, if the caller cannot measure them: the work paused, or ran in other processes.
    fn usage(&mut self) -> Option<BlockUsage> {
        None
    }

    fn teardown(&mut self, _block: &WorkBlock<'_>) -> Result<()> {
        Ok(())
    }
}

/// Everything that a block may depend on. `directory` is valid for this block only: a remount replaces it.
#[derive(Clone, Copy)]
pub(crate) struct WorkBlock<'a> {
    pub(crate) directory: &'a Dir,
    pub(crate) key: BlockKey,
    pub(crate) operations: u64,
    pub(crate) control: RunControl<'a>,
}

/// Resources of a block, where the engine's own reading would be wrong. `elapsed_ns` replaces the wall
/// time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockUsage {
    pub(crate) elapsed_ns: u64,
    #[serde(with = "UsageFields")]
    pub(crate) usage: Usage,
    /// Peak of the process that did the work, if it was not this one, bytes.
    pub(crate) peak_bytes: Option<u64>,
    pub(crate) ranks: Option<RankTimes>,
}

impl BlockUsage {
    pub(crate) fn new(elapsed_ns: u64, usage: Usage) -> Self {
        Self { elapsed_ns, usage, peak_bytes: None, ranks: None }
    }
}

/// Fields of a type of another crate, so that it can be sent to ranks and worker processes.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Usage")]
pub(crate) struct UsageFields {
    user_ns: u64,
    system_ns: u64,
    read_bytes: Option<u64>,
}

/// With the plan's seed it determines all random choices of a workload.
///
/// Identifies a block independently of when it is carried out, so that a repeated or resumed block makes the
/// same choices, and all arms of a round make equal ones. `attempt` makes the repetition of a voided round
/// differ from it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct BlockKey {
    pub(crate) phase: Phase,
    pub(crate) round: u32,
    pub(crate) attempt: u32,
    /// `true` if no name may repeat: after a drop the second use would be warm.
    pub(crate) distinct: bool,
    /// Other choices for each rank; 0 for rank 0.
    pub(crate) salt: u64,
}

impl BlockKey {
    pub(crate) const FIRST: Self =
        Self { phase: Phase::WarmUp, round: 0, attempt: 0, distinct: false, salt: 0 };

    fn number(self) -> u64 {
        SplitMix64::new(self.place()).next_u64() ^ self.salt
    }

    /// Without the salt.
    fn place(self) -> u64 {
        let phase = match self.phase {
            Phase::WarmUp => 1,
            Phase::Measure => 2,
        };
        (u64::from(self.round) << 32) | (u64::from(self.attempt) << 8) | phase
    }
}

/// The workload of an arm. With ranks, all kinds but files are wrapped; workers of files are distributed
/// one by one.
pub(crate) fn workload<'a>(
    plan: &Plan,
    planned: &Arm,
    names: &'a NameSource,
    source: WorkerSource<'a>,
) -> Result<Box<dyn Workload + 'a>> {
    let own = own_workload(plan, planned, names, source)?;
    Ok(match (&planned.work, source.ranks) {
        (Work::Files(_), _) | (_, None) => own,
        (_, Some(ranks)) => OnRanks::new(own, plan, planned, ranks),
    })
}

fn own_workload<'a>(
    plan: &Plan,
    planned: &Arm,
    names: &'a NameSource,
    source: WorkerSource<'a>,
) -> Result<Box<dyn Workload + 'a>> {
    let seed = plan.seed;
    Ok(match &planned.work {
        Work::List { .. } => Box::new(Listing::new(&planned.work)?),
        Work::Lookup { presence, keys, call } => Box::new(Lookup::new(*presence, *keys, *call, names, seed)),
        Work::Files(work) => {
            let data = &plan.data[planned.data.0 as usize];
            let sharers = files::workers_max(plan, data, Sharing::Same).unwrap_or(1);
            Box::new(Files::new(work, (data, sharers), seed, source))
        }
        Work::Remove(work) => Box::new(Removal::new(*work, source.ranks)),
        Work::Attributes { method, buffer_bytes, threads, keeps, .. } => {
            Box::new(FileAttributes::new(method, *buffer_bytes, *threads, *keeps)?)
        }
        Work::StatSome { files } => Box::new(StatSome::new(*files, names, seed)),
        #[cfg(target_os = "linux")]
        Work::Command(work) => Box::new(Program::of(plan, planned, work, source.command)),
        #[cfg(not(target_os = "linux"))]
        Work::Command(_) => return Err(crate::control::WorkError::Program(command::LINUX_ONLY.into())),
        Work::FillUntilRefused { .. } => {
            Box::new(FillUntilFull { names: Names { scheme: names.scheme(), seed } })
        }
    })
}

/// Most names that an arm draws from this data set; `None` if no arm draws any.
pub(crate) fn names_needed(plan: &Plan, data: &Data) -> Option<usize> {
    let of_data = plan.arms.iter().filter(|planned| planned.data == data.id);
    of_data.filter_map(|planned| traits(&planned.work, data.entries).names).max()
}

/// Names of a data set, computed or drawn from its directory.
pub(crate) fn name_source(
    seed: u64,
    data: &Data,
    at_most: Option<usize>,
    directory: &Dir,
    control: RunControl<'_>,
) -> Result<NameSource> {
    match &data.source {
        DataSource::Made(made) => {
            Ok(NameSource::Made { names: Names { scheme: made.names, seed }, entries: data.entries })
        }
        DataSource::Existing { .. } => match at_most {
            Some(at_most) => NameSource::sample(directory, seed, at_most, control),
            None => Ok(NameSource::Listed(Vec::new())),
        },
    }
}

/// Properties of a piece of work, by its kind. Used by the planner, which has no workload yet.
pub(crate) fn traits(work: &Work, entries: u64) -> Traits {
    match work {
        Work::List { threads, stages, .. } => list::traits(*threads, stages, entries),
        Work::Lookup { keys, .. } => lookup::traits(*keys, entries),
        Work::Attributes { .. } => stat_all::traits(entries),
        Work::StatSome { files } => stat_some::traits(*files),
        Work::Files(work) => files::traits(work),
        Work::FillUntilRefused { entries_about, .. } => fill::traits(*entries_about),
        Work::Remove(work) => remove::traits(work),
        Work::Command(work) => command::traits(work, entries),
    }
}

/// If results differ, returns a hash that differs from every expected one.
pub(crate) fn repeat(operations: u64, mut once: impl FnMut() -> Result<Counted>) -> Result<Counted> {
    let mut counted = Counted::default();
    for index in 0..operations {
        let before = std::mem::replace(&mut counted, once()?);
        if index > 0 && (before.entries, before.hash) != (counted.entries, counted.hash) {
            counted.hash = !before.hash.wrapping_add(counted.hash);
        }
    }
    Ok(counted)
}

const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
const OTHER: u64 = 0xd1b5_4a32_d192_ed03;

/// Both halves of the product of two numbers, combined, so that the high bits of the inputs count too.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// Hash of a name. The hashes of a directory are added, in any order. It takes 2.2 ns for 32 bytes; reading
/// an entry takes about 170 ns.
///
/// Every block computes it for every name, so its cost is the price of proving equal work. It need not
/// resist an attacker, only notice missing, repeated and mixed-up names: one multiplication for every 16
/// bytes, and one at the end.
#[inline]
pub(crate) fn name_hash(name: &[u8]) -> u64 {
    let pair = |half: &[u8; 16], key: u64| {
        let both = u128::from_le_bytes(*half);
        fold(both as u64 ^ key, (both >> 64) as u64 ^ key.rotate_left(32))
    };
    let (halves, rest) = name.as_chunks::<16>();
    let (mut sum, mut key) = (0_u64, KEY);
    for half in halves {
        sum = sum.wrapping_add(pair(half, key));
        key = key.wrapping_add(OTHER);
    }
    if let Some(last) = name.last_chunk::<16>() {
        if !rest.is_empty() {
            sum = sum.wrapping_add(pair(last, key));
        }
    } else {
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        sum = sum.wrapping_add(pair(&last, key));
    }
    fold(sum ^ KEY, OTHER ^ ((name.len() as u64) << 8))
}

/// Rough durations on one machine (2 virtual cores, ext4, warm), nanoseconds.
pub(crate) mod cost {
    /// Creating a small file.
    pub(crate) const MAKE_NS: u64 = 20_000;
    pub(crate) const REMOVE_NS: u64 = 6_000;
    /// Opening a directory and starting a block.
    pub(crate) const BLOCK_NS: u64 = 1_000_000;
    pub(crate) const STAT_NS: u64 = 1_200;
}

/// Properties of a piece of work that are needed before its workload exists. Each kind states its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Duration of a block in a warm cache, nanoseconds: an order of magnitude.
    pub(crate) block_ns: u64,
    /// Operations of a block after a drop of caches, as a repeated one would be warm; `None` if the work has a fixed number.
    pub(crate) cold_operations: Option<u64>,
    /// Number of names that the work draws from the directory; `None` if it needs no names.
    pub(crate) names: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::name_hash;

    #[test]
    fn names_that_differ_have_hashes_that_differ() {
        let mut hashes = std::collections::HashSet::new();
        for length in 1..40 {
            for at in 0..length {
                let mut name = vec![b'a'; length];
                name[at] = b'b';
                assert!(hashes.insert(name_hash(&name)), "{length} {at}");
            }
            assert!(hashes.insert(name_hash(&vec![b'a'; length])));
        }
        for bit in 0..256 {
            let mut name = [b'x'; 32];
            name[bit / 8] ^= 1 << (bit % 8);
            assert!(hashes.insert(name_hash(&name)), "{bit}");
        }
    }
}
