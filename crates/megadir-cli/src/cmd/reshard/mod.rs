//! `megadir reshard`: asks and reports; the library moves.
//!
//! ```text
//! Work::open ─► layouts, directories ─┬─► dry_run ─► survey ─────────────────► Summary
//!                                     └─► may_go ─► run::run ─► reshard or follow ─► Summary ─► renew
//! ```
//!
//! The old layout is the risk: a wrong one moves files to wrong places or under wrong names. So a layout
//! found by a sample has to be clear, and a given one that shortens names is compared with a sample, too.

mod args;
mod expected;
mod follow;
mod run;
mod summary;

use std::cell::RefCell;
use std::path::Path;

use megadir::layout::Layout;
use megadir::reshard::{Detected, Progress, ReshardOptions, Survey, count_up_to, survey};
use megadir::{Dir, Error, Globs, names};

pub(crate) use self::args::Args;
use self::expected::{Expected, Room};
use self::run::Renewal;
use self::summary::Summary;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::layout::{Named, sampled, without_ending};
use crate::cmd::mass_change::{self, Failure, UNCONFIRMED_MAX};
use crate::cmd::progress::{self, watched};
use crate::exit::{CliError, describe, kind};
use crate::ui::message::quoted;

const ALTERNATIVES: &str = "(--yes skips the question, --dry-run prints what would be moved)";
/// Fewer files may fit several layouts by chance.
const SAMPLE_MIN: u64 = 20;

/// Directories and layouts of a run, opened and found out before the question. `from` is the given layout, or one
/// that a sample of the files fits. `renewal` is begun first: it completes one of an earlier run that was killed, so
/// that the directory that is opened next is the right one.
struct Work {
    directory: Dir,
    into: Option<Dir>,
    renewal: Option<Renewal>,
    from: Named,
    to: Named,
    /// Sampled files, if all are where the new layout has them, and the old layout was not given.
    finished: Option<u64>,
    exclude: Globs,
}

impl Work {
    fn open(args: &Args) -> Result<Self, CliError> {
        let renewal = args.renew.then(|| Renewal::begin(&args.directory)).transpose()?;
        let directory = Dir::open(&args.directory)?;
        let into = args.into.as_ref().map(Dir::open).transpose()?;
        let exclude = Globs::of_names(&args.exclude)
            .map_err(|bad| CliError::usage(format!("--exclude '{}': {}", bad.glob, bad.reason)))?;
        let (from, finished) = match &args.from {
            Some(from) => {
                look_like_the_old_layout(args, from, &directory)?;
                (from.clone(), None)
            }
            None => found(args, &directory)?,
        };
        Ok(Self { directory, into, renewal, from, to: args.to.clone(), finished, exclude })
    }

    /// Sampled files, if all are where the new layout has them.
    fn finished(&self) -> Option<u64> {
        let sample = || sampled(&self.directory, Some(&self.to.layout), true).ok();
        match self.into {
            Some(_) => None,
            // Files at a lower depth have places in the new layout too, but may still move.
            None if self.to.layout.growth().is_some() => None,
            None => self.finished.or_else(|| finished(&sample()?)),
        }
    }

    /// Line for files that get other names, not only other directories: programs that open them by their last name would miss them.
    fn renamed(&self) -> Option<String> {
        if self.finished.is_some() {
            return None;
        }
        renamed(&self.directory, &self.from.layout, &self.to.layout)
    }

    /// The same options for the count, the dry run and the moves, so that all three decide alike.
    fn options<'a>(&'a self, args: &Args, on_failure: &'a dyn Fn(Error)) -> ReshardOptions<'a> {
        ReshardOptions {
            into: self.into.as_ref(),
            exclude: Some(&self.exclude),
            files_per_second_max: args.rate,
            offline: args.offline,
            ..ReshardOptions::new(self.from.layout, self.to.layout, on_failure)
        }
    }

    fn description(&self, args: &Args) -> String {
        let into = args.into.as_ref().map_or(String::new(), |into| format!(" into {}", quoted(into)));
        format!("{}{into} from {} to {}", quoted(&args.directory), self.from, self.to)
    }
}

/// Not shared by threads: the library calls back from the thread that called it.
struct Results {
    summary: RefCell<Summary>,
    complaints: RefCell<ErrorLimiter>,
}

impl Results {
    fn new(args: &Args, work: &Work) -> Self {
        Self {
            summary: RefCell::new(Summary::new(args, work)),
            complaints: RefCell::new(ErrorLimiter::new(args.change.all_errors)),
        }
    }

    fn failed(&self, error: &Error) {
        if self.summary.borrow_mut().failed(Failure::of(error)) {
            self.complaints.borrow_mut().print(&kind(error), 1, || describe(error));
        }
    }

    fn finish(self) -> Result<u8, CliError> {
        self.complaints.borrow().print_rest();
        let summary = self.summary.into_inner();
        summary.print()?;
        Ok(summary.code())
    }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    args.check()?;
    let work = Work::open(args)?;
    if args.dry_run {
        return interruptible(|interrupt| dry_run(args, &work, interrupt));
    }
    // Until here Ctrl-C ends the program at once: nothing was changed, apart from completing an earlier renewal.
    if !args.change.yes && !may_go(args, &work)? {
        return Err(CliError::interrupted("nothing was moved"));
    }
    interruptible(|interrupt| run::run(args, &work, interrupt))
}

/// Any path fits a layout that shortens names. Files that clearly have another layout would get wrong names.
fn look_like_the_old_layout(args: &Args, from: &Named, directory: &Dir) -> Result<(), CliError> {
    if !from.layout.is_trimmed() {
        return Ok(());
    }
    let besides = args.into.is_none().then_some(&args.to.layout);
    let found = sampled(directory, besides, args.change.quiet)?;
    let is_clear = found.sampled >= SAMPLE_MIN && 10 * found.fit >= 9 * found.sampled;
    let other = match (without_ending(&found), found.layout) {
        (Some(other), _) => other,
        (None, Some(layout)) if !found.is_guess && layout != from.layout && layout != Layout::FLAT => {
            let named = Named::of(layout);
            format!("{} of {} sampled files fit {named}, in which names are whole", found.fit, found.sampled)
        }
        _ => return Ok(()),
    };
    match is_clear {
        true => Err(CliError::usage(format!(
            "{}: not --from {from}, which would give the files wrong names: {other}",
            quoted(&args.directory)
        ))),
        false => Ok(()),
    }
}

/// An example is enough to see what happens to all names.
fn renamed(directory: &Dir, from: &Layout, to: &Layout) -> Option<String> {
    let renamed = megadir::reshard::renamed(directory, from, to).ok()??;
    let shown = |path: &[u8]| names::to_os(path).map(|path| quoted(Path::new(&path))).ok();
    Some(format!("file names change, e.g. from {} to {}", shown(&renamed.from)?, shown(&renamed.to)?))
}

/// Apart from files that were moved before.
///
/// A layout that was found by chance would move files to wrong places, so it is used only if it is clear: at least
/// half of the sample fits, and it is `flat`, or the sample has `SAMPLE_MIN` files and the layout does not fit any
/// names. In all other cases the message has the option that confirms the layout, and what would happen to names.
fn found(args: &Args, directory: &Dir) -> Result<(Named, Option<u64>), CliError> {
    let besides = args.into.is_none().then_some(&args.to.layout);
    let found = sampled(directory, besides, args.change.quiet)?;
    let place = quoted(&args.directory);
    match found.layout.map(Named::of) {
        None if found.sampled == 0 && found.is_cut => Err(CliError::usage(format!(
            "{place}: the first 10 000 directories have no files to move; give the old layout with --from"
        ))),
        None if found.sampled == 0 => Ok((Named::of(in_place(&found)), finished(&found))),
        None if let Some(other) = without_ending(&found) => {
            Err(CliError::usage(format!("{place}: the files cannot be moved: {other}")))
        }
        None => Err(CliError::usage(format!(
            "{place}: no known layout fits half of {} sampled files; give it with --from, e.g. --from prefix:2",
            found.sampled
        ))),
        Some(named) if named.layout != Layout::FLAT && (found.is_guess || found.sampled < SAMPLE_MIN) => {
            let (and, or) = found.tie.map(Named::of).map_or_else(Default::default, |tie| {
                (format!(", and as many {tie}"), format!(" or --from {tie}"))
            });
            let but = match renamed(directory, &named.layout, &args.to.layout) {
                Some(renamed) => format!(
                    ", as any names would; if these directories are no layout, do not: {renamed}; otherwise confirm"
                ),
                None => ", which may be chance; confirm".to_owned(),
            };
            Err(CliError::usage(format!(
                "{place}: {} of {} sampled files fit {named}{and}{but} with --from {named}{or}",
                found.fit, found.sampled
            )))
        }
        Some(named) => Ok((named, None)),
    }
}

/// Layout if all files fit the target. Files of any layout fit one that shortens names.
fn in_place(found: &Detected) -> Layout {
    found.alike.filter(|_| found.moved >= SAMPLE_MIN).unwrap_or(Layout::FLAT)
}

/// Sampled files, if all are where the new layout has them.
fn finished(found: &Detected) -> Option<u64> {
    (found.sampled == 0 && found.moved > 0 && found.alike.is_none()).then_some(found.moved)
}

/// Asks if many files move, if their number is unknown, or with `--follow`, which moves files that do not
/// exist yet.
fn may_go(args: &Args, work: &Work) -> Result<bool, CliError> {
    let first = RefCell::new(None);
    let on_failure = |error: Error| {
        first.borrow_mut().get_or_insert_with(|| describe(&error));
    };
    let options = work.options(args, &on_failure);
    let to_move = count_up_to(&work.directory, &options, UNCONFIRMED_MAX, &Progress::new())?;
    let unknown = first.into_inner();
    if to_move <= UNCONFIRMED_MAX && unknown.is_none() && !args.follow {
        return Ok(true);
    }
    let number = match unknown {
        _ if args.follow => "all files, present and to come,".to_owned(),
        Some(why) if to_move <= UNCONFIRMED_MAX => {
            format!("an unknown number of files (counting failed: {why})")
        }
        _ => format!("more than {UNCONFIRMED_MAX} files"),
    };
    announce(args, work);
    let renewal = match args.renew {
        true => format!(", and replace {} with a small copy", quoted(&args.directory)),
        false => String::new(),
    };
    mass_change::request_confirmation(
        &format!("move {number} of {}{renewal}", work.description(args)),
        ALTERNATIVES,
    )
}

/// Before the question and in a dry run, once it is known that files can move.
fn announce(args: &Args, work: &Work) {
    if let Some(renamed) = work.renamed().filter(|_| !args.change.quiet) {
        eprintln!("megadir: {renamed}");
    }
}

/// Counts with the library's own decisions and moves nothing. Names that would change are announced after the count,
/// once it is known that files can move. Nothing is printed before the progress has left the terminal.
fn dry_run(args: &Args, work: &Work, interrupt: &Interrupt) -> Result<u8, CliError> {
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    let results = Results::new(args, work);
    let progress = Progress::new();
    let on_failure = |error: Error| results.failed(&error);
    let options = work.options(args, &on_failure);
    let shown = progress::Progress::new("entries looked at", false);
    let look = || {
        if interrupt.is_requested() {
            progress.cancel();
        }
        shown.counter().set(progress.moved());
    };
    let counted = watched(look, || survey(&work.directory, &options, &progress));
    drop(shown);
    let counted: Survey = counted?;
    announce(args, work);
    let expected = Expected {
        survey: counted,
        room: Room::look(work),
        file_system: work.directory.file_system(),
        rate_max: args.rate,
        offline: args.offline,
    };
    let mut summary = results.summary.borrow_mut();
    summary.expect(expected, interrupt.is_requested());
    summary.look_if_finished(|| work.finished());
    drop(summary);
    results.finish()
}
