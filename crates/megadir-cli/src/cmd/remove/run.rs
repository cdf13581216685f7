//! Passes targets to the library one by one; collects and prints the results.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use megadir::remove::{Progress, RemoveOptions, remove_contents, remove_tree};
use megadir::{Conditions, Error};

use super::args::Args;
use super::aside;
use super::guards::Guards;
use super::progress::Display;
use super::source::{BadPath, Source};
use super::summary::{Failure, Summary};
use super::system;
use super::target::Target;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::{Interrupt, REMOVING};
use crate::cmd::list::source::processors;
use crate::exit::{CliError, describe};
use crate::ui::message::reason;

const LOOK_EVERY: Duration = Duration::from_millis(50);

struct Results {
    summary: Mutex<Summary>,
    shown: Display,
    complaints: Mutex<ErrorLimiter>,
}

impl Results {
    /// At once, and keeps it for the summary.
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

pub(super) fn run(
    args: &Args,
    mut source: Source<'_>,
    here: &Guards,
    conditions: &Conditions,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    let started = Instant::now();
    let results = Results {
        summary: Mutex::new(Summary::new(args)),
        shown: Display::new(args),
        complaints: Mutex::new(ErrorLimiter::new(args.all_errors)),
    };
    let progress = Progress::new();
    interrupt.beat.fetch_or(REMOVING, Ordering::Relaxed);
    let ended = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        let watcher = std::thread::Builder::new().name("megadir-progress".to_owned());
        let watcher = watcher.spawn_scoped(scope, || watch(&results, &progress, interrupt, &ended));
        let watcher =
            watcher.map_err(|error| CliError::nothing_ran(format!("start a thread: {}", reason(&error))))?;
        // Even after a panic, because the scope waits for the watcher.
        let _ends = Ends { ended: &ended, watcher: watcher.thread() };
        each(args, &mut source, here, conditions, &results, &progress)
    });
    interrupt.beat.fetch_and(!REMOVING, Ordering::Relaxed);
    results.shown.clear();
    lock(&results.complaints).print_rest();
    let mut summary = results.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.finish(progress.counts(), started.elapsed(), interrupt.asked());
    // Print the summary even if reading the list failed.
    summary.print()?;
    done.map(|()| summary.code())
}

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

/// Forwards an interrupt until the work ends.
fn watch(results: &Results, progress: &Progress, interrupt: &Interrupt, ended: &AtomicBool) {
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
        results.shown.draw(&counts);
    }
}

fn each(
    args: &Args,
    source: &mut Source<'_>,
    here: &Guards,
    conditions: &Conditions,
    results: &Results,
    progress: &Progress,
) -> Result<(), CliError> {
    let options = RemoveOptions {
        workers: args.threads.unwrap_or_else(processors),
        cross_mounts: args.cross_mounts,
        conditions: Some(conditions),
        name: None,
        dry_run: args.dry_run,
        keep: None,
        entries_per_second_max: args
            .rate
            .and_then(|rate| NonZeroU32::new(u32::try_from(rate).unwrap_or(u32::MAX))),
        order: None,
        own_tables: cfg!(target_os = "linux"),
        on_failure: &|error| results.failed(&error),
    };
    while !progress.is_cancelled() {
        let target = match source.next(args, here)? {
            None => break,
            Some(Ok(target)) => target,
            Some(Err(BadPath { error, failure })) => {
                results.fail(failure, &error.message);
                lock(&results.summary).worst(error.code);
                continue;
            }
        };
        lock(&results.summary).attempted += 1;
        results.shown.begin(&target);
        if let Err(error) = one(args, &target, &options, results, progress) {
            results.failed(&error);
        }
    }
    Ok(())
}

fn one(
    args: &Args,
    target: &Target,
    options: &RemoveOptions<'_>,
    results: &Results,
    progress: &Progress,
) -> Result<(), Error> {
    if args.puts_aside() && args.dry_run {
        return aside::would_remove(args, target, options, progress);
    }
    if args.puts_aside() {
        let say = |line: &str| results.shown.say(line);
        return aside::remove(args, target, options, progress, &say);
    }
    if !args.contents {
        return remove_tree(&target.parent, &target.name, options, progress).map(drop);
    }
    let directory = target.parent.open_below(&target.name)?;
    // Refuse another directory that has since taken the name.
    if system::identity(&directory)? != target.identity {
        let reason = "another directory has taken its name";
        return Err(Error::new("remove", &target.path, megadir::ErrorKind::NotFound, reason));
    }
    remove_contents(&directory, options, progress)?;
    if let Some(advice) = aside::advise_renew(&directory).filter(|_| !args.quiet) {
        results.shown.say(&format!("megadir: {advice}"));
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
