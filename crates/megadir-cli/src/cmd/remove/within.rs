//! `--keep-within`: a selection, the question, and the removal, which counts again first.
//!
//! ```text
//! select ── reads the tree ──► oldest files that exceed the budget ─► question ─► remove ─► Kept
//! ```
//!
//! Files may come, go or be used while a person reads the question, so the selection counts again before it
//! removes.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use megadir::remove;
use megadir::remove::budget::{AccessTimes, Budget, Measure, Outcome, SelectOptions, Selection, select};
use megadir::remove::target::Target;
use megadir::{Conditions, Dir, Error, StatMask, TimeKind, TreeEvent};

use super::args::Args;
use super::budget::{Kept, text};
use super::confirm::ALTERNATIVES;
use super::run::{Results, options, reported};
use super::source::Source;
use super::summary::{Part, Summary};
use super::unread::Unread;
use crate::cmd::amount::{grouped, plural};
use crate::cmd::interrupt::interruptible;
use crate::cmd::mass_change::{UNCONFIRMED_MAX, request_confirmation};
use crate::cmd::progress::Progress;
use crate::exit::CliError;
use crate::ui::message::quoted;
use crate::ui::sizes;

/// Selection, question, removal, each with an end of its own: before the removal Ctrl-C ends the program at once, as
/// nothing was changed. What mounts record of access times is mentioned before the selection, since the order of
/// removal depends on it. Failures of the selection belong to the summary, because unread directories may hold more
/// than the budget allows.
pub(super) fn run(
    args: &Args,
    budget: Budget,
    source: &Source<'_>,
    conditions: Conditions,
) -> Result<u8, CliError> {
    let target = source.only_target()?;
    let directory = opened(target)?;
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    let by = conditions.by;
    let conditions = Arc::new(conditions);
    let select_options = SelectOptions { conditions, threads: args.threads, ..SelectOptions::new(budget) };
    if !args.change.quiet {
        mention_access_times(&directory, by);
    }
    let mut unread = Unread::new(args.change.all_errors);
    let Some(mut selection) = selected(&directory, &select_options, args, &mut unread)? else {
        return Err(CliError::interrupted("nothing was removed"));
    };
    mention_linked(args, &selection.outcome());
    if !args.dry_run && !args.change.yes && !may_go(args, budget, &selection)? {
        return Err(CliError::interrupted("nothing was removed"));
    }
    let mut summary = Summary::new(args);
    summary.attempted = 1;
    summary.failed_before((unread.kept, unread.count));
    interruptible(|interrupt| {
        reported(args, summary, interrupt, |results, progress| {
            let is_counted = removed(args, &mut selection, results, progress);
            Ok(match is_counted {
                true => Part::Budget(Kept::new(selection.outcome(), budget, &target.path)),
                false => Part::None,
            })
        })
    })
}

/// `false` if the removal was interrupted, or the tree could not be counted at the end: what it holds now is unknown.
fn removed(args: &Args, selection: &mut Selection, results: &Results, progress: &remove::Progress) -> bool {
    let announce = |path: &Path, kind| results.log.goes(path, kind);
    let on_stay = |path: &Path, why: &str| results.log.stayed(path, why);
    let on_failure = |error: Error| results.failed(&error);
    let options = options(args, &on_failure, &announce, (&on_stay, &results.log));
    let removed = selection.remove(&options, progress).inspect_err(|error| results.failed(error));
    removed.is_ok_and(|removed| !removed.cancelled)
}

/// A file has no contents to keep within anything.
fn opened(target: &Target) -> Result<Dir, CliError> {
    if !target.is_directory {
        let path = quoted(&target.path);
        return Err(CliError::usage(format!(
            "--keep-within: {path} is not a directory; name the one that holds the files"
        )));
    }
    Ok(target.open()?)
}

/// `Some` unless reading was interrupted before the selection was complete.
fn selected(
    directory: &Dir,
    options: &SelectOptions,
    args: &Args,
    unread: &mut Unread,
) -> Result<Option<Selection>, CliError> {
    let shown = Progress::new("entries read to find the least recently used", args.change.quiet);
    let watch = &mut |event: TreeEvent<'_>| {
        match event {
            TreeEvent::Read(read) => shown.counter().set(read),
            _ => unread.note(&event),
        }
        ControlFlow::Continue(())
    };
    let selection = select(directory, options, watch);
    unread.complaints.print_rest();
    Ok(selection?)
}

/// Asks if many files go.
fn may_go(args: &Args, budget: Budget, selection: &Selection) -> Result<bool, CliError> {
    let Outcome { selected, limit, now, excess, .. } = selection.outcome();
    if selected.files <= UNCONFIRMED_MAX {
        return Ok(true);
    }
    let path = quoted(args.paths.first().map(Path::new).unwrap_or(Path::new("")));
    let (is_of_free, measure) = (budget.is_of_free(), budget.measure());
    let files = match selection.is_cut() {
        // A selection that is cut has enough files for a question, and then only bounds are known.
        true => format!("more than {} files", grouped(selected.files)),
        false => plural(selected.files, "file", "files"),
    };
    let bytes = match (selection.is_cut(), measure) {
        (true, Measure::Bytes) => sizes::text(excess),
        (true, Measure::Files) => format!("more than {}", sizes::text(selected.bytes)),
        (false, _) => sizes::text(selected.bytes),
    };
    let limit = text(measure, is_of_free, limit);
    let now = text(measure, is_of_free, now);
    let why = match is_of_free {
        true => format!("{now} are free, at least {limit} asked"),
        false => format!("{path} holds {now}, its budget is {limit}"),
    };
    let action = format!("remove {files} in {path} that were not used for the longest time ({bytes}): {why}");
    request_confirmation(&action, ALTERNATIVES)
}

/// One line where access times are not what the option needs.
fn mention_access_times(directory: &Dir, by: TimeKind) {
    if !by.want().contains(StatMask::ACCESSED) {
        return;
    }
    let path = quoted(directory.path());
    match AccessTimes::of(directory) {
        AccessTimes::Recorded => {}
        AccessTimes::Seldom => eprintln!(
            "megadir: the mount of {path} records accesses at most once a day (relatime): atime means little, and the order by last {} is that coarse",
            if by == TimeKind::Used { "use, the later of atime and mtime," } else { "access" }
        ),
        AccessTimes::Never => eprintln!(
            "megadir: the mount of {path} records no accesses (noatime): {}",
            if by == TimeKind::Used {
                "atime means little, and the last use is the last modification"
            } else {
                "atime means little; --by mtime, or leave --by out"
            }
        ),
    }
}

/// One line on files that stay because removing one of their names frees nothing.
fn mention_linked(args: &Args, outcome: &Outcome) {
    let linked = outcome.linked;
    if outcome.excess > 0 && linked.files > 0 && !args.change.quiet {
        let files = plural(linked.files, "file with several names stays", "files with several names stay");
        eprintln!(
            "megadir: {files} ({} on disk): removing one name frees nothing",
            sizes::text(linked.bytes)
        );
    }
}
