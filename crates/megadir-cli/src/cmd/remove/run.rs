//! Passes targets to the library one by one; collects and prints the results.
//!
//! ```text
//! next_target ─► remove_target ─┬─► put_aside         --detach, --renew
//!                               ├─► remove_tree       the entry with all below it
//!                               └─► remove_contents   --contents
//! each failure ─► log, message (limited per reason), summary
//! ```

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use megadir::remove::target::Target;
use megadir::remove::{
    self, Counts, RemovalObserver, RemoveOptions, StayObserver, remove_contents, remove_tree,
};
use megadir::{Conditions, Error, ErrorKind};
use megadir_bench::control::marked;

use super::args::{Args, Rate};
use super::log::{Log, lock};
use super::source::{BadPath, Source};
use super::summary::{Part, Summary};
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::{Interrupt, REMOVING};
use crate::cmd::mass_change::{Failure, is_hollow, size_kept};
use crate::cmd::progress::{Progress, estimate, watched};
use crate::exit::{CliError, describe};
use crate::ui::message::quoted;

/// Summary, messages and log of a run, for all its threads.
pub(super) struct Results {
    summary: Mutex<Summary>,
    shown: Progress,
    complaints: Mutex<ErrorLimiter>,
    pub(super) log: Log,
}

impl Results {
    fn fail(&self, failure: Failure, message: &str) {
        lock(&self.complaints).print(&failure.reason, 1, || message.to_owned());
        lock(&self.summary).failed(failure);
    }

    /// A total for the progress exists only for one whole directory, estimated; conditions and lists have
    /// none.
    fn begin(&self, args: &Args, target: &Target) {
        let is_all = !args.has_conditions() && args.files0_from.is_none() && args.paths.len() == 1;
        if self.shown.is_drawn() && is_all && target.is_directory {
            let directory = target.parent.open_below(&target.name).ok();
            self.shown.counter().expect(directory.and_then(|directory| estimate(&directory)), true);
        }
    }

    /// The first directory that goes makes the total useless: the estimate was of the entries of the top
    /// directory.
    fn draw(&self, counts: &Counts) {
        self.shown.counter().set(counts.entries + counts.directories);
        if counts.directories > 0 {
            self.shown.counter().expect(None, false);
        }
    }

    /// The log has a line for this entry already, which is taken back.
    pub(super) fn failed(&self, error: &Error) {
        self.log.failed(error);
        self.fail(Failure::of(error), &describe(error));
    }
}

pub(super) fn run(
    args: &Args,
    mut source: Source<'_>,
    conditions: &Conditions,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    reported(args, Summary::new(args), interrupt, |results, progress| {
        each(args, &mut source, conditions, results, progress).map(|()| Part::None)
    })
}

/// Removes by `work`, which returns its part of the summary, and prints the summary.
///
/// Starts the shared state, does the work while a second thread draws and looks for interrupts, and prints the
/// summary whatever happened: some entries may be gone by then. A beat is given only if the counts changed, so that a
/// removal that hangs is noticed. The log is finished before the summary, which is left out if the
/// reader of a list has gone.
pub(super) fn reported(
    args: &Args,
    summary: Summary,
    interrupt: &Interrupt,
    work: impl FnOnce(&Results, &remove::Progress) -> Result<Part, CliError> + Send,
) -> Result<u8, CliError> {
    let started = Instant::now();
    let results = Results {
        summary: Mutex::new(summary),
        shown: Progress::new("entries removed", args.change.quiet),
        complaints: Mutex::new(ErrorLimiter::new(args.change.all_errors)),
        log: Log::open(args)?,
    };
    let progress = remove::Progress::new();
    let mut last = progress.counts();
    let look = || {
        if interrupt.is_requested() {
            progress.cancel();
        }
        let counts = progress.counts();
        if counts != last {
            interrupt.beats();
            last = counts;
        }
        results.draw(&counts);
    };
    let done = marked(&interrupt.beat, REMOVING, || watched(look, || work(&results, &progress)));
    drop(results.shown);
    lock(&results.complaints).print_rest();
    let mut summary = results.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    let done = done.map(|part| summary.part = part);
    summary.finish(progress.counts(), started.elapsed(), interrupt.is_requested());
    let logged = results.log.finish();
    // Print the summary even if reading the list or writing the log failed, but no sums of an incomplete list.
    if !matches!(logged, Ok(false)) {
        summary.print()?;
    }
    done.and(logged).map(|_| summary.code())
}

/// Options of the library that hold for all removals.
pub(super) fn options<'a>(
    args: &Args,
    on_failure: &'a (dyn Fn(Error) + Sync),
    on_removal: RemovalObserver<'a>,
    (on_stay, log): (StayObserver<'a>, &Log),
) -> RemoveOptions<'a> {
    let logs = !matches!(log, Log::None);
    RemoveOptions {
        back_off: args.rate == Some(Rate::Auto) && !args.dry_run,
        on_removal: logs.then_some(on_removal),
        on_stay: logs.then_some(on_stay),
        dry_run: args.dry_run,
        entries_per_second_max: args.rate_max(),
        ..RemoveOptions::new(args.threads, on_failure)
    }
}

/// One target after the other; workers share the work within a target. A path that is missing because this run has
/// removed it, as part of another target or under another name, is no failure. Targets are noted as taken only if
/// nothing in them failed and it is no dry run, since otherwise something of them is still there.
fn each(
    args: &Args,
    source: &mut Source<'_>,
    conditions: &Conditions,
    results: &Results,
    progress: &remove::Progress,
) -> Result<(), CliError> {
    let announce = |path: &Path, kind| results.log.goes(path, kind);
    let on_stay = |path: &Path, why: &str| results.log.stayed(path, why);
    let on_failure = |error| results.failed(&error);
    let options = RemoveOptions {
        cross_mounts: args.cross_mounts,
        conditions: Some(conditions),
        keep_newest: args.keep_newest,
        counts_once: args.dry_run && source.may_overlap(),
        ..options(args, &on_failure, &announce, (&on_stay, &results.log))
    };
    let removing = Removing { args, options, progress };
    while !progress.is_cancelled() {
        let target = match source.next_target()? {
            None => break,
            Some(Ok(target)) => target,
            // With conditions, a run does not take all that lies below a target.
            Some(Err(BadPath { missing: Some(path), .. }))
                if !args.has_conditions() && source.has_taken(&path) =>
            {
                continue;
            }
            Some(Err(BadPath { error, failure, .. })) => {
                results.fail(failure, &error.message);
                lock(&results.summary).worst(error.code);
                continue;
            }
        };
        lock(&results.summary).attempted += 1;
        results.begin(args, &target);
        let failures = progress.counts().failures;
        match removing.remove_target(&target) {
            Ok(()) if !args.dry_run && progress.counts().failures == failures => source.note(&target),
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound && source.has_taken(&target.path) => {}
            Err(error) => results.failed(&error),
        }
    }
    Ok(())
}

/// Common parts of a run with the library's options, passed to every target.
pub(super) struct Removing<'a> {
    pub(super) args: &'a Args,
    pub(super) options: RemoveOptions<'a>,
    pub(super) progress: &'a remove::Progress,
}

impl Removing<'_> {
    fn remove_target(&self, target: &Target) -> Result<(), Error> {
        let Self { args, options, progress } = self;
        if args.puts_aside() {
            return if args.dry_run { self.would_put_aside(target) } else { self.put_aside(target) };
        }
        if !args.contents {
            let removed = remove_tree(&target.parent, &target.name, options, progress)?;
            // A directory of ext4 keeps its size after its entries have left, and stays slow to read, so a
            // notice with the remedy follows where most of it is empty.
            let may_be_hollow = target.is_directory && args.has_conditions() && !args.dry_run;
            if may_be_hollow
                && !args.change.quiet
                && removed.counts.entries > 0
                && let Ok(directory) = target.open()
                && let Some(size) = size_kept(&directory).filter(|_| is_hollow(&directory))
            {
                let path = quoted(directory.path());
                eprintln!("megadir: {path} {size}; 'megadir limits' names what helps");
            }
            return Ok(());
        }
        let directory = target.open()?;
        let removed = remove_contents(&directory, options, progress)?;
        // After `--contents`, the remedy is an option of this very command.
        let is_mentioned = !args.change.quiet && removed.counts.entries + removed.counts.directories > 0;
        if let Some(size) = size_kept(&directory).filter(|_| is_mentioned) {
            eprintln!("megadir: {} {size}; --contents --renew replaces it", quoted(directory.path()));
        }
        Ok(())
    }
}
