//! Hidden subcommands: `bench null`, the measured loop without work, for counting its instructions; `bench
//! worker`, started by a run.

use std::time::Duration;

use megadir_bench::WorkerCommand;
use megadir_bench::measure::{Calibration, null_loop, null_loop_untimed};

use crate::exit::{self, CliError};
use crate::parse;
use crate::ui::output::print;

const CALIBRATION: Duration = Duration::from_millis(20);

/// Run the measured loop without work and print the cost of an operation
#[derive(clap::Args)]
pub(crate) struct NullArgs {
    /// Number of operations
    #[arg(long, value_name = "N", default_value = "10M", value_parser = parse::count)]
    operations: u64,
    /// Use the monotonic clock, as on machines without an invariant cycle counter
    #[arg(long)]
    monotonic: bool,
}

pub(crate) fn run_null(args: &NullArgs) -> Result<u8, CliError> {
    let calibration = match args.monotonic {
        true => Calibration { ns_per_tick: None },
        false => Calibration::over(CALIBRATION),
    };
    let null = null_loop(calibration, args.operations);
    let untimed = null_loop_untimed(args.operations.min(1_000_000));
    let clock = if null.cycle_counter { "cycle counter" } else { "monotonic clock" };
    print(&format!(
        "{:.2} ns/op over {} operations ({clock}; median {:.1} ns; histogram / wall time {:.4}; without timing {untimed:.2} ns/op)\n",
        null.ns_per_operation, null.operations, null.median_ns, null.accounted,
    ))?;
    Ok(exit::DONE)
}

/// Work for a run that started this process; of no use by hand
#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    /// Program that a run measures, with its arguments
    #[arg(last = true)]
    program: Vec<std::ffi::OsString>,
}

pub(super) fn worker_command() -> Option<WorkerCommand> {
    let program = match cfg!(target_os = "linux") {
        // The running executable, even if its file was replaced.
        true => "/proc/self/exe".into(),
        // Windows does not allow replacing the file of a running program.
        false => std::env::current_exe().ok()?,
    };
    Some(WorkerCommand { program, arguments: ["bench", "worker"].map(Into::into).into() })
}

pub(crate) fn run_worker(args: &WorkerArgs) -> Result<u8, CliError> {
    let served = match args.program.is_empty() {
        true => megadir_bench::serve(),
        #[cfg(target_os = "linux")]
        false => megadir_bench::launch(&args.program, std::env::var_os("PATH").as_deref()),
        #[cfg(not(target_os = "linux"))]
        false => Err(std::io::ErrorKind::Unsupported.into()),
    };
    match served {
        Ok(()) => Ok(exit::DONE),
        Err(error) => Err(CliError::nothing_ran(format!(
            "{error}; 'megadir bench worker' is started by 'megadir bench run', not by hand"
        ))),
    }
}
