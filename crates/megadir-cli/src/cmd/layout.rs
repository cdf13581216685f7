//! `megadir layout`: the layout of a tree by a sample, and the files that do not fit it.

use std::cell::RefCell;
use std::fmt;
use std::path::PathBuf;

use megadir::layout::{Layout, PRESETS};
use megadir::reshard::{self, Detected, Fit, detect, verify};
use megadir::{Dir, Error, FileType, names};

use super::amount::{grouped, plural};
use super::error_limiter::ErrorLimiter;
use super::interrupt::{Interrupt, interruptible};
use super::progress::{Progress, watched};
use crate::exit::{self, CliError, describe, kind};
use crate::ui::message::quoted;
use crate::ui::object::Object;
use crate::ui::output::print;

/// Find out which layout the files of a directory have
///
/// Examines a sample of about a thousand files, usually within milliseconds, or with --verify all of them. Only regular files count.
/// If it meets fewer than 20, it reads up to 10 000 directories.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 no known layout fits, no files are found in a very large tree, or with --verify something does not fit or cannot be read; 2 usage; 3 the directory cannot be read; 130 interrupted.")]
pub(crate) struct Args {
    /// Directory with the files
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    directory: PathBuf,
    /// Compare with this layout, e.g. digest:2 [default: found by a sample of the files]
    #[arg(long, value_name = "LAYOUT", value_parser = Named::parse)]
    layout: Option<Named>,
    /// Check the path of every file
    #[arg(long)]
    verify: bool,
    /// Print every path that does not fit (default: the first ten, then a count)
    #[arg(long, requires = "verify")]
    all_errors: bool,
    /// Print a JSON object
    ///
    /// Fields: v (format version, 1), layout, is_guess, sampled, sampled_fit, tie (another layout that as many fit), without_ending (the layout that they fit without their common ending) and ending; with --verify fit, misfits, foreign_directories and failures.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    if args.layout.is_some() && !args.verify {
        let why = "--layout compares the path of each file with this layout, which is --verify: add --verify";
        return Err(CliError::usage(format!("{why}, or leave --layout out to have the layout found")));
    }
    let directory = Dir::open(&args.directory)?;
    let found = match &args.layout {
        Some(_) => None,
        None => Some(sampled(&directory, None, false)?),
    };
    let named = args.layout.clone().or_else(|| found.and_then(|found| found.layout).map(Named::of));
    match named {
        Some(named) if args.verify => {
            interruptible(|interrupt| check(args, &directory, found.as_ref(), &named, interrupt))
        }
        named => {
            print(&answer(args, found.as_ref(), named.as_ref(), None))?;
            let is_known = named.is_some() || found.is_some_and(|found| found.sampled == 0 && !found.is_cut);
            Ok(if is_known { exit::DONE } else { exit::SOME_FAILED })
        }
    }
}

/// [`detect`], with the lines of work that takes long.
pub(in crate::cmd) fn sampled(
    directory: &Dir,
    besides: Option<&Layout>,
    is_quiet: bool,
) -> megadir::Result<Detected> {
    let _mentioned = Progress::without_number(is_quiet);
    detect(directory, besides)
}

/// Looks at every file of the tree instead of a sample. Both callbacks of the library print through the same limiter,
/// which is therefore in a `RefCell`. The progress is removed before anything is printed. An interrupt prints the
/// count so far, then ends as interrupted, because a partial count must not look like a whole one.
fn check(
    args: &Args,
    directory: &Dir,
    found: Option<&Detected>,
    named: &Named,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    let complaints = RefCell::new(ErrorLimiter::new(args.all_errors));
    let on_misfit = |path: &[u8], kind: FileType| {
        let problem = if kind == FileType::Directory {
            "a directory that the layout does not have"
        } else {
            "does not fit"
        };
        let path = || names::to_os(path).map(|path| args.directory.join(path)).unwrap_or_default();
        complaints.borrow_mut().print(problem, 1, || format!("{}: {problem}", quoted(&path())));
    };
    let on_failure = |error: Error| complaints.borrow_mut().print(&kind(&error), 1, || describe(&error));
    let progress = reshard::Progress::new();
    let shown = Progress::new("files checked", false);
    let look = || {
        if interrupt.is_requested() {
            progress.cancel();
        }
        interrupt.beats();
        shown.counter().set(progress.moved());
    };
    let done = watched(look, || verify(directory, &named.layout, &progress, &on_misfit, &on_failure));
    drop(shown);
    let fit = done?;
    complaints.borrow().print_rest();
    print(&answer(args, found, Some(named), Some(&fit)))?;
    if interrupt.is_requested() {
        return Err(CliError::interrupted("interrupted; the count is incomplete"));
    }
    Ok(if fit.misfits + fit.directories + fit.failures == 0 { exit::DONE } else { exit::SOME_FAILED })
}

/// One line: the layout, how many files fit, and each reason for doubt as a clause of its own. Counts of a whole
/// check go before counts of a sample. Without a layout, the line has the reason, which differs between a
/// tree without files, a look that ended before it found any, and names that fit nothing.
fn answer(args: &Args, found: Option<&Detected>, named: Option<&Named>, fit: Option<&Fit>) -> String {
    if args.json {
        return object(found, named, fit);
    }
    let Some(named) = named else {
        let sampled = found.map_or(0, |found| found.sampled);
        return match sampled {
            0 if found.is_some_and(|found| found.is_cut) => {
                "no files in the first 10 000 directories\n".to_owned()
            }
            0 => "no files\n".to_owned(),
            _ if let Some(found) = found.and_then(without_ending) => {
                format!("no known layout fits: {found}\n")
            }
            _ => {
                format!("no known layout fits half of {}\n", plural(sampled, "sampled file", "sampled files"))
            }
        };
    };
    let mut line = match (fit, found) {
        (Some(fit), _) => {
            format!("{named}: {} of {} fit", grouped(fit.fit), plural(fit.fit + fit.misfits, "file", "files"))
        }
        (None, Some(found)) => {
            let sampled = plural(found.sampled, "sampled file", "sampled files");
            format!("{named}: {} of {sampled} fit", grouped(found.fit))
        }
        (None, None) => named.to_string(),
    };
    if let Some(number) = fit.map(|fit| fit.directories).filter(|number| *number > 0) {
        line += &format!("; {} not of the layout", plural(number, "directory is", "directories are"));
    }
    if let Some(number) = fit.map(|fit| fit.failures).filter(|number| *number > 0) {
        line += &format!(
            "; {} could not be read",
            plural(number, "directory or entry", "directories or entries")
        );
    }
    if let Some(tie) = found.and_then(|found| found.tie) {
        line += &format!("; as many fit {}", Named::of(tie));
    }
    if found.is_some_and(|found| found.is_guess) {
        line += "; any names would fit, because the layout shortens them";
    }
    line + "\n"
}

fn object(found: Option<&Detected>, named: Option<&Named>, fit: Option<&Fit>) -> String {
    Object::text(|object| {
        object.string_or_null("layout", named.map(Named::to_string).as_deref());
        if let Some(found) = found {
            object.raw("is_guess", found.is_guess);
            object.raw("sampled", found.sampled);
            object.raw("sampled_fit", found.fit);
            object.string_or_null("tie", found.tie.map(|tie| Named::of(tie).to_string()).as_deref());
            let (layout, ending) = found.without_ending.unzip();
            object.string_or_null(
                "without_ending",
                layout.map(|layout| Named::of(layout).to_string()).as_deref(),
            );
            object.string_or_null("ending", ending.map(|ending| ending.to_string()).as_deref());
        }
        if let Some(fit) = fit {
            object.raw("fit", fit.fit);
            object.raw("misfits", fit.misfits);
            object.raw("foreign_directories", fit.directories);
            object.raw("failures", fit.failures);
        }
    })
}

/// Sentence for files that fit a layout only without their ending.
pub(in crate::cmd) fn without_ending(found: &Detected) -> Option<String> {
    let (layout, ending) = found.without_ending?;
    let named = Named::of(layout).to_string();
    let program = PRESETS.iter().find(|preset| preset.layout == layout && preset.name != named);
    let program = program.map_or(String::new(), |preset| format!(", that of {}", preset.name));
    let sampled = plural(found.sampled, "sampled file", "sampled files");
    let fit = grouped(found.fit);
    Some(format!(
        "{fit} of {sampled} fit {named}{program}, if their ending {ending} is no part of the names, which that layout cannot leave out"
    ))
}

/// Layout with the name that messages use: as the user wrote it, or the name of a preset if its text says little.
#[derive(Clone, Debug)]
pub(in crate::cmd) struct Named {
    pub(in crate::cmd) layout: Layout,
    name: String,
}

impl Named {
    pub(in crate::cmd) fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("per-directory") {
            return Err("only make numbers directories in the order of creation; \
                        here the directory must follow from the name of the file: digest:2, prefix:2, ..."
                .to_owned());
        }
        let layout = text.parse::<Layout>().map_err(|error| error.to_string())?;
        Ok(Self { layout, name: text.to_owned() })
    }

    pub(in crate::cmd) fn of(layout: Layout) -> Self {
        let text = layout.to_string();
        let preset = PRESETS.iter().find(|preset| preset.layout == layout && text.contains('+'));
        Self { layout, name: preset.map_or(text, |preset| preset.name.to_owned()) }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn options_of_a_preset_are_named_by_it() {
        for (text, name) in
            [("git", "git"), ("nginx", "suffix:1/2"), ("prefix:2+rest", "git"), ("flat", "flat")]
        {
            assert_eq!(Named::of(text.parse().unwrap()).to_string(), name);
            assert_eq!(Named::parse(text).unwrap().to_string(), text);
        }
        assert!(Named::parse("prefx:2").is_err());
    }
}
