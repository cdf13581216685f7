//! Subcommands.

use crate::exit::CliError;
use crate::ui::output;
#[cfg(target_os = "linux")]
pub(crate) use bench::launched;

mod advise;
mod backends;
mod bench;
mod changes;
mod conditions;
mod doctor;
pub(crate) mod engine;
mod error_limiter;
mod generate;
mod interrupt;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(not(target_os = "linux"))]
mod layout {
    pub(crate) use super::unavailable::Args;

    pub(crate) fn run(args: &Args) -> Result<u8, crate::exit::CliError> {
        args.refuse("layout", "it needs Linux")
    }
}
mod limits;
mod list;
mod listed;
mod make;
#[cfg(any(target_os = "linux", windows))]
mod mass_change;
mod owners;
mod progress;
mod prometheus;
mod ranked;
#[cfg(any(target_os = "linux", windows))]
mod remove;
#[cfg(not(any(target_os = "linux", windows)))]
mod remove {
    pub(crate) use super::unavailable::Args;

    pub(crate) fn run(args: &Args) -> Result<u8, crate::exit::CliError> {
        args.refuse("remove", "use 'rm -r'")
    }
}
#[cfg(target_os = "linux")]
mod reshard;
#[cfg(not(target_os = "linux"))]
mod reshard {
    pub(crate) use super::unavailable::Args;

    pub(crate) fn run(args: &Args) -> Result<u8, crate::exit::CliError> {
        args.refuse("reshard", "it needs Linux")
    }
}
mod scan;
mod task;
mod times;
#[cfg(not(target_os = "linux"))]
mod unavailable;
mod usage;
mod values;
pub(crate) mod version;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(Box<list::Args>),
    Make(make::Args),
    Remove(Box<remove::Args>),
    #[cfg_attr(
        not(target_os = "linux"),
        command(about = "Move the files of a directory to another layout (needs Linux)")
    )]
    Reshard(Box<reshard::Args>),
    #[cfg_attr(
        not(target_os = "linux"),
        command(about = "Find out which layout the files of a directory have (needs Linux)")
    )]
    Layout(layout::Args),
    Usage(Box<usage::Args>),
    Scan(Box<scan::Args>),
    Changes(Box<changes::Args>),
    Limits(Box<limits::Args>),
    Advise(Box<advise::Args>),
    Bench(bench::Args),
    Backends(backends::Args),
    Generate(generate::Args),
    Doctor(doctor::Args),
    Version(version::Args),
    /// Run one task of a job on many machines: JSON on standard input, its outcome as JSON on standard output
    #[command(hide = true)]
    Task,
}

impl Command {
    pub(crate) fn asks_for_help(&self) -> Option<&'static str> {
        match self {
            Self::List(args) if args.asks_for_help() => Some("list"),
            _ => None,
        }
    }

    fn prints(&self) -> bool {
        match self {
            Self::List(_)
            | Self::Usage(_)
            | Self::Advise(_)
            | Self::Backends(_)
            | Self::Doctor(_)
            | Self::Layout(_)
            | Self::Version(_)
            | Self::Task => true,
            Self::Limits(args) => !args.quiet,
            Self::Make(args) => args.dry_run,
            Self::Remove(args) => args.prints(),
            Self::Reshard(args) => args.prints(),
            Self::Scan(args) => args.prints(),
            Self::Changes(args) => !args.quiet,
            Self::Bench(args) => args.prints(),
            Self::Generate(args) => args.prints(),
        }
    }

    /// Several copies of it would write, create or remove the same files.
    fn writes(&self) -> bool {
        match self {
            Self::Make(_) | Self::Reshard(_) | Self::Advise(_) => true,
            Self::Remove(args) => args.writes(),
            Self::List(args) => args.writes(),
            Self::Usage(args) => args.writes(),
            Self::Limits(args) => args.writes(),
            Self::Scan(args) => args.writes(),
            Self::Changes(args) => args.writes(),
            Self::Bench(args) => args.writes(),
            Self::Generate(args) => !args.prints(),
            // Copies of a task do no harm.
            Self::Layout(_) | Self::Backends(_) | Self::Doctor(_) | Self::Version(_) | Self::Task => false,
        }
    }
}

pub(crate) fn run(command: Command) -> Result<u8, CliError> {
    engine::refuse_copies(&command)?;
    if command.prints() {
        // Otherwise the report would be lost.
        output::check_open()?;
    }
    match command {
        Command::List(args) => list::run(&args),
        Command::Make(args) => make::run(&args),
        Command::Remove(args) => remove::run(&args),
        Command::Reshard(args) => reshard::run(&args),
        Command::Layout(args) => layout::run(&args),
        Command::Usage(args) => usage::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Changes(args) => changes::run(&args),
        Command::Limits(args) => limits::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Backends(args) => backends::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Version(args) => version::run(&args),
        Command::Task => task::run(),
    }
}
