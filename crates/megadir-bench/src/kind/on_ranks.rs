//! Blocks of any kind on ranks: each rank does the whole work, on the same directory and at the same time. Workers of files
//! share the work instead ([`files`](crate::kind::files)).

use std::io;

use megadir::Dir;
use megadir_record::{Arm, ArmId, Counted, Data, DataId, Note, Plan};
use megadir_stats::permutation::SplitMix64;
use megadir_sys::clock::monotonic_ns;
use megadir_sys::usage::{Usage, process_usage};

use crate::control::{RunControl, WorkError};
use crate::kind::files::ranks::{Instruction, failed, said};
use crate::kind::files::transport::{Said, Whole};
use crate::kind::{
    BlockKey, BlockUsage, NameSource, RankWorkers, WorkerCommand, WorkerSource, Workload, name_source,
    names_needed, workload,
};
use crate::measure::{Calibration, Stopwatch};

pub(crate) struct OnRanks<'a> {
    own: Box<dyn Workload + 'a>,
    /// This arm and its data alone.
    plan: Plan,
    names_max: Option<usize>,
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
        ranks.is_whole.set(true);
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
        Box::new(Self { own, plan, names_max, ranks, taken: None })
    }
}

impl Workload for OnRanks<'_> {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        self.own.unavailable(directory)
    }

    fn remark(&self) -> Option<Note> {
        self.own.remark()
    }

    fn setup(
        &mut self,
        directory: &Dir,
        key: BlockKey,
        operations: u64,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        self.taken = None;
        let (path, plan) = (self.ranks.below(directory)?, Box::new(self.plan.clone()));
        let names_max = self.names_max;
        self.ranks.instruct(&Instruction::Setup { path, plan, names_max, key, operations }, control)?;
        let own = self.own.setup(directory, key, operations, control);
        self.ranks.replies(&own.map_or_else(said, |()| Said::Ready), control).map(drop)
    }

    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        self.taken = None;
        let (path, rate_per_s) = (self.ranks.below(directory)?, stopwatch.rate_per_s());
        self.ranks.instruct(&Instruction::Run { path, operations, rate_per_s }, control)?;
        let directory = directory.again().map_err(WorkError::from);
        let done = run(self.ranks, &mut *self.own, directory, (operations, rate_per_s), control);
        let own = done.map_or_else(said, |whole| Said::Whole(Box::new(whole)));
        let (mut all, mut done) = (Vec::new(), Vec::new());
        for (rank, said) in (0..).zip(self.ranks.replies(&own, control)?) {
            if let Said::Whole(whole) = said {
                done.push((rank, whole.elapsed_ns));
                all.push(whole);
            }
        }
        let is_equal = |whole: &Whole| (whole.entries, whole.hash) == (all[0].entries, all[0].hash);
        let are_equal = all.iter().all(|whole| is_equal(whole));
        // The record has the last rank's work.
        let Some(last) = all.into_iter().max_by_key(|whole| whole.elapsed_ns) else {
            return Err(failed(io::Error::other("no rank did the work")));
        };
        if last.latency.as_ref().is_some_and(|latency| !stopwatch.merge_written(latency)) {
            return Err(failed(io::Error::other("the times of single operations are inconsistent")));
        }
        let Whole { elapsed_ns, user_ns, system_ns, read_bytes, peak_bytes, entries, hash, calls, .. } =
            *last;
        let usage = Usage { user_ns, system_ns, read_bytes };
        self.taken = Some(BlockUsage { elapsed_ns, usage, peak_bytes, ranks: self.ranks.times_of(&done) });
        let hash = if are_equal { hash } else { !hash };
        Ok(Counted { entries, hash, calls, written_bytes: 0 })
    }

    fn usage(&self) -> Option<BlockUsage> {
        self.taken
    }

    fn teardown(&mut self, directory: &Dir, control: RunControl<'_>) -> Result<(), WorkError> {
        let path = self.ranks.below(directory)?;
        self.ranks.instruct(&Instruction::Teardown { path }, control)?;
        let own = self.own.teardown(directory, control);
        self.ranks.replies(&own.map_or_else(said, |()| Said::Ready), control).map(drop)
    }
}

fn run(
    ranks: &RankWorkers,
    work: &mut dyn Workload,
    directory: Result<Dir, WorkError>,
    (operations, rate_per_s): (u64, Option<u64>),
    control: RunControl<'_>,
) -> Result<Whole, WorkError> {
    let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: None });
    stopwatch.set_rate(rate_per_s);
    // Also if the directory cannot be opened: the others wait there.
    ranks.barrier().map_err(failed)?;
    let directory = directory?;
    let (before, start_ns) = (process_usage(), monotonic_ns());
    let counted = work.run(&directory, operations, &mut stopwatch, control)?;
    let (elapsed_ns, usage) = (monotonic_ns() - start_ns, process_usage().since(before));
    let taken = work.usage().unwrap_or(BlockUsage { elapsed_ns, usage, peak_bytes: None, ranks: None });
    Ok(Whole {
        elapsed_ns: taken.elapsed_ns,
        user_ns: taken.usage.user_ns,
        system_ns: taken.usage.system_ns,
        read_bytes: taken.usage.read_bytes,
        peak_bytes: taken.peak_bytes,
        entries: counted.entries,
        hash: counted.hash,
        calls: counted.calls,
        latency: stopwatch.latency(),
    })
}

/// Follows rank 0 until it ends the run; returns the exit code.
pub fn serve_rank(
    ranks: RankWorkers,
    command: Option<&WorkerCommand>,
    control: RunControl<'_>,
) -> io::Result<u8> {
    let (mut workers, mut blocks) = (Vec::new(), Blocks::default());
    let mut next = ranks.next(control)?;
    loop {
        let said = match next {
            Instruction::Prepare { path, mut tasks } => {
                let tasks = tasks.get_mut(ranks.rank() as usize).map(std::mem::take).unwrap_or_default();
                ranks.prepare_own(&mut workers, tasks, &path, control)
            }
            Instruction::Work { path, go } => {
                ranks.work_own(std::mem::take(&mut workers), &path, &go, control)
            }
            Instruction::Setup { path, plan, names_max, key, operations } => {
                let source = WorkerSource { command, ranks: None };
                next = blocks.serve(&ranks, (&plan, names_max, source), (&path, key, operations), control)?;
                continue;
            }
            Instruction::Run { .. } => {
                // The others wait there.
                ranks.barrier()?;
                said(failed(io::Error::other("the block was not set up")))
            }
            Instruction::Teardown { .. } => Said::Ready,
            Instruction::End { code } => {
                ranks.leave()?;
                return Ok(code);
            }
        };
        ranks.reply(&said, control)?;
        next = ranks.next(control)?;
    }
}

/// Whole blocks of a rank other than 0.
#[derive(Default)]
struct Blocks {
    /// Names of the last directory.
    drawn: Option<(Drawn, NameSource)>,
}

/// Path, seed and number of drawn names.
type Drawn = (String, u64, Option<usize>);

impl Blocks {
    /// Returns the first instruction that is not of this block.
    fn serve(
        &mut self,
        ranks: &RankWorkers,
        (plan, names_max, source): (&Plan, Option<usize>, WorkerSource<'_>),
        (path, key, operations): (&str, BlockKey, u64),
        control: RunControl<'_>,
    ) -> io::Result<Instruction> {
        // The same in all arms of a round, which are compared.
        let key = BlockKey { salt: SplitMix64::new(ranks.rank().into()).next_u64(), ..key };
        let (arm, data) = (&plan.arms[0], &plan.data[0]);
        let ready = ranks.open(path).and_then(|directory| {
            let of = (path.to_owned(), plan.seed, names_max);
            let drawn = match self.drawn.take().filter(|(known, _)| *known == of) {
                Some(drawn) => drawn,
                None => (of, name_source(plan.seed, data, names_max, &directory, control)?),
            };
            let (_, names) = &*self.drawn.insert(drawn);
            let mut work = workload(plan, arm, names, source)?;
            match work.unavailable(&directory) {
                Some(reason) => Err(failed(io::Error::other(format!("{}: {reason}", arm.name)))),
                None => work.setup(&directory, key, operations, control).map(|()| work),
            }
        });
        let mut work = match ready {
            Ok(work) => work,
            Err(error) => {
                ranks.reply(&said(error), control)?;
                return ranks.next(control);
            }
        };
        ranks.reply(&Said::Ready, control)?;
        loop {
            let said = match ranks.next(control)? {
                Instruction::Run { path, operations, rate_per_s } => {
                    let directory = ranks.open(&path);
                    let done = run(ranks, &mut *work, directory, (operations, rate_per_s), control);
                    done.map_or_else(said, |whole| Said::Whole(Box::new(whole)))
                }
                Instruction::Teardown { path } => {
                    let done = ranks.open(&path).and_then(|directory| work.teardown(&directory, control));
                    done.map_or_else(said, |()| Said::Ready)
                }
                other => return Ok(other),
            };
            ranks.reply(&said, control)?;
        }
    }
}
