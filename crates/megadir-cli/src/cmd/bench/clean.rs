//! `megadir bench clean`: removes the leftovers of killed runs.

use std::io;
use std::path::PathBuf;

use megadir_bench::Leftovers;

use super::record_file;
use crate::cmd::interrupt::interruptible;
use crate::exit::{self, CliError};
use crate::ui::message::{quoted, reason};
use crate::ui::output::print;

/// Remove the leftovers of killed runs
///
/// Removes only directories that a dead run of this program marked, disks in memory (/dev/zramN) of such runs, and records
/// (.megadir-record-*.partial) that no run is writing. A run also removes such directories where it creates its own, and such disks.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory that the runs worked below
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print only errors
    #[arg(short, long, conflicts_with = "dry_run")]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let mut found = interruptible(|interrupt| {
        let found = match args.dry_run {
            true => megadir_bench::leftovers(&args.directory),
            false => megadir_bench::clean(&args.directory, &interrupt.beat),
        };
        found.map_err(|error| failed(args, &error))
    })?;
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
        eprintln!("megadir: no leftovers of killed runs in '{}'", args.directory.display());
    }
    Ok(if found.left.is_empty() { exit::DONE } else { exit::SOME_FAILED })
}

fn failed(args: &Args, error: &io::Error) -> CliError {
    CliError::nothing_ran(format!("clean {}: {}", quoted(&args.directory), reason(error)))
}

fn remove_records(args: &Args, found: &mut Leftovers) -> Result<(), CliError> {
    for name in record_file::abandoned(&args.directory).map_err(|error| failed(args, &error))? {
        let removed = if args.dry_run { Ok(()) } else { std::fs::remove_file(args.directory.join(&name)) };
        match removed {
            Ok(()) => found.removed.push(name),
            Err(error) => found.left.push((name, reason(&error))),
        }
    }
    Ok(())
}
