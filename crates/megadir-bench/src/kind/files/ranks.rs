//! Workers as ranks: processes that an MPI launcher started, perhaps on several hosts. Rank 0 carries out the run and is
//! a worker too; the others follow its instructions.
//!
//! ```text
//! rank 0                                     all ranks
//! Prepare: path, tasks per rank    ------>   prepare; gather: Ready, Refused or Failed
//! Work: path, rate                 ------>   open the directory; barrier; work; gather: Done, Refused or Failed
//! Check; Setup, Run, Teardown      ------>   a block of another kind (`kind/on_ranks.rs`); gather: Ready, Whole ...
//! End: exit code                   ------>   leave
//! ```
//!
//! Between blocks ranks sleep, because a waiting MPI library keeps a processor busy; only in the barrier before a block they
//! do not. No clock is compared with another host's: each rank takes its own time from the barrier on, in nanoseconds of the
//! monotonic clock, because ticks of cycle counters differ.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir::Dir;
use megadir_mpi::{Error, World};
use megadir_record::{FileOperation, FileSystem, HostWork, Mount, Plan, RankTimes, Ranks};
use megadir_sys::clock::{monotonic_ns, shared_ns};
use serde::{Deserialize, Serialize};

use crate::control::{Result, RunControl, WorkError};
use crate::host;
use crate::kind::BlockKey;
use crate::kind::files::shared::prove_shared;
use crate::kind::files::task::Task;
use crate::kind::files::transport::Reply;
use crate::kind::files::worker::{Report, Worker};
use crate::kind::files::{processes, sum_up};
use crate::measure::{Calibration, Stopwatch};
use crate::os::At;

const STAGE: &str = "ranks";
/// Pause between two looks for a message. It bounds the delay of an instruction, which is outside of the
/// times.
const LOOK: Duration = Duration::from_micros(200);
/// Time that the other ranks give rank 0 after an interrupt to remove the run's files, before they end the
/// job.
const REMOVING_MAX: Duration = Duration::from_secs(3);
/// Exit code.
const INTERRUPTED: u8 = 130;
/// Odd numbers of repetitions, so that the median is a measured time.
const BARRIERS: usize = 101;
const COORDINATIONS: usize = 11;

/// The ranks as rank 0 and as each other rank sees them. `facts` was gathered at the start and is recorded.
/// The cells are changed through a shared reference, because workloads hold one; all calls are made on the
/// thread that initialized MPI. After `lost` no message is sent any more: a rank that is gone would never
/// receive it.
#[derive(Debug)]
pub struct RankWorkers {
    pub(crate) world: World,
    path: PathBuf,
    top: Dir,
    facts: Ranks,
    /// Each rank did the whole work of blocks, not a share of it.
    pub(crate) is_whole: Cell<bool>,
    lost: Cell<bool>,
    times: RefCell<Vec<RankTimes>>,
}

/// `Run` is the work of the last `Setup`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Instruction {
    Prepare { tasks: Vec<Vec<Task>> },
    Work { rate_per_s: Option<u64> },
    Check { arm: Box<PlannedArm> },
    Setup { arm: Box<PlannedArm>, key: BlockKey, operations: u64 },
    Run { rate_per_s: Option<u64> },
    Teardown,
    End { code: u8 },
}

/// Work of a rank in one block, and when it was done, nanoseconds after the barrier.
pub(crate) struct RankWork {
    pub(crate) rank: u32,
    pub(crate) done_ns: u64,
    /// `None` if each rank did the whole work.
    pub(crate) entries: Option<u64>,
}

/// An arm as another rank gets it. `names_max` comes along because the whole plan decides it, which is not
/// sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlannedArm {
    /// Without the other arms and their data.
    pub(crate) plan: Plan,
    pub(crate) names_max: Option<usize>,
}

pub(crate) fn failed(source: impl Into<io::Error>) -> WorkError {
    WorkError::Stage { stage: STAGE, source: source.into() }
}

impl RankWorkers {
    /// Proves that all ranks see the directory at `path`, and measures the cost of coordination. `shifts`: files are
    /// used on another host than the one that created them, if there are several.
    ///
    /// On an error, which is the same on all ranks, the ranks have left.
    pub fn share(world: World, path: &Path, shifts: bool, heartbeat: &AtomicU64) -> Result<Self, Error> {
        let shared = prove_shared(&world, path, heartbeat).and_then(|top| {
            let mounts = mounts(&world, &top)?;
            Ok((top, mounts, overhead(&world)?))
        });
        match shared {
            Ok((top, mounts, (barrier_ns, coordination_ns))) => {
                let (library, hosts) = (world.library().to_owned(), world.hosts().to_vec());
                let shift = if shifts { shift(&hosts) } else { 0 };
                let facts = Ranks { library, hosts, mounts, shift, barrier_ns, coordination_ns };
                let (is_whole, lost) = (Cell::new(false), Cell::new(false));
                let times = RefCell::default();
                Ok(Self { world, path: path.to_owned(), top, facts, is_whole, lost, times })
            }
            Err(error) => {
                world.finish()?;
                Err(error)
            }
        }
    }

    pub fn rank(&self) -> u32 {
        self.world.rank()
    }

    pub fn size(&self) -> u32 {
        self.world.size()
    }

    pub fn facts(&self) -> &Ranks {
        &self.facts
    }

    /// Waits for rank 0's next instruction; returns it with the path of its data below the shared directory.
    pub(crate) fn next(&self, control: RunControl<'_>) -> io::Result<(String, Instruction)> {
        self.meet_first(control)?;
        Ok(serde_json::from_slice(&self.world.send_to_all(&[])?)?)
    }

    pub(crate) fn reply(&self, reply: &Reply, control: RunControl<'_>) -> io::Result<()> {
        self.meet_first(control)?;
        self.world.gather(&serde_json::to_vec(reply)?).map(drop)
    }

    /// Waits for rank 0; after an interrupt only as long as it needs to remove the run's files, then ends all ranks.
    fn meet_first(&self, control: RunControl<'_>) -> io::Result<()> {
        let mut interrupted_at = None;
        let has_met = self.world.meet(|| {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(LOOK);
            let is_interrupted = control.stop.load(Ordering::Relaxed);
            !is_interrupted || interrupted_at.get_or_insert_with(Instant::now).elapsed() < REMOVING_MAX
        })?;
        if has_met {
            return Ok(());
        }
        self.world.abort(INTERRUPTED)
    }

    /// Ends all ranks with an exit code. After a lost rank only an abort can end the job: the others would
    /// wait for it.
    pub fn end(self, code: u8) -> io::Result<()> {
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        if self.lost.get() {
            self.world.abort(code);
        }
        self.meet(RunControl { stop: &stop, heartbeat: &heartbeat })?;
        self.world.send_to_all(&serde_json::to_vec(&("", Instruction::End { code }))?)?;
        self.world.finish()
    }

    /// Distributes the tasks of a block over the ranks, and prepares rank 0's own between sending and
    /// collecting, at the same time as the others prepare theirs.
    pub(crate) fn prepare(
        &self,
        tasks: Vec<Task>,
        data: &Dir,
        control: RunControl<'_>,
    ) -> Result<Vec<Worker>> {
        let path = self.below(data)?;
        let mut tasks = assign(tasks, self.size(), self.facts.shift);
        let own = tasks.first_mut().map(std::mem::take).unwrap_or_default();
        self.instruct(data, &Instruction::Prepare { tasks }, control)?;
        let mut workers = Vec::new();
        let own = self.prepare_own(&mut workers, own, &path, control);
        self.replies(&own, control)?;
        Ok(workers)
    }

    /// Runs a block on all ranks. Ranks without workers reply `Ready` and take no part in the times.
    pub(crate) fn work(
        &self,
        workers: Vec<Worker>,
        data: &Dir,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<(Vec<Report>, Option<RankTimes>)> {
        let path = self.below(data)?;
        let rate_per_s = stopwatch.rate_per_s();
        self.instruct(data, &Instruction::Work { rate_per_s }, control)?;
        let own = self.work_own(workers, &path, rate_per_s, control);
        let (mut reports, mut ranks) = (Vec::new(), Vec::new());
        for (rank, reply) in (0..).zip(self.replies(&own, control)?) {
            let Reply::Done { report, latency } = reply else { continue };
            if latency.is_some_and(|latency| !stopwatch.merge_written(&latency)) {
                return Err(WorkError::other(STAGE, "the times of single operations are inconsistent"));
            }
            ranks.push(RankWork { rank, done_ns: report.end_ns, entries: Some(report.files) });
            reports.push(report);
        }
        Ok((reports, self.times_of(&ranks)))
    }

    /// First and last end, and the work of each host if there are several: a slow host must not hide in a
    /// total.
    pub(crate) fn times_of(&self, done: &[RankWork]) -> Option<RankTimes> {
        let last = done.iter().max_by_key(|work| work.done_ns)?;
        let mut hosts: BTreeMap<u32, HostWork> = BTreeMap::new();
        let shared = if self.facts.host_count() > 1 { done } else { &[] };
        for work in shared {
            let Some(entries) = work.entries else { continue };
            let first_rank = self.facts.first_rank_beside(work.rank);
            let host = hosts.entry(first_rank).or_insert(HostWork { first_rank, entries: 0, done_ns: 0 });
            host.entries += entries;
            host.done_ns = host.done_ns.max(work.done_ns);
        }
        let times = RankTimes {
            first_done_ns: done.iter().map(|work| work.done_ns).min().unwrap_or(0),
            last_done_ns: last.done_ns,
            last_rank: last.rank,
            hosts: hosts.into_values().collect(),
        };
        self.times.borrow_mut().push(times.clone());
        Some(times)
    }

    /// A note on facts that no block shows: costs of the coordination, different mounts, and a rank that is
    /// always the last. The last point is stated with counts, since one rank must be the last in each block,
    /// and only a large share is a sign of a slow host.
    pub(crate) fn summary(&self) -> String {
        let Ranks { library, hosts, barrier_ns, coordination_ns, .. } = &self.facts;
        let counted =
            |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let mut text = format!(
            "{} on {} ({library}): a barrier took {:.1} µs, handing out a block and gathering its results {:.1} µs, \
             both outside the blocks' times",
            counted(hosts.len(), "rank"),
            counted(self.facts.host_count(), "host"),
            *barrier_ns as f64 / 1e3,
            *coordination_ns as f64 / 1e3
        );
        let mounts = &self.facts.mounts;
        if let Some(rank) = mounts.iter().position(|mount| !mount.is_like(&mounts[0])) {
            text += &format!("; {} has another mount than rank 0, as the record shows", self.name(rank));
        }
        if self.is_whole.get() {
            text += "; each rank did the whole work of a block, at the same time as the others";
        }
        let times = self.times.borrow();
        let many: Vec<&RankTimes> =
            times.iter().filter(|times| times.first_done_ns < times.last_done_ns).collect();
        let count = |rank: u32| many.iter().filter(|times| times.last_rank == rank).count();
        let last = (0..self.size()).max_by_key(|rank| count(*rank)).filter(|_| !many.is_empty());
        if let Some(rank) = last {
            let mut ratios: Vec<f64> = many
                .iter()
                .map(|times| times.last_done_ns as f64 / times.first_done_ns.max(1) as f64)
                .collect();
            ratios.sort_unstable_by(f64::total_cmp);
            text += &format!(
                "; {} was the last in {} of {} blocks of several ranks, and the last rank of a block took {:.2} times as \
                 long as the first (median)",
                self.name(rank as usize),
                count(rank),
                many.len(),
                ratios[ratios.len() / 2]
            );
        }
        text
    }

    pub(crate) fn name(&self, rank: usize) -> String {
        format!("rank {rank} on '{}'", self.facts.hosts[rank])
    }

    /// Path of a data set below the shared directory. Hosts may mount that at different paths.
    fn below(&self, data: &Dir) -> Result<String> {
        let below = data.path().strip_prefix(&self.path).ok().and_then(Path::to_str).map(str::to_owned);
        below.ok_or_else(|| WorkError::other(STAGE, "the data are outside the shared directory"))
    }

    /// Opens a data set from the shared directory down, one name at a time, without following links.
    pub(crate) fn open(&self, path: &str) -> Result<Dir> {
        let mut directory = self.top.again()?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            directory = directory.open_below(name.as_bytes())?;
        }
        Ok(directory)
    }

    pub(crate) fn prepare_own(
        &self,
        workers: &mut Vec<Worker>,
        tasks: Vec<Task>,
        path: &str,
        control: RunControl<'_>,
    ) -> Reply {
        workers.clear();
        if tasks.is_empty() {
            return Reply::Ready;
        }
        match self.open(path).and_then(|data| processes::prepare(tasks, &data, control)) {
            Ok(prepared) => {
                *workers = prepared;
                Reply::Ready
            }
            Err(error) => error.into(),
        }
    }

    /// A rank must reach the barrier even if it cannot work, because the others wait in it; its error is
    /// reported after that. An error of the barrier itself comes first, since the times mean nothing then. A
    /// rank without workers takes part with no files.
    pub(crate) fn work_own(
        &self,
        mut workers: Vec<Worker>,
        path: &str,
        rate_per_s: Option<u64>,
        control: RunControl<'_>,
    ) -> Reply {
        let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: None });
        stopwatch.set_rate(rate_per_s);
        let (data, reached, began_ns) = (self.open(path), Cell::new(Ok(())), Cell::new(0));
        let barrier = || {
            reached.set(self.world.barrier());
            began_ns.set(shared_ns());
        };
        let done = match data {
            Ok(data) if !workers.is_empty() => {
                processes::work_threads(&mut workers, &data, &mut stopwatch, barrier, control).map(Some)
            }
            data => {
                barrier();
                data.map(|_| None)
            }
        };
        match (reached.into_inner(), done) {
            (Err(error), _) => failed(error).into(),
            (_, Err(error)) => error.into(),
            (_, Ok(None)) => Reply::Ready,
            (_, Ok(Some(reports))) => {
                Reply::Done { report: sum_up(&reports, began_ns.get()), latency: stopwatch.latency() }
            }
        }
    }

    pub(crate) fn instruct(
        &self,
        data: &Dir,
        instruction: &Instruction,
        control: RunControl<'_>,
    ) -> Result<()> {
        let text = serde_json::to_vec(&(self.below(data)?, instruction)).map_err(failed)?;
        self.meet_or_stop(control)?;
        self.world.send_to_all(&text).map(drop).map_err(failed)
    }

    pub(crate) fn replies(&self, own: &Reply, control: RunControl<'_>) -> Result<Vec<Reply>> {
        let own = serde_json::to_vec(own).map_err(failed)?;
        self.meet_or_stop(control)?;
        let mut replies = Vec::with_capacity(self.size() as usize);
        let gathered = self.world.gather(&own).map_err(failed)?;
        if control.stop.load(Ordering::Relaxed) {
            self.lost.set(true);
            return Err(WorkError::Stopped);
        }
        for (rank, reply) in gathered.iter().enumerate() {
            let reply: Reply = serde_json::from_slice(reply).map_err(failed)?;
            replies.push(reply.checked(STAGE, self.name(rank))?);
        }
        Ok(replies)
    }

    fn meet_or_stop(&self, control: RunControl<'_>) -> Result<()> {
        if self.lost.get() {
            return Err(WorkError::Stopped);
        }
        match self.meet(control) {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.lost.set(true);
                Err(WorkError::Stopped)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Waits for all ranks, asleep; `false` once the run is to stop.
    fn meet(&self, control: RunControl<'_>) -> io::Result<bool> {
        self.world.meet(|| {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(LOOK);
            !control.stop.load(Ordering::Relaxed)
        })
    }
}

/// Mount of the directory on each rank, for rank 0.
fn mounts(world: &World, top: &Dir) -> io::Result<Vec<Mount>> {
    // A rank that ended here would leave the others waiting.
    let (kind, options) = match top.reopen() {
        Ok(directory) => {
            let FileSystem { kind, mount_options, .. } = host::file_system(directory.at());
            (kind, mount_options)
        }
        Err(_) => ("unknown".to_owned(), None),
    };
    let gathered = world.gather(&serde_json::to_vec(&Mount { kind, options })?)?;
    gathered.iter().map(|text| Ok(serde_json::from_slice(text)?)).collect()
}

/// Median times of a barrier, and of a block without work, nanoseconds.
fn overhead(world: &World) -> io::Result<(u64, u64)> {
    let median = |count: usize, step: &dyn Fn() -> io::Result<()>| -> io::Result<u64> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let start_ns = monotonic_ns();
            step()?;
            times.push(monotonic_ns() - start_ns);
        }
        times.sort_unstable();
        Ok(times[count / 2])
    };
    let meet = || {
        world.meet(|| {
            std::thread::sleep(LOOK);
            true
        })
    };
    let barrier_ns = median(BARRIERS, &|| world.barrier())?;
    let coordination_ns = median(COORDINATIONS, &|| {
        for _ in 0..2 {
            meet()?;
            world.send_to_all(b"{}")?;
            meet()?;
            world.gather(b"{}")?;
        }
        Ok(())
    })?;
    Ok((barrier_ns, coordination_ns))
}

/// Smallest shift that gives the most ranks a partner on another host; 0 on one host.
fn shift(hosts: &[String]) -> u32 {
    let others = |shift: usize| {
        let partner = |rank: usize| &hosts[(rank + shift) % hosts.len()];
        (0..hosts.len()).filter(|&rank| hosts[rank] != *partner(rank)).count()
    };
    (0..hosts.len()).rev().max_by_key(|&shift| others(shift)).unwrap_or(0) as u32
}

/// Rank that uses the files of a worker, which the rank with the worker's number creates. More workers than ranks are threads.
pub(crate) fn user_of(worker: u32, size: u32, shift: u32) -> u32 {
    (worker + shift) % size
}

/// Tasks for each rank. With a shift, files are used by another rank than the one that created them, on
/// another host for as many ranks as possible, since a host would find its own files in its cache.
fn assign(tasks: Vec<Task>, size: u32, shift: u32) -> Vec<Vec<Task>> {
    let mut of_rank: Vec<Vec<Task>> = (0..size).map(|_| Vec::new()).collect();
    for task in tasks {
        let creates = matches!(task.work.operation, FileOperation::Create | FileOperation::MakeDirectories);
        let rank = user_of(task.worker, size, if creates { 0 } else { shift });
        of_rank[rank as usize].push(task);
    }
    of_rank
}

#[cfg(test)]
mod tests {
    use megadir_sys::usage::Usage;

    use super::{Report, shift, sum_up};

    #[test]
    fn work_moves_to_another_host() {
        let of = |hosts: &str| shift(&hosts.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("a"), 0);
        assert_eq!(of("a a a a"), 0);
        assert_eq!(of("a a b b"), 2);
        assert_eq!(of("a b a b"), 1);
        assert_eq!(of("a a b b c c"), 2);
        // Uneven: all but one of rank 0 to 2 have a partner elsewhere.
        assert_eq!(of("a a a b b"), 2);
    }

    #[test]
    fn threads_of_a_rank_work_from_the_barrier_on_without_their_own_pauses() {
        let report = |end_ns, paused_ns| Report {
            start_ns: 1_500,
            end_ns,
            paused_ns,
            used: Usage { user_ns: 10, system_ns: 1, read_bytes: Some(4) },
            files: 3,
            wrong: 0,
        };
        let rank = sum_up(&[report(2_000, 0), report(9_000, 7_000)], 1_000);
        let of_both = (rank.start_ns, rank.end_ns, rank.paused_ns, rank.files);
        assert_eq!(of_both, (0, 1_000, 0, 6));
        assert_eq!(rank.used, Usage { user_ns: 20, system_ns: 2, read_bytes: Some(8) });
    }
}
