//! Blocks of any kind on ranks, at the same time and in the same directory: each rank does the whole work, or removes
//! a tree that another rank created. Workers of files share theirs in another way ([`files`](crate::kind::files)).
//!
//! Rank 0 carries out the run and is a worker too. The ranks get the arm with its data and check, and set up, run and
//! tear down the same `Workload` as rank 0.
//!
//! ```text
//!  rank 0                      other ranks (`serve_rank`)
//!  Check    ---------------->  make the workload, ask whether it is available
//!  Setup    ---------------->  setup
//!  Run      ---------------->  all: barrier, run            time: from the barrier to the rank's own end
//!  Teardown ---------------->  teardown
//! ```

use std::io;

use megadir::Dir;
use megadir_record::{Arm, ArmId, Counted, Data, DataId, Note, Plan, Work};
use megadir_stats::permutation::SplitMix64;
use megadir_sys::clock::monotonic_ns;
use megadir_sys::usage::process_usage;

use crate::control::{Result, RunControl, WorkError};
use crate::kind::files::ranks::{Instruction, PlannedArm, RankWork, failed};
use crate::kind::files::transport::{Reply, Whole};
use crate::kind::{
    BlockKey, BlockUsage, NameSource, RankWorkers, WorkBlock, WorkerCommand, WorkerSource, Workload,
    name_source, names_needed, own_workload,
};
use crate::measure::{Calibration, Stopwatch};

/// Workload of rank 0 and its image on the others. `arm` is a plan with this arm and its data alone, so
/// that the message does not grow with the study.
pub(crate) struct OnRanks<'a> {
    own: Box<dyn Workload + 'a>,
    arm: PlannedArm,
    ranks: &'a RankWorkers,
    taken: Option<BlockUsage>,
}

impl<'a> OnRanks<'a> {
    pub(crate) fn new(
        own: Box<dyn Workload + 'a>,
        plan: &Plan,
        arm: &Arm,
        ranks: &'a RankWorkers,
    ) -> Box<Self> {
        if !is_shared(arm) {
            ranks.is_whole.set(true);
        }
        let names_max = names_needed(plan, &plan.data[arm.data.0 as usize]);
        let data = Data { id: DataId(0), on: None, ..plan.data[arm.data.0 as usize].clone() };
        let plan = Plan {
            arms: vec![Arm { id: ArmId(0), data: data.id, ..arm.clone() }],
            data: vec![data],
            groups: Vec::new(),
            file_systems: Vec::new(),
            unavailable: Vec::new(),
            published: Vec::new(),
            claims: None,
            ..plan.clone()
        };
        let arm = PlannedArm { plan, names_max };
        Box::new(Self { own, arm, ranks, taken: None })
    }
}

/// `true` if each rank does a part of the work; otherwise each does all of it, as independent programs
/// would.
fn is_shared(arm: &Arm) -> bool {
    matches!(arm.work, Work::Remove(_))
}

impl Workload for OnRanks<'_> {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        self.own.unavailable(directory)
    }

    fn unavailable_anywhere(&self, directory: &Dir, control: RunControl<'_>) -> Result<Option<String>> {
        let arm = Box::new(self.arm.clone());
        self.ranks.instruct(directory, &Instruction::Check { arm }, control)?;
        let replies = self.ranks.replies(&available(self.unavailable(directory)), control)?;
        let lacking = (0..).zip(replies).find_map(|(rank, reply)| match reply {
            Reply::Unavailable { reason } => Some((rank, reason)),
            _ => None,
        });
        Ok(lacking.map(|(rank, reason)| match rank {
            0 => reason,
            _ => format!("{}: {reason}", self.ranks.name(rank)),
        }))
    }

    fn remark(&self) -> Option<Note> {
        self.own.remark()
    }

    fn setup(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        let WorkBlock { directory, key, operations, control } = *block;
        self.taken = None;
        let arm = Box::new(self.arm.clone());
        self.ranks.instruct(directory, &Instruction::Setup { arm, key, operations }, control)?;
        let own = self.own.setup(block);
        self.ranks.replies(&own.map_or_else(Reply::from, |()| Reply::Ready), control).map(drop)
    }

    /// All ranks are instructed, rank 0 does its own work between, and every reply is collected even if its
    /// own work failed: the others have replied and must not be out of step. If the work is shared, usage and
    /// entries are sums; otherwise the slowest rank stands for the block. Ranks that saw different entries
    /// make the hash wrong on purpose.
    fn run(&mut self, block: &WorkBlock<'_>, stopwatch: &mut Stopwatch) -> Result<Counted> {
        let WorkBlock { directory, key, operations, control } = *block;
        self.taken = None;
        let rate_per_s = stopwatch.rate_per_s();
        self.ranks.instruct(directory, &Instruction::Run { rate_per_s }, control)?;
        let directory = directory.again().map_err(WorkError::from);
        let own = run(self.ranks, &mut *self.own, directory, (key, operations, rate_per_s), control);
        let own = own.unwrap_or_else(Reply::from);
        let is_shared = is_shared(&self.arm.plan.arms[0]);
        let (mut all, mut done) = (Vec::new(), Vec::new());
        for (rank, reply) in (0..).zip(self.ranks.replies(&own, control)?) {
            if let Reply::Whole(whole) = reply
                && !(is_shared && whole.counted.entries == 0)
            {
                let entries = is_shared.then_some(whole.counted.entries);
                done.push(RankWork { rank, done_ns: whole.taken.elapsed_ns, entries });
                all.push(*whole);
            }
        }
        // The record has the last rank's work, or the work of all.
        let Some(last) = all.iter().max_by_key(|whole| whole.taken.elapsed_ns) else {
            return Err(failed(io::Error::other("no rank did the work")));
        };
        let Counted { entries, hash, calls, .. } = last.counted;
        let are_equal =
            all.iter().all(|whole| (whole.counted.entries, whole.counted.hash) == (entries, hash));
        let (usage, entries, hash) = if is_shared {
            let entries = all.iter().map(|whole| whole.counted.entries).sum();
            (all.iter().map(|whole| whole.taken.usage).sum(), entries, hash)
        } else {
            (last.taken.usage, entries, if are_equal { hash } else { !hash })
        };
        if last.latency.as_ref().is_some_and(|latency| !stopwatch.merge_written(latency)) {
            return Err(failed(io::Error::other("the times of single operations are inconsistent")));
        }
        self.taken = Some(BlockUsage { usage, ranks: self.ranks.times_of(&done), ..last.taken });
        Ok(Counted { entries, hash, calls, written_bytes: 0 })
    }

    fn usage(&mut self) -> Option<BlockUsage> {
        self.taken.take()
    }

    fn teardown(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        self.ranks.instruct(block.directory, &Instruction::Teardown, block.control)?;
        let own = self.own.teardown(block);
        self.ranks.replies(&own.map_or_else(Reply::from, |()| Reply::Ready), block.control).map(drop)
    }
}

fn run(
    ranks: &RankWorkers,
    work: &mut dyn Workload,
    directory: Result<Dir>,
    (key, operations, rate_per_s): (BlockKey, u64, Option<u64>),
    control: RunControl<'_>,
) -> Result<Reply> {
    let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: None });
    stopwatch.set_rate(rate_per_s);
    // Also if the directory cannot be opened: the others wait there.
    ranks.world.barrier().map_err(failed)?;
    let directory = directory?;
    let block = WorkBlock { directory: &directory, key, operations, control };
    // Each rank uses its own clock from the barrier on; nothing compares clocks of hosts.
    let (before, start_ns) = (process_usage(), monotonic_ns());
    let counted = work.run(&block, &mut stopwatch)?;
    let (elapsed_ns, usage) = (monotonic_ns() - start_ns, process_usage().since(before));
    let taken = work.usage().unwrap_or_else(|| BlockUsage::new(elapsed_ns, usage));
    Ok(Reply::Whole(Box::new(Whole { taken, counted, latency: stopwatch.latency() })))
}

fn available(lacking: Option<String>) -> Reply {
    lacking.map_or(Reply::Ready, |reason| Reply::Unavailable { reason })
}

/// Follows rank 0 until it ends the run; returns the exit code.
///
/// The loop of every rank but the first, on its only thread that uses MPI. Each instruction has exactly one
/// reply, except steps that end: rank 0 waits for all replies. `Run` without a setup still enters the
/// barrier, since the other ranks are in it.
///
/// ```text
/// next -> Prepare | Work | Check | Setup (-> serve) | Run | Teardown -> reply -> next ...      End -> exit code
/// ```
pub fn serve_rank(
    ranks: RankWorkers,
    command: Option<&WorkerCommand>,
    control: RunControl<'_>,
) -> io::Result<u8> {
    let (mut workers, mut blocks) = (Vec::new(), Blocks { ranks: &ranks, command, control, drawn: None });
    let mut next = ranks.next(control)?;
    loop {
        let (path, instruction) = next;
        let reply = match instruction {
            Instruction::Prepare { mut tasks } => {
                let tasks = tasks.get_mut(ranks.rank() as usize).map(std::mem::take).unwrap_or_default();
                ranks.prepare_own(&mut workers, tasks, &path, control)
            }
            Instruction::Work { rate_per_s } => {
                ranks.work_own(std::mem::take(&mut workers), &path, rate_per_s, control)
            }
            Instruction::Check { arm } => blocks.check(&path, &arm),
            Instruction::Setup { arm, key, operations } => {
                next = blocks.serve((&path, &arm), key, operations)?;
                continue;
            }
            Instruction::Run { .. } => {
                // The others wait there.
                ranks.world.barrier()?;
                failed(io::Error::other("the block was not set up")).into()
            }
            Instruction::Teardown => Reply::Ready,
            Instruction::End { code } => {
                ranks.world.finish()?;
                return Ok(code);
            }
        };
        ranks.reply(&reply, control)?;
        next = ranks.next(control)?;
    }
}

/// Whole blocks of a rank other than 0.
struct Blocks<'r> {
    ranks: &'r RankWorkers,
    command: Option<&'r WorkerCommand>,
    control: RunControl<'r>,
    drawn: Option<(Drawn, NameSource)>,
}

/// Path, seed and number of drawn names.
type Drawn = (String, u64, Option<usize>);

impl Blocks<'_> {
    /// Makes the workload of an arm. Drawn names are kept from block to block, since drawing them lists the
    /// directory.
    fn work(&mut self, path: &str, arm: &PlannedArm) -> Result<(Box<dyn Workload + '_>, Dir)> {
        let directory = self.ranks.open(path)?;
        let (planned, data) = (&arm.plan.arms[0], &arm.plan.data[0]);
        let of = (path.to_owned(), arm.plan.seed, arm.names_max);
        let drawn = match self.drawn.take().filter(|(known, _)| *known == of) {
            Some(drawn) => drawn,
            None => (of, name_source(arm.plan.seed, data, arm.names_max, &directory, self.control)?),
        };
        let (_, names) = &*self.drawn.insert(drawn);
        let source = WorkerSource { command: self.command, ranks: Some(self.ranks) };
        Ok((own_workload(&arm.plan, planned, names, source)?, directory))
    }

    fn check(&mut self, path: &str, arm: &PlannedArm) -> Reply {
        self.work(path, arm)
            .map_or_else(Reply::from, |(work, directory)| available(work.unavailable(&directory)))
    }

    /// Returns the first instruction that is not of this block.
    ///
    /// Keeps the workload from setup to teardown, since it borrows from this function's values. A failed
    /// setup is reported, and the instructions of the block are then answered by the caller, with an error
    /// for `Run`. The salt lets ranks choose different names in the same directory.
    fn serve(
        &mut self,
        (path, arm): (&str, &PlannedArm),
        key: BlockKey,
        operations: u64,
    ) -> io::Result<(String, Instruction)> {
        let (ranks, control) = (self.ranks, self.control);
        // The same in all arms of a round, which are compared.
        let key = BlockKey { salt: SplitMix64::new(ranks.rank().into()).next_u64(), ..key };
        let ready = self.work(path, arm).and_then(|(mut work, directory)| {
            work.setup(&WorkBlock { directory: &directory, key, operations, control }).map(|()| work)
        });
        let mut work = match ready {
            Ok(work) => work,
            Err(error) => {
                ranks.reply(&error.into(), control)?;
                return ranks.next(control);
            }
        };
        ranks.reply(&Reply::Ready, control)?;
        loop {
            let reply = match ranks.next(control)? {
                (path, Instruction::Run { rate_per_s }) => {
                    let directory = ranks.open(&path);
                    let done = run(ranks, &mut *work, directory, (key, operations, rate_per_s), control);
                    done.unwrap_or_else(Reply::from)
                }
                (path, Instruction::Teardown) => {
                    let done = ranks.open(&path).and_then(|directory| {
                        work.teardown(&WorkBlock { directory: &directory, key, operations, control })
                    });
                    done.map_or_else(Reply::from, |()| Reply::Ready)
                }
                other => return Ok(other),
            };
            ranks.reply(&reply, control)?;
        }
    }
}
