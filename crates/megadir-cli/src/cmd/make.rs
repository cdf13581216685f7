//! `megadir make`: fills a directory with files, again from where it was left.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use megadir_bench::dataset::{FillError, FillProgress, FillSpec, Filled, fill};
use megadir_record::NameScheme;

use super::interrupt::{Interrupt, interruptible};
use crate::exit::{self, CliError};
use crate::parse;
use crate::ui::escape;

/// Fills a directory with files whose names and contents follow from a seed.
///
/// The directory is made if it does not exist. Running the same command again makes only what is missing
/// and completes files that were cut short; whatever else has one of the names is left alone (exit code 1).
/// An empty file of that name counts as cut short, unless it has other names or is another user's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory to fill.
    directory: PathBuf,
    /// How many files, e.g. 1M.
    #[arg(short = 'n', long, value_name = "N", value_parser = parse::count)]
    entries: u64,
    /// The size of each file, e.g. 10 or 4KiB.
    #[arg(long, value_name = "SIZE", default_value = "10", value_parser = parse::bytes)]
    size: u64,
    /// How names are made: 32 hex digits (md5 of SEED:INDEX), 16 hex digits, or file000000000000 and so on.
    #[arg(long, value_enum, default_value = "md5")]
    names: Names,
    /// The seed of names and contents.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The ways of making names.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Names {
    /// The MD5 digest of SEED:INDEX in hex, 32 characters.
    Md5,
    /// A pseudorandom permutation of the index in hex, 16 characters.
    Hex,
    /// `file` and the index in 12 digits.
    Sequence,
}

/// Fills the directory.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    if args.entries > megadir_bench::plan::ENTRIES_MAX * 100 {
        return Err(CliError::usage(format!("{} files are more than any directory holds", args.entries)));
    }
    let spec = FillSpec {
        entries: args.entries,
        names: match args.names {
            Names::Md5 => NameScheme::Md5,
            Names::Hex => NameScheme::Hex,
            Names::Sequence => NameScheme::Sequence,
        },
        size_bytes: args.size,
        seed: args.seed,
    };
    interruptible(|interrupt| make(args, &spec, interrupt))
}

fn make(args: &Args, spec: &FillSpec, interrupt: &Interrupt) -> Result<u8, CliError> {
    let bar = bar(args.entries);
    let mut progress = |progress: FillProgress| {
        interrupt.beat.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        bar.set_position(progress.done);
    };
    let filled = fill(&args.directory, spec, &mut progress, &interrupt.stop);
    bar.finish_and_clear();
    let filled = filled.map_err(|error| explain(&error))?;
    eprintln!("megadir: '{}': {}", args.directory.display(), summary(&filled));
    if filled.stopped {
        eprintln!("megadir: interrupted; the same command goes on from here");
        return Ok(exit::INTERRUPTED);
    }
    if filled.taken > 0 {
        for name in &filled.taken_names {
            let mut text = Vec::new();
            escape::terminal(&mut text, name);
            eprintln!("megadir: left alone: '{}' is something else", String::from_utf8_lossy(&text));
        }
        let more = filled.taken - filled.taken_names.len() as u64;
        if more > 0 {
            eprintln!("megadir: left alone: {more} more");
        }
        return Ok(exit::SOME_FAILED);
    }
    Ok(exit::DONE)
}

/// Returns a bar for `entries` files, hidden where no terminal shows it.
fn bar(entries: u64) -> ProgressBar {
    let bar = ProgressBar::new(entries);
    let template = "{bar:30} {human_pos} of {human_len} files, {per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn summary(filled: &Filled) -> String {
    let mut text = format!("{} made", filled.made);
    let others = [
        (filled.already, "there already"),
        (filled.completed, "completed"),
        (filled.taken, "taken by something else"),
    ];
    for (count, what) in others {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

fn explain(error: &FillError) -> CliError {
    let message = error.to_string();
    match error {
        FillError::NoRoom { made, .. } | FillError::Make { made, .. } if *made > 0 => {
            CliError { message: format!("{message}; what was made stays"), code: exit::SOME_FAILED }
        }
        _ => CliError::nothing_ran(message),
    }
}
