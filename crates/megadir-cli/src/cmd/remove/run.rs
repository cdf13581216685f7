//! One target after the other is handed to the library; what it tells is shown, gathered and summed up.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use megadir::remove::{Conditions, Progress, RemoveOptions, remove_contents, remove_tree};
use megadir::{Error, Time};

use super::advice;
use super::args::Args;
use super::aside;
use super::guards::Here;
use super::progress::Shown;
use super::question::Chosen;
use super::source::{Astray, Source};
use super::summary::{Failure, Summary};
use super::system;
use super::target::Target;
use crate::cmd::complaints::Complaints;
use crate::cmd::interrupt::{Interrupt, REMOVING};
use crate::cmd::list::source::processors;
use crate::cmd::list::times::now_s;
use crate::exit::{CliError, describe};

/// How often the progress is drawn and an interrupt is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is gathered while targets are removed.
struct Gathered {
    summary: Mutex<Summary>,
    shown: Shown,
    complaints: Mutex<Complaints>,
}

impl Gathered {
    /// Tells a failure at once and keeps it for the summary.
    fn fail(&self, failure: Failure, message: &str) {
        if lock(&self.complaints).take(failure.reason(), 1) {
            self.shown.say(&format!("megadir: {message}"));
        }
        lock(&self.summary).failed(failure);
    }

    fn failed(&self, error: &Error) {
        self.fail(Failure::of(error), &describe(error));
    }
}

/// Removes all targets; returns the exit code.
pub(super) fn run(
    args: &Args,
    mut source: Source<'_>,
    here: &Here,
    chosen: &Chosen,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    let started = Instant::now();
    let gathered = Gathered {
        summary: Mutex::new(Summary::new(args)),
        shown: Shown::new(args),
        complaints: Mutex::new(Complaints::new(args.all_errors)),
    };
    let progress = Progress::new();
    interrupt.beat.fetch_or(REMOVING, Ordering::Relaxed);
    let ended = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        let watcher = std::thread::Builder::new().name("megadir-progress".to_owned());
        let watcher = watcher.spawn_scoped(scope, || watch(&gathered, &progress, interrupt, &ended));
        let watcher = watcher.map_err(|error| CliError::nothing_ran(format!("start a thread: {error}")))?;
        // Also when the work panics: the scope waits for the watcher.
        let _ends = Ends { ended: &ended, watcher: watcher.thread() };
        each(args, &mut source, here, chosen, &gathered, &progress)
    });
    interrupt.beat.fetch_and(!REMOVING, Ordering::Relaxed);
    gathered.shown.clear();
    lock(&gathered.complaints).tell_rest();
    let mut summary = gathered.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.finish(progress.counts(), started.elapsed(), interrupt.asked());
    // What was removed before a list broke off is told all the same.
    summary.tell()?;
    done.map(|()| summary.code())
}

/// Tells the watcher that the work has ended.
struct Ends<'a> {
    ended: &'a AtomicBool,
    watcher: &'a Thread,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}

/// Shows the progress and passes an interrupt on until the work has ended.
fn watch(gathered: &Gathered, progress: &Progress, interrupt: &Interrupt, ended: &AtomicBool) {
    let mut last = progress.counts();
    while !ended.load(Ordering::Acquire) {
        std::thread::park_timeout(LOOK_EVERY);
        if interrupt.asked() {
            progress.cancel();
        }
        let counts = progress.counts();
        if counts != last {
            interrupt.beat.fetch_add(1, Ordering::Relaxed);
            last = counts;
        }
        gathered.shown.draw(&counts);
    }
}

/// Hands one target after the other to the library.
fn each(
    args: &Args,
    source: &mut Source<'_>,
    here: &Here,
    chosen: &Chosen,
    gathered: &Gathered,
    progress: &Progress,
) -> Result<(), CliError> {
    let accepts = |name: &[u8]| chosen.accepts_name(name);
    let options = RemoveOptions {
        workers: args.threads.unwrap_or_else(processors),
        cross_mounts: args.cross_mounts,
        conditions: Conditions {
            older_than: args.older_than.map(ago),
            name: if args.glob.is_some() { Some(&accepts) } else { None },
            types: &args.types,
        },
        dry_run: args.dry_run,
        keep: None,
        entries_per_second_max: args
            .rate
            .and_then(|rate| NonZeroU32::new(u32::try_from(rate).unwrap_or(u32::MAX))),
        order: None,
        own_tables: cfg!(target_os = "linux"),
        on_failure: &|error| gathered.failed(&error),
    };
    while !progress.is_cancelled() {
        let target = match source.next(args, here)? {
            None => break,
            Some(Ok(target)) => target,
            Some(Err(Astray { error, failure })) => {
                gathered.fail(failure, &error.message);
                lock(&gathered.summary).worst(error.code);
                continue;
            }
        };
        lock(&gathered.summary).attempted += 1;
        gathered.shown.begin(&target);
        if let Err(error) = one(args, &target, &options, gathered, progress) {
            gathered.failed(&error);
        }
    }
    Ok(())
}

fn one(
    args: &Args,
    target: &Target,
    options: &RemoveOptions<'_>,
    gathered: &Gathered,
    progress: &Progress,
) -> Result<(), Error> {
    if args.puts_aside() && args.dry_run {
        return aside::would_remove(args, target, options, progress);
    }
    if args.puts_aside() {
        let say = |line: &str| gathered.shown.say(line);
        return aside::remove(args, target, options, progress, &say);
    }
    if !args.contents {
        return remove_tree(&target.parent, &target.name, options, progress).map(drop);
    }
    let directory = target.parent.open_below(&target.name)?;
    // The directory that was looked at, not one that took its name since.
    if system::identity(&directory)? != target.identity {
        let reason = "another directory took its name meanwhile";
        return Err(Error::new("remove", &target.path, megadir::ErrorKind::NotFound, reason));
    }
    remove_contents(&directory, options, progress)?;
    if let Some(advice) = advice::renew(&directory).filter(|_| !args.quiet) {
        gathered.shown.say(&format!("megadir: {advice}"));
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time so many seconds ago.
fn ago(age_s: u64) -> Time {
    Time { seconds: now_s().saturating_sub(i64::try_from(age_s).unwrap_or(i64::MAX)), nanoseconds: 0 }
}
