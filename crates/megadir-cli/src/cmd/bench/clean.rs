//! `megadir bench clean`: removes what killed runs left.

use std::path::PathBuf;

use megadir_bench::Leftovers;

use super::record_file;
use crate::cmd::interrupt::interruptible;
use crate::exit::{self, CliError};
use crate::ui::message::{quoted, reason};
use crate::ui::output::print;

/// Removes what killed runs left: directories, and records that were not begun; a run removes such directories where it makes its own.
///
/// Only directories that a run of this program marked, and whose run is dead, are touched, and files `.megadir-record-*.partial` that
/// no run writes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory below which runs made theirs.
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Print what would be removed, and remove nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print nothing but what was left alone, e.g. for cron.
    #[arg(short, long, conflicts_with = "dry_run")]
    quiet: bool,
}

/// Removes them, or tells which.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let found = interruptible(|interrupt| {
        let found = match args.dry_run {
            true => megadir_bench::leftovers(&args.directory),
            false => megadir_bench::clean(&args.directory, &interrupt.beat),
        };
        found.map_err(|error| {
            let reason = reason(&error);
            CliError::nothing_ran(format!("clean {}: {reason}", quoted(&args.directory)))
        })
    })?;
    let mut found = found;
    remove_records(args, &mut found)?;
    let path = |name: &str| args.directory.join(name);
    if args.dry_run {
        let line = |name: &String| format!("would remove {}\n", quoted(&path(name)));
        print(&found.removed.iter().map(line).collect::<String>())?;
    } else if !args.quiet {
        for name in &found.removed {
            eprintln!("megadir: removed {}", path(name).display());
        }
    }
    for (name, reason) in &found.left {
        eprintln!("megadir: left {} alone: {reason}", path(name).display());
    }
    if found.removed.is_empty() && found.left.is_empty() && !args.quiet {
        eprintln!("megadir: nothing left by killed runs in '{}'", args.directory.display());
    }
    Ok(if found.left.is_empty() { exit::DONE } else { exit::SOME_FAILED })
}

/// Removes records that killed runs had not begun.
fn remove_records(args: &Args, found: &mut Leftovers) -> Result<(), CliError> {
    let names = record_file::abandoned(&args.directory).map_err(|error| {
        let reason = reason(&error);
        CliError::nothing_ran(format!("clean {}: {reason}", quoted(&args.directory)))
    })?;
    for name in names {
        let removed = if args.dry_run { Ok(()) } else { std::fs::remove_file(args.directory.join(&name)) };
        match removed {
            Ok(()) => found.removed.push(name),
            Err(error) => found.left.push((name, reason(&error))),
        }
    }
    Ok(())
}
