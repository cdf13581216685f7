//! Subcommands.
//!
//! | subject | modules |
//! |---|---|
//! | read a directory or a tree | `list`, `usage`, `scan`, `changes`, `compare`, `limits`, `layout`, `backends` |
//! | pack one | `pack` |
//! | change one | `make`, `remove`, `reshard`; `mass_change` has the options, the question and the failures that the last two share |
//! | choose and measure | `advise`, `bench` |
//! | many processes | `engine`, `ranked`, `task` |
//! | the program itself | `generate`, `doctor`, `version` |
//! | shared by several | `conditions`, `values`, `listed`, `owners`, `times`, `progress`, `interrupt`, `error_limiter`, `line_form`, `prometheus` |
//!
//! Exit codes are in `ui/exit.rs`. A closed pipe ends a command quietly. JSON lines carry `"v":1`.

use crate::deferred::Deferred;
use crate::exit::CliError;
use crate::ui::output;
#[cfg(target_os = "linux")]
pub(crate) use bench::launched;

mod advise;
mod amount;
mod backends;
mod bench;
mod changes;
pub(crate) use changes::with_joined_share;
mod compare;
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
mod line_form;
mod list;
mod listed;
mod make;
#[cfg(any(target_os = "linux", windows))]
mod mass_change;
mod moment;
mod owners;
#[cfg(target_os = "linux")]
mod pack;
#[cfg(not(target_os = "linux"))]
mod pack {
    pub(crate) use super::unavailable::Args;

    pub(crate) fn run(args: &Args) -> Result<u8, crate::exit::CliError> {
        args.refuse("pack", "it needs Linux")
    }
}
mod progress;
mod prometheus;
mod ranked;
mod recorded;
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
mod unavailable {
    //! Commands on systems without support: one error line for any arguments.

    use std::ffi::OsString;

    use crate::exit::CliError;

    /// Unavailable on this system
    #[derive(clap::Args)]
    pub(crate) struct Args {
        /// Arguments of the supported systems, ignored.
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        anything: Vec<OsString>,
    }

    impl Args {
        pub(in crate::cmd) fn prints(&self) -> bool {
            false
        }

        /// Removal is available on Windows.
        #[cfg(not(windows))]
        pub(in crate::cmd) fn writes(&self) -> bool {
            false
        }

        pub(in crate::cmd) fn refuse(&self, command: &str, instead: &str) -> Result<u8, CliError> {
            let unchanged = if self.anything.is_empty() { "" } else { "; nothing was changed" };
            Err(CliError::nothing_ran(format!("{command}: unavailable on this system{unchanged}; {instead}")))
        }
    }
}
mod usage;
mod values;
pub(crate) mod version;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(Deferred<list::Args>),
    Make(Deferred<make::Args>),
    Remove(Deferred<remove::Args>),
    #[cfg_attr(
        not(target_os = "linux"),
        command(about = "Move the files of a directory to another layout (needs Linux)")
    )]
    Reshard(Deferred<reshard::Args>),
    #[cfg_attr(
        not(target_os = "linux"),
        command(about = "Find out which layout the files of a directory have (needs Linux)")
    )]
    Layout(Deferred<layout::Args>),
    Usage(Deferred<usage::Args>),
    Scan(Deferred<scan::Args>),
    Changes(Deferred<changes::Args>),
    Compare(Deferred<compare::Args>),
    #[cfg_attr(
        not(target_os = "linux"),
        command(about = "Pack a tree of very many files into tar files with an index (needs Linux)")
    )]
    Pack(Deferred<pack::Args>),
    Limits(Deferred<limits::Args>),
    Advise(Deferred<advise::Args>),
    Bench(Deferred<bench::Args>),
    Backends(Deferred<backends::Args>),
    Generate(Deferred<generate::Args>),
    Doctor(Deferred<doctor::Args>),
    Version(Deferred<version::Args>),
    /// Run one task of a job on many machines: JSON on standard input, its outcome as JSON on standard output
    #[command(hide = true)]
    Task,
}

impl Command {
    pub(crate) fn requests_help(&self) -> bool {
        matches!(self, Self::List(args) if args.requests_help())
    }
}

pub(crate) fn run(command: &Command) -> Result<u8, CliError> {
    match command {
        Command::List(args) => start(true, args.writes(), || list::run(args)),
        Command::Make(args) => start(args.dry_run, true, || make::run(args)),
        Command::Remove(args) => start(args.prints(), args.writes(), || remove::run(args)),
        Command::Reshard(args) => start(args.prints(), true, || reshard::run(args)),
        Command::Layout(args) => start(true, false, || layout::run(args)),
        Command::Usage(args) => start(true, args.writes(), || usage::run(args)),
        Command::Scan(args) => start(args.prints(), args.writes(), || scan::run(args)),
        Command::Changes(args) => start(!args.quiet, args.writes(), || changes::run(args)),
        Command::Compare(args) => start(!args.quiet, false, || compare::run(args)),
        Command::Pack(args) => pack::run(args),
        Command::Limits(args) => start(!args.quiet, args.writes(), || limits::run(args)),
        Command::Advise(args) => start(true, true, || advise::run(args)),
        Command::Bench(args) => bench::run(args),
        Command::Backends(args) => start(true, false, || backends::run(args)),
        Command::Generate(args) => start(args.prints(), !args.prints(), || generate::run(args)),
        Command::Doctor(args) => start(true, false, || doctor::run(args)),
        Command::Version(args) => start(true, false, || version::run(args)),
        // Copies of a task do no harm.
        Command::Task => start(true, false, task::run),
    }
}

/// `prints`: to standard output. `writes`: several copies of the command would write, create or remove the same files.
fn start(prints: bool, writes: bool, work: impl FnOnce() -> Result<u8, CliError>) -> Result<u8, CliError> {
    engine::refuse_copies(writes)?;
    if prints {
        // Otherwise the report would be lost.
        output::check_open()?;
    }
    work()
}
