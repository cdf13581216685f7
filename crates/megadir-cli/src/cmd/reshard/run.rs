//! Calls the library, once or until the directory is quiet, and replaces the directory (`--renew`).
//!
//! ```text
//! Renewal::begin   completes a renewal of a killed run, before the directory is opened
//! reshard | follow moves files
//! Renewal::finish  only if nothing is left to move: replaces the directory with a small copy
//! ```

use std::path::{Component, Path};
use std::time::Instant;

use megadir::layout::Layout;
use megadir::reshard::{self, complete_renewal};
use megadir::{Dir, Error, ErrorKind, FileType};

use super::args::Args;
use super::follow::{follow, parts};
use super::{Results, Work};
use crate::cmd::interrupt::Interrupt;
use crate::cmd::list::source::raise_descriptor_limit;
use crate::cmd::mass_change::size_kept;
use crate::cmd::progress::{Progress, estimate, watched};
use crate::exit::{self, CliError, describe};
use crate::ui::message::quoted;
use crate::ui::new_file::folder_of;

/// Moves the files, once or repeatedly, then replaces the directory if `--renew` is given. The renewal comes last,
/// because it replaces the directory only if no file is left that was to move. Without it, a directory that keeps the
/// size of its many former names is mentioned, with the option that replaces it.
pub(super) fn run(args: &Args, work: &Work, interrupt: &Interrupt) -> Result<u8, CliError> {
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    raise_descriptor_limit();
    let started = Instant::now();
    let results = Results::new(args, work);
    let progress = reshard::Progress::new();
    let shown = Progress::new("files moved", args.change.quiet);
    // Only a flat directory has an estimate: in a tree, files are below directories whose number is
    // unknown.
    if shown.is_drawn() && work.from.layout == Layout::FLAT {
        shown.counter().expect(estimate(&work.directory), true);
    }
    let on_failure = |error: Error| results.failed(&error);
    let options = work.options(args, &on_failure);
    let mut last = 0;
    let look = || {
        if interrupt.is_requested() {
            progress.cancel();
        }
        let moved = progress.moved();
        if moved != last {
            interrupt.beats();
            last = moved;
        }
        shown.counter().set(moved);
    };
    let done = watched(look, || match args.follow {
        false => reshard::reshard(&work.directory, &options, &progress),
        true => follow(args, work, &options, &progress, &results),
    });
    drop(shown);
    let (counts, error) = parts(done);
    let mut summary = results.summary.borrow_mut();
    summary.finish(counts, started.elapsed(), interrupt.is_requested());
    if error.is_none() {
        summary.look_if_finished(|| work.finished());
    }
    drop(summary);
    if let Some(error) = error {
        return Err(stopped(results, *error));
    }
    let code = results.finish()?;
    if let Some(renewal) = &work.renewal {
        return renew(args, work, renewal, code);
    }
    if work.from.layout.depths().contains(&0)
        && counts.moved > 0
        && let Some(size) = size_kept(&work.directory).filter(|_| !args.change.quiet)
    {
        eprintln!("megadir: {} {size}; --renew replaces it", quoted(&args.directory));
    }
    Ok(code)
}

/// The summary is printed first if files were moved; the error then ends the program with the code of a
/// partial success.
fn stopped(results: Results, error: Error) -> CliError {
    let error = CliError::from(error);
    if !results.summary.borrow().has_begun() {
        return error;
    }
    if let Err(of_output) = results.finish() {
        eprintln!("megadir: {of_output}");
    }
    CliError { code: exit::SOME_FAILED, ..error }
}

/// Replaces the directory, or explains why not. `--from` is in the advice if the layout was found by a
/// sample: the next sample would have few files.
fn renew(args: &Args, work: &Work, renewal: &Renewal, code: u8) -> Result<u8, CliError> {
    let place = quoted(&args.directory);
    if code != exit::DONE {
        let more = match (code, &args.from) {
            (exit::INTERRUPTED, _) => String::new(),
            (_, Some(_)) => {
                "; when nothing prevents their moves any more, run the same command again".to_owned()
            }
            (_, None) => {
                format!(
                    "; when nothing prevents their moves any more, run the command with --from {}",
                    work.from
                )
            }
        };
        eprintln!("megadir: {place} was not replaced, because files are left{more}");
        return Ok(code);
    }
    if let Err(error) = renewal.finish(&work.to.layout) {
        eprintln!("megadir: {}", describe(&error));
        return Ok(exit::SOME_FAILED);
    }
    if !args.change.quiet {
        eprintln!("megadir: {place} was replaced with a small directory");
    }
    Ok(code)
}

/// The directory by its name in its parent, to be replaced (`--renew`).
#[derive(Debug)]
pub(super) struct Renewal {
    parent: Dir,
    name: Vec<u8>,
}

// The last component has to be a plain name: `.` and `..` cannot be renamed, and a link would be replaced
// instead of the directory that it leads to.
impl Renewal {
    pub(super) fn begin(path: &Path) -> Result<Self, Error> {
        let Some(Component::Normal(name)) = path.components().next_back() else {
            let reason = "it cannot be replaced by this path; give it as PARENT/NAME";
            return Err(Error::new("renew", path, ErrorKind::BadOption, reason));
        };
        let parent = Dir::open(folder_of(path))?;
        if parent.kind_of(name.as_encoded_bytes()).is_ok_and(|kind| kind == FileType::Symlink) {
            let reason = "it is a symbolic link; name the directory that it leads to";
            return Err(Error::new("renew", path, ErrorKind::BadOption, reason));
        }
        let renewal = Self { parent, name: name.as_encoded_bytes().to_vec() };
        complete_renewal(&renewal.parent, &renewal.name)?;
        Ok(renewal)
    }

    fn finish(&self, layout: &Layout) -> Result<(), Error> {
        reshard::renew(&self.parent, &self.name, layout)
    }
}
