//! `megadir remove` on systems without support: one error line for any arguments.

use std::ffi::OsString;

use crate::exit::CliError;

/// Remove directories and trees (unavailable on this system)
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
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let asked = if args.anything.is_empty() { "" } else { "; nothing was removed" };
    Err(CliError::nothing_ran(format!("remove: unavailable on this system{asked}; use 'rm -r'")))
}
