//! `--to flat --renew`: a directory of files is replaced by a small one while programs use it.

use std::time::{Duration, Instant};

use megadir::Error;
use megadir::reshard::{FilesOptions, FilesRenewed, FilesSurvey, Progress, renew_files, survey_files};

use super::ALTERNATIVES;
use super::args::Args;
use super::follow::Following;
use super::renewal::{Complaints, Renewal};
use crate::cmd::amount::plural;
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::mass_change::{UNCONFIRMED_MAX, in_time, list_failures, request_confirmation};
use crate::cmd::progress::{self, watched};
use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::object::Object;
use crate::ui::output::print;
use crate::ui::sizes;

/// `true` if every entry of the directory can have a second name, as far as its type shows.
pub(super) fn holds_files_alone(renewal: &Renewal) -> bool {
    renewal.completed.is_some() || survey_files(&renewal.parent, &renewal.name).is_ok()
}

/// Without files to move.
pub(super) fn run(args: &Args, renewal: &Renewal) -> Result<u8, CliError> {
    let place = quoted(&args.directory);
    if renewal.completed.is_none() {
        let survey = survey_files(&renewal.parent, &renewal.name)?;
        if args.dry_run {
            return foresee(args, survey);
        }
        if !args.change.yes && (survey.entries > UNCONFIRMED_MAX || args.follow) {
            let entries = plural(survey.entries, "entry", "entries");
            let action = format!("replace {place} with a small copy of its {entries}");
            if !request_confirmation(&action, ALTERNATIVES)? {
                return Err(CliError::interrupted("nothing was changed"));
            }
        }
    }
    interruptible(|interrupt| renew(args, renewal, interrupt))
}

fn foresee(args: &Args, survey: FilesSurvey) -> Result<u8, CliError> {
    if args.change.json {
        let text = Object::text(|object| {
            object.string("from", "flat");
            object.string("to", "flat");
            object.raw("dry_run", true);
            object.raw("to_renew", survey.entries);
            object.raw("directory_bytes", survey.size_bytes);
            object.raw("is_begun", survey.is_begun);
        });
        print(&text)?;
        return Ok(exit::DONE);
    }
    let (place, size) = (quoted(&args.directory), sizes::text(survey.size_bytes));
    let entries = plural(survey.entries, "entry", "entries");
    let begun = match survey.is_begun {
        true => "; a run before was ended, and is completed or undone first",
        false => "",
    };
    print(&format!("would replace {place} ({size}, {entries}) with a small copy{begun}\n"))?;
    Ok(exit::DONE)
}

/// Replaces the directory, and follows programs that still have the old one open with `--follow`. An interrupt before the exchange undoes
/// everything; afterwards it ends the following, and what is left is completed.
pub(super) fn renew(args: &Args, renewal: &Renewal, interrupt: &Interrupt) -> Result<u8, CliError> {
    let started = Instant::now();
    let (complaints, cancelled) = (Complaints::new(args), Progress::new());
    let renewed = match renewal.completed {
        Some(renewed) => Some(renewed),
        None => {
            let shown = progress::Progress::new("entries linked", args.change.quiet);
            let mut last = 0;
            let look = || {
                if interrupt.is_requested() {
                    cancelled.cancel();
                }
                let linked = cancelled.moved();
                if linked != last {
                    interrupt.beats();
                    last = linked;
                }
                shown.counter().set(linked);
            };
            let mut following = args.follow.then(|| Following::new(args));
            let mut goes_on = |moved| {
                let is_cancelled = || cancelled.is_cancelled();
                following.as_mut().is_some_and(|following| following.goes_on(moved, is_cancelled))
            };
            let on_failure = |error: Error| complaints.failed(&error);
            let options = &mut FilesOptions { on_failure: &on_failure, goes_on: &mut goes_on };
            watched(look, || renew_files(&renewal.parent, &renewal.name, options, &cancelled))?
        }
    };
    complaints.finish();
    match renewed {
        Some(renewed) => report(args, renewed, &complaints, started.elapsed()),
        None => Err(CliError::interrupted("the directory was not replaced, and nothing was changed")),
    }
}

/// A directory that was completed for an earlier run is reported in the same way. Entries that stay were listed before, each with what to
/// do, so they are only counted here, and decide the exit code.
fn report(
    args: &Args,
    renewed: FilesRenewed,
    complaints: &Complaints,
    elapsed: Duration,
) -> Result<u8, CliError> {
    let FilesRenewed { followed, stay, size_bytes } = renewed;
    let code = if stay == 0 { exit::DONE } else { exit::SOME_FAILED };
    if args.change.json {
        let text = Object::text(|object| {
            object.string("from", "flat");
            object.string("to", "flat");
            object.raw("dry_run", false);
            object.raw("followed", followed);
            object.raw("failures", stay);
            object.raw("directory_bytes", size_bytes);
            object.raw("elapsed_s", format_args!("{:.6}", elapsed.as_secs_f64()));
            list_failures(object, &complaints.kept.borrow(), stay);
        });
        print(&text)?;
    } else if !args.change.quiet || code != exit::DONE {
        let (place, size) = (quoted(&args.directory), sizes::text(size_bytes));
        let followed = match followed {
            0 => String::new(),
            number => format!("; {} of other programs followed", plural(number, "change", "changes")),
        };
        let stay = match stay {
            0 => String::new(),
            number => format!("; {} in the old directory", plural(number, "entry stays", "entries stay")),
        };
        let time = in_time(0, elapsed);
        eprintln!("megadir: {place} was replaced with a small directory of {size}{time}{followed}{stay}");
    }
    Ok(code)
}
