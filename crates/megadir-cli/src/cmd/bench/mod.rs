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

impl Args {
    pub(super) fn prints(&self) -> bool {
        match &self.command {
            Command::Report(args) => args.output.is_none(),
            Command::Clean(args) => args.dry_run,
            Command::Compare(args) => !args.quiet,
            Command::Worker => false,
            Command::List(_)
            | Command::Run(_)
            | Command::Commands(_)
            | Command::Filesystems(_)
            | Command::Null(_) => true,
        }
    }

    pub(super) fn writes(&self) -> bool {
        match &self.command {
            Command::Run(args) => args.engine.is_none(),
            Command::Commands(_) | Command::Clean(_) => true,
            Command::Report(args) => args.output.is_some(),
            Command::List(_)
            | Command::Compare(_)
            | Command::Filesystems(_)
            | Command::Null(_)
            | Command::Worker => false,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Run(args) if args.study.as_deref() == Some(all::NAME) => all::run(args),
        Command::Run(args) => run::run(args),
        Command::Commands(args) => commands::run(args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Filesystems(args) => filesystems::run(args),
        Command::Clean(args) => clean::run(args),
        Command::Null(args) => internal::run_null(args),
        Command::Worker => internal::run_worker(),
    }
}
