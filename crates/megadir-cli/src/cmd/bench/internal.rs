//! Hidden subcommands: `bench null`, the measured loop without work, and `bench worker`, started by a run.

#[cfg(target_os = "linux")]
use std::ffi::OsString;
use std::time::Duration;

use megadir_bench::WorkerCommand;
#[cfg(target_os = "linux")]
use megadir_bench::lab::{SERVES_DISK, serve_disk};
use megadir_bench::measure::{Calibration, null_loop, null_loop_untimed};

use crate::cmd::values;
use crate::exit::{self, CliError};
use crate::ui::output::print;

const CALIBRATION: Duration = Duration::from_millis(20);

/// Run the measured loop without work and print the cost of an operation
#[derive(clap::Args)]
pub(crate) struct NullArgs {
    /// Number of operations
    #[arg(long, value_name = "N", default_value = "10M", value_parser = values::count)]
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
    ))
}

const WORKER: [&str; 2] = ["bench", "worker"];

pub(super) fn worker_command() -> Option<WorkerCommand> {
    let program = match cfg!(target_os = "linux") {
        // The running executable, even if its file was replaced.
        true => "/proc/self/exe".into(),
        false => std::env::current_exe().ok()?,
    };
    Some(WorkerCommand { program, arguments: WORKER.map(Into::into).into() })
}

pub(crate) fn run_worker() -> Result<u8, CliError> {
    ended(megadir_bench::serve())
}

/// `None` unless the arguments are those of a launcher ([`megadir_bench::launch`]) or of the server of a disk. They are not parsed with
/// all others: the memory for that would count as the program's.
#[cfg(target_os = "linux")]
pub(crate) fn launched(words: &[OsString]) -> Option<Result<u8, CliError>> {
    let [_, bench, worker, role, rest @ ..] = words else { return None };
    let is_worker = bench == WORKER[0] && worker == WORKER[1];
    match role.to_str().filter(|_| is_worker)? {
        "--" => Some(ended(megadir_bench::launch(rest, std::env::var_os("PATH").as_deref()))),
        SERVES_DISK => Some(ended(serve_disk(rest))),
        _ => None,
    }
}

fn ended(work: std::io::Result<()>) -> Result<u8, CliError> {
    match work {
        Ok(()) => Ok(exit::DONE),
        Err(error) => Err(CliError::nothing_ran(format!(
            "{error}; 'megadir bench worker' is started by 'megadir bench run', not by hand"
        ))),
    }
}
