//! Removing trees: by a loop, by `rm -rf`, and by the library. Each rank creates a tree, which a rank on
//! another host removes.
//!
//! ```text
//!  chain:  create a tree (one directory, or a hundred) -> drop the cache, if cold -> remove it by one of
//!            plain loop     the engine's own removal: the fewest calls, one thread (baseline)
//!            rm -rf         a process; its start and its processor time count
//!            library        `remove_contents`, 1 .. n workers
//! ```

use std::ffi::OsString;
use std::time::Instant;

use megadir::Dir;
use megadir::remove::{Failures, Progress, RemoveOptions, remove_contents};
use megadir_record::axes::{self, directories};
use megadir_record::{
    ArmId, Axes, CacheState, Counted, FileOperation, FileOrder, FileWork, Made, Operation, Order, Pair,
    RemoveWork, Remover, Role, Sharing, Spread, When, Work, WorkerKind, Workers,
};
use megadir_sys::usage::process_usage;
use serde::Deserialize;

use crate::control::{Result, RunControl, WRITING_BACK, WorkError, marked};
use crate::dataset::Files;
use crate::kind::arms::{Arms, paired};
use crate::kind::cost::{BLOCK_NS, REMOVE_NS};
use crate::kind::files::ranks::user_of;
use crate::kind::files::{SINGLE_WORKER, WORKERS_MAX, by_name};
use crate::kind::{BlockUsage, RankWorkers, Traits, WorkBlock, Workload, named_kind};
use crate::measure::Stopwatch;
use crate::note::NoteKind;
use crate::os::At;
use crate::os::removal::remove_content;
use crate::request::{CacheFact, PlanError, check_numbers};

#[cfg(target_os = "linux")]
use linux as process;
#[cfg(windows)]
use windows as process;

/// `[remove]` of a study: every remover on every shape, compared with a loop in one thread.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveSpec {
    /// Numbers of directories that share the files, ascending; 1 is one huge directory.
    pub directories: Vec<u64>,
    pub workers: Vec<u32>,
    /// The launcher's ranks; more workers are threads in each.
    #[serde(skip)]
    pub ranks: Option<u32>,
}

impl RemoveSpec {
    pub(crate) fn contradiction(&self) -> Option<String> {
        let ascend = self.directories.is_sorted_by(|a, b| a < b) && self.workers.is_sorted_by(|a, b| a < b);
        let some = self.directories.first().is_some_and(|first| *first > 0) && !self.workers.is_empty();
        let text = "remove.directories and remove.workers need at least one value each, ascending from 1";
        (!(ascend && some)).then(|| text.into())
    }

    /// Ranks that each have a tree.
    fn trees(&self, workers: u32) -> u32 {
        self.ranks.map_or(1, |ranks| workers.min(ranks))
    }

    /// All trees have the same number of directories.
    fn divides(&self, directories: u64, workers: u32) -> bool {
        directories.is_multiple_of(self.trees(workers).into())
    }

    /// Reasons for arms on no shape.
    fn left_out(&self) -> impl Iterator<Item = String> {
        let fits = |workers: u32| self.directories.iter().any(|number| self.divides(*number, workers));
        self.workers.iter().filter(move |workers| !fits(**workers)).map(|workers| {
            format!("library, {}: each would need the same number of directories", self.words(*workers))
        })
    }

    fn kind_of(&self, workers: u32) -> Option<WorkerKind> {
        self.ranks.and_then(|ranks| named_kind(WorkerKind::Rank, workers, ranks))
    }

    fn words(&self, workers: u32) -> String {
        axes::workers(workers, self.kind_of(workers))
    }

    fn name(&self, by: Remover, workers: u32) -> String {
        match by {
            Remover::PlainLoop | Remover::Rm => by.name().into(),
            Remover::Library => format!("{}, {}", by.name(), self.words(workers)),
        }
    }
}

/// One removal. Two variants that differ in one field alone are compared.
#[derive(Clone, Copy, PartialEq)]
struct Variant<'a> {
    by: Remover,
    workers: u32,
    directories: u64,
    state: &'a CacheFact,
}

impl Variant<'_> {
    fn conditions(&self) -> String {
        let state = self.cold().map(|name| format!(", {name}")).unwrap_or_default();
        format!("{}{state}", directories(self.directories))
    }

    fn cold(&self) -> Option<&str> {
        self.state.state.is_cold().then_some(&self.state.name)
    }
}

/// Reason against a state that would equal a warm cache.
pub(crate) fn useless(state: CacheState) -> Option<&'static str> {
    (state == CacheState::DataCold).then_some("makes no difference: removing reads no file contents")
}

/// Each variant is a chain: a tree is created, untimed as far as the comparison is concerned, and removed.
/// The plain loop in the first directory count is the baseline, in each cache state. Several workers are
/// measured only where there are enough directories to divide.
pub(crate) fn removals(
    spec: &RemoveSpec,
    made: &Made,
    entries: u64,
    states: &[CacheFact],
    arms: &mut Arms<'_>,
) -> Result<Order, PlanError> {
    check_numbers("the number of workers", spec.workers.iter().copied(), WORKERS_MAX)?;
    let mut all: Vec<(Variant<'_>, ArmId)> = Vec::new();
    for (place, &directories) in spec.directories.iter().enumerate() {
        for state in states {
            let mut add = |by, workers, role| {
                let variant = Variant { by, workers, directories, state };
                let arm = chain_of(spec, made, entries, variant, role, arms);
                all.extend((role != Role::Control).then_some((variant, arm)));
            };
            let first = place == 0;
            add(Remover::PlainLoop, 1, if first { Role::Baseline } else { Role::Arm });
            if first {
                add(Remover::PlainLoop, 1, Role::Control);
            }
            add(Remover::Rm, 1, Role::Arm);
            for &workers in spec.workers.iter().filter(|workers| spec.divides(directories, **workers)) {
                add(Remover::Library, workers, Role::Arm);
            }
        }
    }
    spec.left_out().for_each(|text| arms.note(NoteKind::ArmLeftOut, text));
    groups(spec, states, &all, arms);
    Ok(Order::Chains)
}

/// Pairs for each question, all of them compared by wall time.
fn groups(spec: &RemoveSpec, states: &[CacheFact], all: &[(Variant<'_>, ArmId)], arms: &mut Arms<'_>) {
    let against = |than: Remover| {
        paired(all, |variant| {
            let words = [spec.name(variant.by, variant.workers), spec.name(than, 1), variant.conditions()];
            let different =
                variant.by != than && (than == Remover::PlainLoop || variant.by == Remover::Library);
            different.then_some((Variant { by: than, workers: 1, ..variant }, words))
        })
    };
    let fewest = spec.workers.first().copied().unwrap_or(1);
    let more = paired(all, |variant| {
        let words = [spec.words(variant.workers), spec.words(fewest), variant.conditions()];
        let is_more = variant.by == Remover::Library && variant.workers != fewest;
        is_more.then_some((Variant { workers: fewest, ..variant }, words))
    });
    let cold = paired(all, |variant| {
        let first = states.first().filter(|first| *first != variant.state)?;
        let [subject, than] = [&variant.state.name, &first.name].map(|name| format!("a {name} cache"));
        let at = format!("{}, {}", spec.name(variant.by, variant.workers), directories(variant.directories));
        Some((Variant { state: first, ..variant }, [subject, than, at]))
    });
    let mut pairs = |name: &str, title: &str, pairs: Vec<Pair>| {
        arms.pairs(name, title, pairs.into_iter().map(|pair| Pair { wall_time: true, ..pair }));
    };
    pairs("workers", "Do more workers help?", more);
    pairs("loop", "Which method is faster than a loop in one thread?", against(Remover::PlainLoop));
    pairs("rm", "Is the library faster than rm -rf?", against(Remover::Rm));
    pairs("cache", "How much does a cold cache cost?", cold);
    arms.answers("workers");
}

/// Creation and removal share one data set. The number of files is made divisible by the number of
/// directories with ranks, so that all of them remove equal trees. The state of the cache belongs to the
/// removal alone: the files that the first step wrote are dropped before the second.
fn chain_of(
    spec: &RemoveSpec,
    made: &Made,
    entries: u64,
    variant: Variant<'_>,
    role: Role,
    arms: &mut Arms<'_>,
) -> ArmId {
    let Variant { by, workers, directories, state } = variant;
    let spread = Spread::PerDirectory { files: entries.div_ceil(directories) };
    let trees = spec.trees(workers);
    // All arms with as many directories remove the same files.
    let entries = if spec.ranks.is_some() { entries.next_multiple_of(directories) } else { entries };
    let of_tree = entries / u64::from(trees);
    let data = arms.add_data(of_tree, Made { spread, when: When::ByArms, ..made.clone() });
    let axes = Axes {
        method: Some(by.name().into()),
        workers: Some(workers).filter(|_| by == Remover::Library || spec.ranks.is_some()),
        worker_kind: spec.kind_of(workers),
        directory_count: Some(directories),
        is_control: role == Role::Control,
        ..Axes::of(Operation::Remove)
    };
    let for_cache = variant.cold().map(str::to_owned);
    let writes = Axes { operation: Some(Operation::Write), for_cache: for_cache.clone(), ..axes.clone() };
    let creators = match spec.ranks {
        Some(_) => Workers { count: trees, kind: WorkerKind::Rank, sharing: Sharing::Own },
        None => SINGLE_WORKER,
    };
    let create = by_name(FileOperation::Create, FileOrder::AsWritten, (0, of_tree));
    let create = FileWork { workers: creators, ..create };
    arms.files(writes, Role::Arm, (data, 0), create);
    let files = of_tree * u64::from(trees);
    let work = Work::Remove(RemoveWork { by, workers, kind: creators.kind, files });
    let arm = arms.push_step(Axes { cache: for_cache, ..axes }, role, (data, 1), work);
    arms.planned[arm.0 as usize].cache = state.state;
    arm
}

pub(crate) fn traits(work: &RemoveWork) -> Traits {
    Traits { block_ns: BLOCK_NS + work.files * REMOVE_NS, ..Traits::default() }
}

const STAGE: &str = "removing";

/// Part of the removal that this process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    All,
    /// Tree of this worker, created by another rank.
    Tree(u32),
    Nothing,
}

impl Share {
    /// Share of a rank if the first `trees` ranks created files.
    fn of(rank: u32, ranks: u32, shift: u32, trees: u32) -> Self {
        let mut workers = 0..trees;
        workers.find(|worker| user_of(*worker, ranks, shift) == rank).map_or(Self::Nothing, Self::Tree)
    }
}

/// One removal of a tree, once per block. `files` is the number that must be gone afterwards. `names` are
/// listed before the block, since a shell would have expanded them before `rm` starts.
pub(crate) struct Removal {
    work: RemoveWork,
    share: Share,
    threads: u32,
    files: u64,
    /// Arguments of `rm -rf`.
    names: Vec<OsString>,
    taken: Option<BlockUsage>,
}

impl Removal {
    pub(crate) fn new(work: RemoveWork, ranks: Option<&RankWorkers>) -> Self {
        let trees = ranks.map_or(1, |ranks| work.workers.min(ranks.size()));
        let share = ranks
            .map_or(Share::All, |ranks| Share::of(ranks.rank(), ranks.size(), ranks.facts().shift, trees));
        let (threads, files) = (work.workers / trees, work.files / u64::from(trees));
        Self { work, share, threads, files, names: Vec::new(), taken: None }
    }

    /// `None` if this process removes nothing.
    fn own(&self, directory: &Dir) -> Result<Option<Dir>> {
        Ok(match self.share {
            Share::All => Some(directory.again()?),
            Share::Tree(worker) => Some(directory.open_below(Files::worker_directory(worker).as_bytes())?),
            Share::Nothing => None,
        })
    }

    /// Removes by the library as the program does, and returns the number of removed entries. The first
    /// failure is an error.
    fn by_library(&self, directory: &Dir, control: RunControl<'_>) -> Result<u64> {
        let failures = Failures::new(1);
        let progress = Progress::new();
        let on_failure = |failure| failures.add(failure);
        // The workers share a descriptor table: a thread's own outlives `join` for a moment, so that unmounting fails with EBUSY.
        let options = RemoveOptions::new(self.threads as usize, &on_failure);
        let removed = remove_contents(directory, &options, &progress).map_err(failed)?;
        control.check()?;
        failures.take().pop().map_or(Ok(removed.counts.entries), |failure| Err(failed(failure)))
    }
}

fn failed(source: impl Into<std::io::Error>) -> WorkError {
    WorkError::Stage { stage: STAGE, source: source.into() }
}

impl Workload for Removal {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        if self.work.by == Remover::Rm { process::unavailable() } else { None }
    }

    fn setup(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        self.names.clear();
        if let (Remover::Rm, Some(own)) = (self.work.by, self.own(block.directory)?) {
            self.names = process::names(&own)?;
        }
        Ok(())
    }

    fn run(&mut self, block: &WorkBlock<'_>, _stopwatch: &mut Stopwatch) -> Result<Counted> {
        let control = block.control;
        let Some(directory) = self.own(block.directory)? else { return Ok(Counted::default()) };
        let (before, of_children) = (process_usage(), process::usage());
        let started = Instant::now();
        let entries = match self.work.by {
            Remover::PlainLoop => {
                let own = directory.reopen().map_err(failed)?;
                remove_content(own.at(), b"", control.heartbeat).map_err(failed)?;
                self.files
            }
            // Neither increments the heartbeat: both take as long as the disk needs.
            Remover::Library => {
                marked(control.heartbeat, WRITING_BACK, || self.by_library(&directory, control))?
            }
            Remover::Rm => {
                marked(control.heartbeat, WRITING_BACK, || process::remove(&directory, &self.names))?;
                self.files
            }
        };
        let elapsed_ns = started.elapsed().as_nanos() as u64;
        let (own, children) = (process_usage().since(before), process::usage().since(of_children));
        self.taken = Some(BlockUsage::new(elapsed_ns, [own, children].into_iter().sum()));
        Ok(Counted { entries, hash: 0, calls: None, written_bytes: 0 })
    }

    fn usage(&mut self) -> Option<BlockUsage> {
        self.taken.take()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! Linux: a process `rm -rf` in the open directory, with all its names as arguments.

    use std::ffi::{OsStr, OsString};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::process::{Command, Stdio};

    use megadir::Dir;
    pub(crate) use megadir_sys::usage::children_usage as usage;

    use super::{STAGE, failed};
    use crate::control::{Result, WorkError};
    use crate::os::{self, At};

    const NAMES_MAX: usize = 50_000;

    pub(crate) fn unavailable() -> Option<String> {
        let found = Command::new("rm").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.err().map(|error| format!("the program rm is missing: {error}"))
    }

    pub(crate) fn names(directory: &Dir) -> Result<Vec<OsString>> {
        let mut names = Vec::new();
        os::each_entry(directory.at(), &mut |name, _| {
            names.push(OsStr::from_bytes(name).to_owned());
            Ok(())
        })
        .map_err(failed)?;
        if names.len() > NAMES_MAX {
            return Err(WorkError::other(STAGE, "too many directories for one rm -rf"));
        }
        Ok(names)
    }

    pub(crate) fn remove(directory: &Dir, names: &[OsString]) -> Result<()> {
        // By descriptor, whatever the path means now: the child inherits a copy, and /proc/self is the child's own.
        let own = directory.reopen().map_err(failed)?;
        let mut rm = Command::new("rm");
        rm.args(["-rf", "--"]).args(names).current_dir(format!("/proc/self/fd/{}", own.as_raw_fd()));
        let output = rm.stdin(Stdio::null()).stdout(Stdio::null()).output().map_err(failed)?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                let first = stderr.lines().next().unwrap_or_default();
                Err(WorkError::other(STAGE, format!("rm -rf: {}: {first}", output.status)))
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    //! Windows has no `rm -rf`. `rmdir /s` works by path, which may lead elsewhere than the open directory.

    use std::ffi::OsString;

    use megadir::Dir;
    use megadir_sys::usage::Usage;

    use super::failed;
    use crate::control::Result;

    const REASON: &str = "rm -rf needs Linux";

    pub(crate) fn unavailable() -> Option<String> {
        Some(REASON.to_owned())
    }

    pub(crate) fn names(_directory: &Dir) -> Result<Vec<OsString>> {
        Ok(Vec::new())
    }

    pub(crate) fn remove(_directory: &Dir, _names: &[OsString]) -> Result<()> {
        Err(failed(std::io::Error::new(std::io::ErrorKind::Unsupported, REASON)))
    }

    pub(crate) fn usage() -> Usage {
        Usage { user_ns: 0, system_ns: 0, read_bytes: Some(0) }
    }
}

#[cfg(test)]
mod tests;
