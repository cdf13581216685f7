//! `--keep-within`: a selection, the question, and the removal.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use megadir::remove::Counts;
use megadir::remove::budget::{AccessTimes, Budget, Measure, SelectOptions, Selection, select};
use megadir::remove::target::Target;
use megadir::{Conditions, Dir, StatMask, TimeKind, TreeEvent};

use super::args::{Args, Unit};
use super::budget::{Unread, kept, text};
use super::confirm::UNASKED;
use super::run::run as remove;
use super::source::Source;
use super::summary::Summary;
use crate::cmd::interrupt::interruptible;
use crate::cmd::limits::amount::plural;
use crate::cmd::mass_change::{UNASKED_MAX, ask};
use crate::cmd::progress::Progress;
use crate::exit::CliError;
use crate::ui::message::quoted;
use crate::ui::sizes;

pub(super) fn run(
    args: &Args,
    budget: Budget,
    source: Source<'_>,
    conditions: Conditions,
) -> Result<u8, CliError> {
    // Without a target there is no selection, and nothing may be removed without one.
    let directory = opened(source.only_target()?)?;
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    let conditions = Arc::new(conditions);
    let options = SelectOptions {
        conditions: Arc::clone(&conditions),
        by_directory: args.unit == Some(Unit::Directory),
        threads: args.threads,
        ..SelectOptions::new(budget)
    };
    if !args.change.quiet {
        mention_access_times(&directory, conditions.by);
    }
    let started = Instant::now();
    let mut unread = Unread::new(args);
    let Some(selection) = selected(&directory, &options, args, &mut unread)? else {
        return Err(CliError::interrupted("nothing was removed"));
    };
    if selection.is_empty() {
        return nothing_to_remove(args, &selection, unread, started);
    }
    if !args.dry_run && !args.change.yes && !may_go(args, budget, &selection)? {
        return Err(CliError::interrupted("nothing was removed"));
    }
    interruptible(|interrupt| remove(args, source, &conditions, Some((&selection, unread)), interrupt))
}

fn opened(target: &Target) -> Result<Dir, CliError> {
    if !target.is_directory {
        let path = quoted(&target.path);
        return Err(CliError::usage(format!(
            "--keep-within: {path} is not a directory; name the one that holds the files"
        )));
    }
    Ok(target.open()?)
}

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
    unread.print_rest();
    Ok(selection?)
}

fn nothing_to_remove(
    args: &Args,
    selection: &Selection,
    unread: Unread,
    started: Instant,
) -> Result<u8, CliError> {
    let mut summary = Summary::new(args);
    summary.failed_before(unread.failures());
    summary.attempted = 1;
    summary.budget = Some(kept(args, selection));
    summary.finish(Counts::default(), started.elapsed(), false);
    summary.print()?;
    Ok(summary.code())
}

fn may_go(args: &Args, budget: Budget, selection: &Selection) -> Result<bool, CliError> {
    let outcome = selection.outcome();
    if outcome.selected.names <= UNASKED_MAX {
        return Ok(true);
    }
    let path = quoted(args.paths.first().map(Path::new).unwrap_or(Path::new("")));
    let (is_of_free, names) = (budget.is_of_free(), plural(outcome.selected.names, "entry", "entries"));
    let limit = text(outcome.measure, is_of_free, outcome.limit);
    let why = match (is_of_free, budget.measure()) {
        (true, _) => format!("{} are free, at least {limit} asked", text(outcome.measure, true, outcome.now)),
        (false, Measure::Bytes | Measure::Files) => {
            format!("{path} holds {}, its budget is {limit}", text(outcome.measure, false, outcome.now))
        }
    };
    let bytes = sizes::text(outcome.selected.bytes);
    ask(
        &format!("remove {names} in {path} that were not used for the longest time ({bytes}): {why}"),
        UNASKED,
    )
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
            "megadir: the mount of {path} records accesses at most once a day (relatime): atime means little, and the order by last use is that coarse"
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
