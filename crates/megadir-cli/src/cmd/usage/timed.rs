//! `usage --time`: the whole tree if it can be read in time, else estimates from a sample of its subtrees.
//!
//! The walk that reads everything and the threads that sample run side by side. None of them is waited for when the time is over: a
//! call on slow storage may take long, and nothing that they do has to be completed.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use megadir::usage::sampled::{DirectoryTree, SampledUsage, Sampler, Step};
use megadir::usage::{By, Report, Usage, read};
use megadir::{Conditions, Dir, TreeEvent, TreePath};

use super::args::Args;
use super::formats::Tree;
use super::{Answer, interrupted, options, walk_options};
use crate::cmd::bench::drawn_seed;
use crate::cmd::interrupt::Interrupt;
use crate::cmd::list::source::raise_descriptor_limit;
use crate::cmd::progress::TreeProgress;
use crate::cmd::times::now_s;
use crate::exit::CliError;

/// Share of the time in which only the walk reads: small trees need no sample.
const WALK_ALONE: f64 = 0.15;
const LOOK: Duration = Duration::from_millis(20);
/// For steps that end by themselves when the time is over: each looks at the clock between calls.
const GRACE: Duration = Duration::from_millis(200);

/// Estimates, and what limits them. `unread` counts directories that neither the walk nor the sample could read, at least, and
/// `seed` repeats the sample as far as the time does.
pub(super) struct Estimate<'a> {
    pub(super) args: &'a Args,
    pub(super) by: By,
    pub(super) is_selection: bool,
    pub(super) usage: SampledUsage<TreePath>,
    pub(super) seed: u64,
    pub(super) time: Duration,
    pub(super) unread: u64,
    pub(super) mounts_not_entered: u64,
}

pub(super) enum Timed<'a> {
    Exact(Box<Answer<'a>>),
    Estimated(Box<Estimate<'a>>),
}

/// State of the walk that the main thread sees. `progress` is taken away when the time is over, which ends the walk at its next event.
struct Walking {
    progress: Mutex<Option<TreeProgress>>,
    read: AtomicU64,
    unread: AtomicU64,
    mounts_not_entered: AtomicU64,
    is_incomplete: AtomicBool,
}

type Walked = Result<(ControlFlow<()>, Report), megadir::Error>;

/// Starts the walk and the threads that sample, and waits for the end of the walk or of the time.
///
/// The figures of the walk are used only if it ends, or as a lower bound: what it has read until then depends on the order in which it
/// descends. Threads that sample take half as many as those of the walk, which has to be done in time if it can be.
pub(super) fn run<'a>(
    args: &'a Args,
    by: By,
    time: Duration,
    interrupt: &Interrupt,
) -> Result<Timed<'a>, CliError> {
    let started = Instant::now();
    let path = &args.paths[0];
    let conditions = args.conditions(&args.paths)?;
    raise_descriptor_limit();
    let root = Dir::open(path)?;
    let walk = walk_options(&root, args, conditions.as_ref())?;
    let threads = walk.threads.div_ceil(2);
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let sampler = Arc::new(sampler(args, conditions.as_ref(), seed, started + time)?);
    let walking = Arc::new(Walking::new(args.all_errors));
    let (sender, walked) = channel();
    let usage = Usage::new(options(args, by));
    start("walk", {
        let walking = Arc::clone(&walking);
        move || {
            let _ = sender.send(walking.walk(usage, root, walk));
        }
    })?;
    let sampling = start_sampling(&sampler, threads, (started, time))?;
    let ended = walking.wait(&walked, started + time, interrupt);
    walking.finish();
    let [unread, mounts_not_entered] =
        [&walking.unread, &walking.mounts_not_entered].map(|count| count.load(Ordering::Relaxed));
    if let Some(ended) = ended? {
        let (ControlFlow::Continue(()), report) = ended? else { return Err(interrupted()) };
        let is_complete = !walking.is_incomplete.load(Ordering::Relaxed);
        let trees = vec![Tree {
            path: path.clone(),
            is_complete,
            took: Some(started.elapsed()),
            read_s: Some(now_s()),
        }];
        let is_selection = conditions.is_some();
        let answer = Answer { is_selection, unread, mounts_not_entered, trees, ..Answer::of(args, report) };
        return Ok(Timed::Exact(Box::new(answer)));
    }
    while Arc::strong_count(&sampling) > 1 && started.elapsed() < time + GRACE {
        std::thread::sleep(LOOK / 4);
    }
    let mut usage = sampler.usage();
    usage.total[0].at_least_also(walking.read.load(Ordering::Relaxed).into());
    Ok(Timed::Estimated(Box::new(Estimate {
        args,
        by,
        is_selection: conditions.is_some(),
        usage,
        seed,
        time,
        unread: unread.max(sampler.tree().unread()),
        mounts_not_entered: mounts_not_entered.max(sampler.tree().mounts_not_entered()),
    })))
}

fn sampler(
    args: &Args,
    conditions: Option<&Arc<Conditions>>,
    seed: u64,
    deadline: Instant,
) -> Result<Sampler<DirectoryTree>, CliError> {
    let is_over = Box::new(move || Instant::now() >= deadline);
    let root = Dir::open(&args.paths[0])?;
    let stat_backend = args.readers.stat_backend()?;
    let tree =
        DirectoryTree::new(root, args.cross_mounts, stat_backend, conditions.map(Arc::clone), is_over)?;
    Ok(Sampler::new(tree, TreePath::root(), seed))
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let thread = std::thread::Builder::new().name(format!("megadir-{name}")).spawn(work);
    thread.map(drop).map_err(|error| CliError::nothing_ran(format!("--time: cannot start a thread: {error}")))
}

/// The returned reference is the last one when all threads have ended.
fn start_sampling(
    sampler: &Arc<Sampler<DirectoryTree>>,
    threads: usize,
    (started, time): (Instant, Duration),
) -> Result<Arc<()>, CliError> {
    let sampling = Arc::new(());
    for _ in 0..threads {
        let (sampler, sampling) = (Arc::clone(sampler), Arc::clone(&sampling));
        start("sample", move || {
            sample(&sampler, started, time);
            drop(sampling);
        })?;
    }
    Ok(sampling)
}

fn sample(sampler: &Sampler<DirectoryTree>, started: Instant, time: Duration) {
    std::thread::sleep(time.mul_f64(WALK_ALONE));
    loop {
        let effort = started.elapsed().as_secs_f64() / time.as_secs_f64();
        if effort >= 1.0 {
            return;
        }
        match sampler.step((effort - WALK_ALONE) / (1.0 - WALK_ALONE)) {
            Step::Again => {}
            Step::Wait => std::thread::sleep(LOOK / 20),
            Step::Done => return,
        }
    }
}

impl Walking {
    fn new(all_errors: bool) -> Self {
        Self {
            progress: Mutex::new(Some(TreeProgress::new(all_errors, false))),
            read: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            mounts_not_entered: AtomicU64::new(0),
            is_incomplete: AtomicBool::new(false),
        }
    }

    fn walk(&self, mut usage: Usage, root: Dir, options: megadir::WalkOptions) -> Walked {
        let flow = read(&mut usage, root, options, &mut |event| self.see(&event))?;
        Ok((flow, usage.finish()))
    }

    fn see(&self, event: &TreeEvent<'_>) -> ControlFlow<()> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(progress) = &mut *progress else { return ControlFlow::Break(()) };
        match event {
            TreeEvent::Read(read) => self.read.store(*read, Ordering::Relaxed),
            TreeEvent::Failed(_) => {
                self.unread.fetch_add(1, Ordering::Relaxed);
                self.is_incomplete.store(true, Ordering::Relaxed);
            }
            TreeEvent::OtherMount(_) => {
                self.mounts_not_entered.fetch_add(1, Ordering::Relaxed);
            }
            TreeEvent::Unexamined { .. } => self.is_incomplete.store(true, Ordering::Relaxed),
            TreeEvent::Written(_) => {}
        }
        progress.report(event);
        ControlFlow::Continue(())
    }

    fn finish(&self) {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner).take();
        progress.into_iter().for_each(TreeProgress::finish);
    }

    /// `None` when the time is over. A walk that ended without a result has panicked.
    fn wait(
        &self,
        walked: &Receiver<Walked>,
        deadline: Instant,
        interrupt: &Interrupt,
    ) -> Result<Option<Walked>, CliError> {
        loop {
            interrupt.beats();
            if interrupt.is_requested() {
                return Err(interrupted());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match walked.recv_timeout(left.min(LOOK)) {
                Ok(walked) => return Ok(Some(walked)),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(CliError::nothing_ran(
                        "--time: the thread that reads the tree has failed".to_owned(),
                    ));
                }
            }
        }
    }
}
