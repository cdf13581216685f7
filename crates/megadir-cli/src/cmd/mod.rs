//! The subcommands: one file each, one word here.

use crate::exit::CliError;

mod advise;
mod backends;
mod bar;
mod bench;
mod changes;
mod complaints;
mod interrupt;
mod limits;
mod list;
mod make;
#[cfg(any(target_os = "linux", windows))]
mod remove;
#[cfg(not(any(target_os = "linux", windows)))]
mod remove_unavailable;
#[cfg(not(any(target_os = "linux", windows)))]
use remove_unavailable as remove;
mod scan;

/// What to do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(Box<list::Args>),
    Make(make::Args),
    Remove(Box<remove::Args>),
    Scan(Box<scan::Args>),
    Changes(Box<changes::Args>),
    Limits(Box<limits::Args>),
    Advise(Box<advise::Args>),
    Bench(bench::Args),
    Backends(backends::Args),
}

/// Runs a subcommand and returns the exit code.
pub(crate) fn run(command: Command) -> Result<u8, CliError> {
    match command {
        Command::List(args) => list::run(&args),
        Command::Make(args) => make::run(&args),
        Command::Remove(args) => remove::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Changes(args) => changes::run(&args),
        Command::Limits(args) => limits::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Backends(args) => backends::run(&args),
    }
}
