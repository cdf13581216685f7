//! `megadir bench`: studies, runs and reports.

mod all;
mod clean;
mod commands;
mod compare;
mod describe;
mod filesystems;
mod internal;
mod lab;
mod list;
mod options;
mod place;
mod progress;
mod record_file;
mod report;
mod resume;
mod run;
mod volumes;
mod work;

#[cfg(target_os = "linux")]
pub(crate) use internal::launched;
pub(super) use options::drawn_seed;
pub(super) use progress::Progress;
pub(super) use run::program;

use super::start;
use crate::exit::CliError;

/// Run benchmark studies and report their results
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Args),
    Run(Box<options::Args>),
    Commands(Box<commands::Args>),
    Report(report::Args),
    Compare(compare::Args),
    Filesystems(filesystems::Args),
    Clean(clean::Args),
    #[command(hide = true)]
    Null(internal::NullArgs),
    #[command(hide = true)]
    /// Work for a run that started this process; of no use by hand
    Worker,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    match &args.command {
        Command::List(args) => start(true, false, || list::run(args)),
        Command::Run(args) => start(true, args.engine.is_none(), || match args.study.as_deref() {
            Some(all::NAME) => all::run(args),
            _ => run::run(args),
        }),
        Command::Commands(args) => start(true, true, || commands::run(args)),
        Command::Report(args) => start(args.output.is_none(), args.output.is_some(), || report::run(args)),
        Command::Compare(args) => start(!args.quiet, false, || compare::run(args)),
        Command::Filesystems(args) => start(true, false, || filesystems::run(args)),
        Command::Clean(args) => start(args.dry_run, true, || clean::run(args)),
        Command::Null(args) => start(true, false, || internal::run_null(args)),
        Command::Worker => start(false, false, internal::run_worker),
    }
}
