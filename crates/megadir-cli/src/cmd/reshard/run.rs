//! Calls the library, once or until the directory is quiet, and replaces the directory (`--renew`).

use std::path::{Component, Path};
use std::time::{Duration, Instant};

use megadir::layout::Layout;
use megadir::reshard::{self, Counts, ReshardOptions, Stopped, complete_renewal};
use megadir::{Dir, Error, ErrorKind, FileType};

use super::args::Args;
use super::{Results, Work};
use crate::cmd::interrupt::Interrupt;
use crate::cmd::list::source::raise_descriptor_limit;
use crate::cmd::mass_change::size_kept;
use crate::cmd::progress::{Progress, estimate, watched};
use crate::exit::{self, CliError, describe};
use crate::ui::message::quoted;
use crate::ui::new_file::folder_of;

const PAUSE_MIN: Duration = Duration::from_millis(500);
/// A pass takes at most this share of the time.
const PASS_SHARE: u32 = 10;
const SLEEP_MAX: Duration = Duration::from_millis(50);

pub(super) fn run(args: &Args, work: &Work, interrupt: &Interrupt) -> Result<u8, CliError> {
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    raise_descriptor_limit();
    let started = Instant::now();
    let results = Results::new(args, work);
    let progress = reshard::Progress::new();
    let shown = Progress::new("files moved");
    if shown.is_drawn() && work.from.layout == Layout::FLAT {
        shown.counter().expect(estimate(&work.directory), true);
    }
    let on_failure = |error: Error| results.failed(&error);
    let options = work.options(args, &on_failure);
    let mut last = 0;
    let look = || {
        if interrupt.asked() {
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
    let (counts, error) = parts(done?);
    let mut summary = results.summary.borrow_mut();
    summary.finish(counts, started.elapsed(), interrupt.asked());
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

fn parts(done: Result<Counts, Stopped>) -> (Counts, Option<Box<Error>>) {
    match done {
        Ok(counts) => (counts, None),
        Err(Stopped { error, counts }) => (counts, Some(error)),
    }
}

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

/// The last pass removes emptied directories. Counts of files that stay are those of the last complete pass.
fn follow(
    args: &Args,
    work: &Work,
    options: &ReshardOptions<'_>,
    progress: &reshard::Progress,
    results: &Results,
) -> Result<Counts, Stopped> {
    let (mut sum, mut passes) = (Counts::default(), 0);
    let mut quiet_since = Instant::now();
    loop {
        let is_last = args.until_quiet.is_some_and(|quiet| quiet_since.elapsed() >= quiet);
        let options = ReshardOptions { remove_emptied: is_last, ..*options };
        results.summary.borrow_mut().begin_pass();
        let began = Instant::now();
        let (counts, error) = parts(reshard::reshard(&work.directory, &options, progress));
        // A pass that ended early has not met all files that stay.
        let is_whole = error.is_none() && !progress.is_cancelled();
        let stay = if is_whole || passes == 0 { counts } else { sum };
        passes += 1;
        sum = Counts {
            moved: sum.moved + counts.moved,
            directories_made: sum.directories_made + counts.directories_made,
            directories_removed: counts.directories_removed,
            ..stay
        };
        if let Some(error) = error {
            return Err(Stopped { error, counts: sum });
        }
        if is_last || progress.is_cancelled() {
            return Ok(sum);
        }
        if counts.moved > 0 {
            quiet_since = Instant::now();
        }
        let mut pause = PAUSE_MIN.max(began.elapsed() * PASS_SHARE);
        if let Some(quiet) = args.until_quiet {
            pause = pause.min(quiet.saturating_sub(quiet_since.elapsed()));
        }
        let until = Instant::now() + pause;
        while Instant::now() < until && !progress.is_cancelled() {
            std::thread::sleep(SLEEP_MAX.min(until.saturating_duration_since(Instant::now())));
        }
        if progress.is_cancelled() {
            return Ok(sum);
        }
    }
}

/// The directory by its name in its parent, to be replaced (`--renew`).
#[derive(Debug)]
pub(super) struct Renewal {
    parent: Dir,
    name: Vec<u8>,
}

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
