//! Passes targets to the library one by one; collects and prints the results.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use megadir::remove::target::{Guards, Target};
use megadir::remove::{self, Counts, RemoveOptions, remove_contents, remove_tree};
use megadir::{Conditions, Error, policy};
use megadir_bench::control::marked;

use super::args::{Args, Rate};
use super::aside;
use super::log::Log;
use super::source::{BadPath, Source};
use super::summary::Summary;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::{Interrupt, REMOVING};
use crate::cmd::mass_change::Failure;
use crate::cmd::progress::watched;
use crate::cmd::progress::{Progress, estimate};
use crate::exit::{CliError, describe};

struct Results {
    summary: Mutex<Summary>,
    shown: Progress,
    complaints: Mutex<ErrorLimiter>,
    log: Log,
}

impl Results {
    fn fail(&self, failure: Failure, message: &str) {
        lock(&self.complaints).print(failure.reason(), 1, || message.to_owned());
        lock(&self.summary).failed(failure);
    }

    fn begin(&self, args: &Args, target: &Target) {
        let is_all = !args.has_conditions() && args.files0_from.is_none() && args.paths.len() == 1;
        if self.shown.is_drawn() && is_all && target.is_directory {
            let directory = target.parent.open_below(&target.name).ok();
            self.shown.counter().expect(directory.and_then(|directory| estimate(&directory)), true);
        }
    }

    fn draw(&self, counts: &Counts) {
        self.shown.counter().set(counts.entries + counts.directories);
        if counts.directories > 0 {
            self.shown.counter().expect(None, false);
        }
    }

    fn failed(&self, error: &Error) {
        self.log.failed(error);
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
        shown: Progress::new("entries removed"),
        complaints: Mutex::new(ErrorLimiter::new(args.change.all_errors)),
        log: Log::open(args)?,
    };
    let progress = remove::Progress::new();
    let mut last = progress.counts();
    let look = || {
        if interrupt.asked() {
            progress.cancel();
        }
        let counts = progress.counts();
        if counts != last {
            interrupt.beats();
            last = counts;
        }
        results.draw(&counts);
    };
    let work = || each(args, &mut source, here, conditions, &results, &progress);
    let done = marked(&interrupt.beat, REMOVING, || watched(look, work)).flatten();
    drop(results.shown);
    lock(&results.complaints).print_rest();
    let mut summary = results.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.finish(progress.counts(), started.elapsed(), interrupt.asked());
    let logged = results.log.finish();
    // Print the summary even if reading the list or writing the log failed, but no sums of what was not read.
    if !matches!(logged, Ok(false)) {
        summary.print()?;
    }
    done.and(logged).map(|_| summary.code())
}

fn each(
    args: &Args,
    source: &mut Source<'_>,
    here: &Guards,
    conditions: &Conditions,
    results: &Results,
    progress: &remove::Progress,
) -> Result<(), CliError> {
    let announce = |path: &Path, kind| results.log.goes(path, kind);
    let on_failure = |error| results.failed(&error);
    let options = RemoveOptions {
        cross_mounts: args.cross_mounts,
        conditions: Some(conditions),
        keep_newest: args.keep_newest,
        back_off: args.rate == Some(Rate::Auto) && !args.dry_run,
        on_removal: if results.log.is_none() { None } else { Some(&announce) },
        dry_run: args.dry_run,
        entries_per_second_max: args.rate.and_then(|rate| match rate {
            Rate::Fixed(rate) => Some(rate),
            Rate::Auto => None,
        }),
        ..RemoveOptions::new(args.threads.unwrap_or_else(policy::processors), &on_failure)
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
        results.begin(args, &target);
        if let Err(error) = one(args, &target, &options, progress) {
            results.failed(&error);
        }
    }
    Ok(())
}

fn one(
    args: &Args,
    target: &Target,
    options: &RemoveOptions<'_>,
    progress: &remove::Progress,
) -> Result<(), Error> {
    if args.puts_aside() && args.dry_run {
        return aside::would_remove(args, target, options, progress);
    }
    if args.puts_aside() {
        return aside::remove(args, target, options, progress);
    }
    if !args.contents {
        return remove_tree(&target.parent, &target.name, options, progress).map(drop);
    }
    let directory = target.open()?;
    remove_contents(&directory, options, progress)?;
    if let Some(advice) = aside::advise_renew(&directory).filter(|_| !args.change.quiet) {
        eprintln!("megadir: {advice}");
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
