//! Jobs over the ranks of an MPI launcher. Rank 0 hands out tasks by the schedule and keeps the journal; every rank runs
//! them, one at a time, rank 0 in a thread of its own.
//! ```text
//! rank 0                               all ranks
//! prepare; Job or exit code  ------->  check the trees; agree; prove a shared directory
//! Order::Run(task)           ------->  run
//! schedule, journal          <-------  Reply { outcome, or the task's error }
//! Order::End(exit code)      ------->  leave
//! ```
//! A rank that waits sleeps. After an interrupt, or if a rank dies, the launcher ends all ranks. A rank that hangs is named, and its task is
//! given to an idle one too; once nothing else is left, rank 0 ends the job without it.

mod rank;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use megadir_bench::control::marked;
use megadir_bench::{SharedDirectory, prove_shared};
use megadir_inventory::Inventory;
use megadir_mpi::{Pause, World};
use megadir_tasks::{
    Budget, Bytes, JOURNAL, Job, Journal, Kind, Outcome, Progress, Request, Schedule, Task, check_folder,
    check_roots,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use self::rank::{Rank, slowest};
use super::engine::{self, FIRST_WORD, failed};
use super::interrupt::{Interrupt, REMOVING, interruptible};
use crate::exit::{self, CliError, describe};
use crate::ui::message::{counted, quoted, quoted_bytes};

const BUDGET: Budget = Budget { seconds: 2.0, entries: 1_000_000 };
const REPORT_EVERY: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_secs(1);
const MESSAGES_MAX: usize = 10;
/// Ranks that were interrupted leave rank 0 this time to remove temporary parts.
const REMOVING_MAX: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(in crate::cmd) struct Work<'w> {
    pub(in crate::cmd) request: Request,
    pub(in crate::cmd) parts: Parts<'w>,
    pub(in crate::cmd) idle: bool,
    pub(in crate::cmd) quiet: bool,
}

pub(in crate::cmd) fn request(kind: Kind, paths: Vec<PathBuf>) -> Request {
    Request { kind, paths, folder: None, budget: BUDGET, depth: 0, contents: false, fresh: false }
}

/// Folder of the parts of a scan.
#[derive(Clone, Copy)]
pub(in crate::cmd) enum Parts<'w> {
    /// A new folder, or no scan.
    New,
    Continued,
    /// Parts that only rank 0 reads, in a private directory in `beside`.
    Temporary {
        beside: &'w Path,
        trees: &'w (dyn Fn() -> Result<Vec<PathBuf>, CliError> + Sync),
    },
}

impl Parts<'_> {
    fn are_temporary(self) -> bool {
        matches!(self, Self::Temporary { .. })
    }
}

/// `concluded` runs on rank 0 only; all ranks return its exit code.
///
/// `begin` returns a state on rank 0 only; the other ranks serve until rank 0 ends the job, and all leave with one
/// exit code. An error of rank 0 is printed at once, since a launcher may kill it with the others. Temporary parts
/// are removed before the last message. A rank that hangs would never receive that message, so the job is
/// then aborted as after an interrupt.
pub(in crate::cmd) fn run(
    work: &Work<'_>,
    concluded: impl FnOnce(&Schedule, Duration, &Interrupt) -> Result<u8, CliError> + Send,
) -> Result<u8, CliError> {
    interruptible(|interrupt| {
        let world = engine::join()?;
        let begun = match begin(&world, work, &interrupt.beat) {
            Ok(begun) => begun,
            Err(error) => return world.finish().map_err(failed).and(Err(error)),
        };
        let Some(mut begun) = begun else {
            return serve(world, interrupt, work.parts.are_temporary());
        };
        let started = Instant::now();
        let done = drive(&world, work, interrupt, &mut begun).and_then(|()| {
            // The reader of temporary parts reports the errors in them.
            if !work.parts.are_temporary() {
                print_failures(&begun.schedule);
            }
            concluded(&begun.schedule, started.elapsed(), interrupt)
        });
        let mut code = done.unwrap_or_else(|error| {
            // A launcher may end this rank with the others.
            eprintln!("megadir: {error}");
            error.code
        });
        if let Err(error) = removed(begun.own, &interrupt.beat) {
            eprintln!("megadir: {error}");
            code = if code == exit::DONE { exit::SOME_FAILED } else { code };
        }
        if begun.hangs {
            eprintln!("megadir: the job ends without the ranks that hang");
            std::thread::sleep(FIRST_WORD);
        }
        if begun.hangs || code == exit::INTERRUPTED {
            world.abort(code);
        }
        let end = message(&Order::End(code))?;
        (1..world.size())
            .try_for_each(|rank| world.send(rank, &end, || interrupt.beats()))
            .map_err(failed)?;
        world.finish().map_err(failed)?;
        Ok(code)
    })
}

fn removed(own: Option<SharedDirectory>, beat: &AtomicU64) -> Result<(), CliError> {
    let removed = marked(beat, REMOVING, || own.map_or(Ok(()), |own| own.remove(beat)));
    removed.map_err(|error| {
        CliError::nothing_ran(format!("cannot remove the parts: {error}; `megadir bench clean` removes them"))
    })
}

fn print_failures(schedule: &Schedule) {
    let messages = schedule.messages();
    let messages = &messages[..messages.len().min(MESSAGES_MAX)];
    messages.iter().for_each(|message| eprintln!("megadir: {message}"));
    let more = schedule.progress().failures.saturating_sub(messages.len() as u64);
    if more > 0 {
        eprintln!("megadir: and {} more", counted(more, "failure", "failures"));
    }
}

struct Begun {
    schedule: Schedule,
    journal: Option<Journal>,
    /// Has the temporary parts.
    own: Option<SharedDirectory>,
    /// A rank does not answer: no call that waits for it would return.
    hangs: bool,
}

/// `None` on other ranks than 0. All ranks have the same exit code, and nothing is written if it is an error.
fn begin(world: &World, work: &Work<'_>, beat: &AtomicU64) -> Result<Option<Begun>, CliError> {
    let Work { request, parts, .. } = work;
    let is_idle = if work.idle { megadir::io_priority::make_idle() } else { Ok(()) };
    world.agree(is_idle.map_err(|error| describe(&error))).map_err(failed)?;
    let folder = request.folder.as_deref();
    let mut job: Job = of_first(world, || {
        let mut request = request.clone();
        match (parts, folder) {
            (Parts::Temporary { trees, .. }, _) => request.paths = trees()?,
            (_, Some(folder)) => check_output(folder, matches!(parts, Parts::Continued))?,
            _ => {}
        }
        if let (Kind::Usage, Some(path)) =
            (request.kind, request.paths.iter().find(|path| Inventory::is_at(path)))
        {
            let path = quoted(path);
            return Err(CliError::usage(format!("{path} is an inventory: --engine mpi reads trees")));
        }
        Ok(megadir_tasks::prepare(&request)?)
    })?;
    world.agree(check_roots(&job).map_err(|error| describe(&error))).map_err(failed)?;
    let own = match parts {
        Parts::Temporary { beside, .. } => {
            let own = SharedDirectory::create(world, beside, beat);
            Some(own.map_err(|error| failed(format!("{error}, with the inventory in it")))?)
        }
        _ => {
            share(world, request, beat)?;
            None
        }
    };
    let mut begun = None;
    let opened = of_first(world, || {
        let (schedule, journal) = match (&own, parts, folder) {
            (Some(own), Parts::Temporary { beside, .. }, _) => {
                remove_leftovers(beside, work.quiet, beat);
                let cannot = |error| megadir::Error::io("write", beside, error);
                let folder = own.folder().map_err(cannot)?;
                job.folder =
                    folder.map(|folder| megadir_inventory::root_path(&folder)).transpose()?.map(Bytes);
                (Schedule::new(job), None)
            }
            (_, _, Some(folder)) => {
                let (journal, schedule) = Journal::open(&folder.join(JOURNAL), job)?;
                (schedule, Some(journal))
            }
            _ => (Schedule::new(job), None),
        };
        begun = Some((schedule, journal));
        Ok(())
    });
    if let Err(error) = opened {
        if let Err(of_removal) = removed(own, beat) {
            eprintln!("megadir: {of_removal}");
        }
        return Err(error);
    }
    Ok(begun.map(|(schedule, journal)| Begun { schedule, journal, own, hangs: false }))
}

/// Proves that all ranks see the directories in which they write.
fn share(world: &World, request: &Request, beat: &AtomicU64) -> Result<(), CliError> {
    let folder = request.folder.as_deref();
    let created = of_first(world, || match folder.filter(|folder| !folder.exists()) {
        Some(folder) => std::fs::create_dir(folder)
            .map(|()| true)
            .map_err(|error| megadir::Error::io("create", folder, error).into()),
        None => Ok(false),
    })?;
    let shared: Vec<&Path> = match request.kind {
        Kind::Remove => request.paths.iter().map(AsRef::as_ref).collect(),
        Kind::Scan | Kind::Usage => folder.into_iter().collect(),
    };
    let proved = shared.iter().try_for_each(|path| prove_shared(world, path, beat).map(drop));
    if let (Err(_), true, 0, Some(folder)) = (&proved, created, world.rank(), folder) {
        let _ = std::fs::remove_dir(folder);
    }
    proved.map_err(failed)
}

fn remove_leftovers(parent: &Path, quiet: bool, beat: &AtomicU64) {
    match megadir_bench::clean(parent, beat) {
        Ok(found) if !quiet => {
            for name in &found.removed {
                eprintln!("megadir: removed {}, left by a killed run", quoted(&parent.join(name)));
            }
        }
        _ => {}
    }
}

fn check_output(folder: &Path, resume: bool) -> Result<(), CliError> {
    let shown = quoted(folder);
    match (folder.join(JOURNAL).exists(), resume) {
        (false, true) => Err(CliError::nothing_ran(format!(
            "--resume: {shown} has no journal of a scan; omit --resume to begin one"
        ))),
        (true, false) => Err(CliError::nothing_ran(format!(
            "{shown} has the journal of a scan: continue it with --resume, or name an empty folder"
        ))),
        (false, false) if folder.exists() => Ok(check_folder(folder)?),
        _ => Ok(()),
    }
}

/// Rank 0's result at all ranks. The others get an error without words, which they do not print.
fn of_first<T: Serialize + DeserializeOwned>(
    world: &World,
    own: impl FnOnce() -> Result<T, CliError>,
) -> Result<T, CliError> {
    let own = (world.rank() == 0).then(own);
    let status = own.as_ref().map(|own| own.as_ref().map_err(|error| error.code));
    let status = world.send_to_all(&message(&status)?).map_err(failed)?;
    match own {
        Some(own) => own,
        None => match parsed::<Option<Result<T, u8>>>(&status)? {
            Some(Ok(value)) => Ok(value),
            Some(Err(code)) => Err(CliError { message: String::new(), code }),
            None => Err(failed("rank 0 said nothing")),
        },
    }
}

#[derive(Serialize, Deserialize)]
enum Order {
    Run(Box<Task>),
    End(u8),
}

#[derive(Serialize, Deserialize)]
struct Reply {
    number: u64,
    outcome: Result<Outcome, String>,
}

fn message<T: Serialize>(value: &T) -> Result<Vec<u8>, CliError> {
    serde_json::to_vec(value).map_err(failed)
}

fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T, CliError> {
    serde_json::from_slice(text).map_err(failed)
}

fn reply(task: &Task, stop: &AtomicBool) -> Reply {
    let outcome = megadir_tasks::run(task, stop).map_err(|error| error.to_string());
    Reply { number: task.number, outcome }
}

/// Runs tasks until rank 0 ends the job; returns the exit code.
///
/// Receives without blocking and sleeps longer each time, up to a limit, because a receiving call of MPI that waits
/// may keep a processor busy. After an interrupt, a rank of a job with temporary parts gives rank 0 time to remove
/// them before it aborts all ranks, and still receives meanwhile, because rank 0 may be waiting for a message to be
/// taken. A reply is not sent any more then.
fn serve(world: World, interrupt: &Interrupt, is_temporary: bool) -> Result<u8, CliError> {
    let mut pause = Pause::default();
    loop {
        interrupt.beats();
        if interrupt.is_requested() {
            let since = Instant::now();
            while is_temporary && since.elapsed() < REMOVING_MAX {
                interrupt.beats();
                // Rank 0 may wait until its order is received.
                let _ = world.receive();
                std::thread::sleep(LOOK_EVERY);
            }
            world.abort(exit::INTERRUPTED);
        }
        let Some((_, text)) = world.receive().map_err(failed)? else {
            std::thread::sleep(pause.longer());
            continue;
        };
        match parsed(&text)? {
            Order::Run(task) => {
                let reply = reply(&task, &interrupt.stop);
                // Rank 0 may no longer receive.
                if interrupt.is_requested() {
                    continue;
                }
                world.send(0, &message(&reply)?, || interrupt.beats()).map_err(failed)?;
            }
            Order::End(code) => {
                world.finish().map_err(failed)?;
                return Ok(code);
            }
        }
        pause = Pause::default();
    }
}

/// Rank 0.
///
/// Hands out tasks and takes the replies. `idle` is a stack of the ranks without a task, `ranks` has the state of
/// all, with rank 0 first, and `longest` is the time of the longest task so far, by which a rank that hangs is
/// distinguished from one with a large directory.
///
/// ```text
/// start: idle rank <- next task, or one of a rank that hangs     wait: replies -> schedule, journal     is_over: none works
/// ```
struct Driver<'l> {
    world: &'l World,
    work: &'l Work<'l>,
    interrupt: &'l Interrupt,
    begun: &'l mut Begun,
    /// To the thread that runs rank 0's tasks, which ends with this.
    tasks: Sender<Box<Task>>,
    replies: Receiver<Reply>,
    idle: Vec<u32>,
    ranks: Vec<Rank>,
    /// Numbers of the tasks that a second rank got.
    twice: BTreeSet<u64>,
    longest: Duration,
}

fn drive(world: &World, work: &Work<'_>, interrupt: &Interrupt, begun: &mut Begun) -> Result<(), CliError> {
    let (tasks, own_tasks) = channel::<Box<Task>>();
    let (own_replies, replies) = channel();
    let (idle, ranks) =
        ((0..world.size()).rev().collect(), (0..world.size()).map(|_| Rank::idle()).collect());
    let stop = Arc::clone(&interrupt.stop);
    let worker = std::thread::Builder::new().name("megadir-task".to_owned());
    let worker = worker.spawn(move || {
        for task in own_tasks {
            // At the end, none waits for it.
            let _ = own_replies.send(reply(&task, &stop));
        }
    });
    let worker = worker.map_err(failed)?;
    let (twice, longest) = (BTreeSet::new(), Duration::ZERO);
    let mut driver = Driver { world, work, interrupt, begun, tasks, replies, idle, ranks, twice, longest };
    let done = driver.hand_out();
    let Driver { tasks, ranks, begun, .. } = driver;
    drop(tasks);
    if !(begun.hangs && ranks[0].hangs(Instant::now(), BUDGET)) {
        worker.join().map_err(|_| failed("the thread of rank 0's tasks panicked"))?;
    }
    done?;
    if let Some(text) = slowest(world.hosts(), &ranks).filter(|_| !work.quiet) {
        eprintln!("megadir: {text}");
    }
    Ok(())
}

impl Driver<'_> {
    /// After an error, waits for the ranks that still work, unless they hang.
    ///
    /// One round: give tasks to idle ranks, wait, take all replies that have arrived, then sync the journal once for
    /// all of them. After the first error no new task begins, but replies are still taken, so the journal has all
    /// finished work and a resumed scan does not repeat it. Where no terminal draws a progress, a line is printed
    /// every `REPORT_EVERY`.
    fn hand_out(&mut self) -> Result<(), CliError> {
        let label = match self.work.request.kind {
            Kind::Scan | Kind::Usage => "entries read",
            Kind::Remove => "entries removed",
        };
        // Rank 0 prints lines of its own where there is no terminal.
        let shown = super::progress::Progress::new(label, true);
        let (before, started) = (self.begun.schedule.progress().entries, Instant::now());
        let (mut error, mut reported) = (None, started);
        loop {
            if error.is_none() {
                error = self.start().err();
            }
            if self.is_over(error.is_some()) {
                return error.map_or(Ok(()), Err);
            }
            let mut next = self.wait()?;
            if next.is_some() {
                while let Some((rank, reply)) = next {
                    if let Err(why) = self.take(rank, reply) {
                        error.get_or_insert(why);
                    }
                    next = self.arrived(Duration::ZERO)?;
                }
                let synced = self.begun.journal.as_mut().map_or(Ok(()), Journal::sync);
                error = error.or(synced.err().map(CliError::from));
            }
            self.name_those_that_hang();
            let progress = self.begun.schedule.progress();
            shown.counter().set(progress.entries);
            if !shown.is_drawn() && !self.work.quiet && reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                eprintln!("megadir: {}", so_far(&progress, progress.entries - before, started.elapsed()));
            }
        }
    }

    /// All ranks are idle, or all the others hang.
    fn is_over(&mut self, has_failed: bool) -> bool {
        let now = Instant::now();
        let mut busy = self.ranks.iter().filter(|rank| rank.task.is_some()).peekable();
        if busy.peek().is_none() {
            return true;
        }
        let is_left = !has_failed && !self.begun.schedule.is_done();
        self.begun.hangs = !is_left && busy.all(|rank| rank.is_given_up(now, BUDGET, self.longest));
        self.begun.hangs
    }

    fn name_those_that_hang(&mut self) {
        let now = Instant::now();
        for (number, rank) in self.ranks.iter_mut().enumerate() {
            let Some((_, place)) = rank.task.as_ref().filter(|_| !rank.is_named && rank.hangs(now, BUDGET))
            else {
                continue;
            };
            let seconds = now.duration_since(rank.since).as_secs();
            eprintln!(
                "megadir: rank {number} on '{}' has worked for {seconds} s on a task of {} s, first on {place}: it hangs, or this takes long; \
                 an idle rank gets the task too",
                self.world.hosts()[number],
                BUDGET.seconds,
            );
            rank.is_named = true;
        }
    }

    fn start(&mut self) -> Result<(), CliError> {
        while let Some(&rank) = self.idle.last() {
            let (task, line) = match self.begun.schedule.next(self.ranks.len()) {
                Some(assigned) => (assigned.task, assigned.line),
                None => match self.one_that_hangs() {
                    Some(task) => (task, None),
                    None => break,
                },
            };
            if let (Some(journal), Some(line)) = (&mut self.begun.journal, &line) {
                journal.write(line)?;
            }
            let begins = (task.number, place(&task));
            let task = Box::new(task);
            match rank {
                0 => self.tasks.send(task).map_err(failed)?,
                _ => self
                    .world
                    .send(rank, &message(&Order::Run(task))?, || self.interrupt.beats())
                    .map_err(failed)?,
            }
            self.idle.pop();
            let of = &mut self.ranks[rank as usize];
            (of.task, of.since, of.is_named) = (Some(begins), Instant::now(), false);
        }
        Ok(())
    }

    /// Task of a rank that hangs, once.
    fn one_that_hangs(&mut self) -> Option<Task> {
        let now = Instant::now();
        let hanging = self.ranks.iter().filter(|rank| rank.hangs(now, BUDGET));
        let numbers: Vec<u64> = hanging.filter_map(|rank| Some(rank.task.as_ref()?.0)).collect();
        let number = numbers.into_iter().find(|number| !self.twice.contains(number))?;
        self.twice.insert(number);
        self.begun.schedule.again(number)
    }

    fn take(&mut self, rank: u32, Reply { number, outcome }: Reply) -> Result<(), CliError> {
        self.idle.push(rank);
        let of = &mut self.ranks[rank as usize];
        of.task = None;
        self.longest = self.longest.max(of.since.elapsed());
        of.seconds += of.since.elapsed().as_secs_f64();
        match outcome {
            Ok(outcome) => {
                of.entries += outcome.entries;
                let line = self.begun.schedule.finished(number, outcome);
                if let (Some(journal), Some(line)) = (&mut self.begun.journal, line) {
                    journal.write(&line)?;
                }
                Ok(())
            }
            Err(_) if self.begun.schedule.failed(number) => Ok(()),
            Err(reason) => {
                let host = &self.world.hosts()[rank as usize];
                Err(CliError::nothing_ran(format!("rank {rank} on '{host}': {reason}")))
            }
        }
    }

    /// `None` if nothing arrived for a while.
    fn wait(&self) -> Result<Option<(u32, Reply)>, CliError> {
        let (mut pause, begun) = (Pause::default(), Instant::now());
        while begun.elapsed() < TICK {
            self.interrupt.beats();
            if self.interrupt.is_requested() {
                let more = match self.work.request.kind {
                    Kind::Scan if self.work.parts.are_temporary() => "nothing was compared",
                    Kind::Scan => "run the same command with --resume to continue",
                    Kind::Usage => "the tree was not read completely",
                    Kind::Remove => "run the same command to continue",
                };
                return Err(CliError::interrupted(format!("interrupted; {more}")));
            }
            if let Some(arrived) = self.arrived(pause.longer())? {
                return Ok(Some(arrived));
            }
        }
        Ok(None)
    }

    fn arrived(&self, wait: Duration) -> Result<Option<(u32, Reply)>, CliError> {
        match self.replies.recv_timeout(wait) {
            Ok(reply) => return Ok(Some((0, reply))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed("the thread of rank 0's tasks has ended"));
            }
        }
        let received = self.world.receive().map_err(failed)?;
        received.map(|(rank, text)| Ok((rank, parsed(&text)?))).transpose()
    }
}

/// First directory of a task, for messages.
fn place(task: &Task) -> String {
    let Some(first) = task.items.first() else { return "nothing".to_owned() };
    let root = task.job.roots.get(first.root as usize).map_or(&b""[..], |root| &root.path.0);
    match first.path.0.as_slice() {
        b"" => quoted_bytes(root),
        below => quoted_bytes(&[root, b"/", below].concat()),
    }
}

fn so_far(progress: &Progress, entries: u64, elapsed: Duration) -> String {
    format!(
        "{} so far, {:.0} per second; {} running, {} waiting",
        counted(progress.entries, "entry", "entries"),
        entries as f64 / elapsed.as_secs_f64(),
        counted(progress.running, "task", "tasks"),
        counted(progress.waiting, "directory", "directories")
    )
}
