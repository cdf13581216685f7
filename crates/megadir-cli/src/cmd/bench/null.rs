//! `megadir bench null`: the measured loop with nothing in it, for counting its instructions.

use megadir_bench::measure::{Calibration, null_loop, null_loop_untimed};

use std::time::Duration;

use crate::exit::{self, CliError};
use crate::parse;
use crate::ui::output::print;

/// The cycle counter is held against the monotonic clock for so long.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Runs the measured loop with nothing in it and prints what an operation costs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many operations.
    #[arg(long, value_name = "N", default_value = "10M", value_parser = parse::count)]
    operations: u64,
    /// Read the monotonic clock, as where the cycle counter is not invariant.
    #[arg(long)]
    monotonic: bool,
}

/// Runs the loop.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
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
