//! `megadir remove` where nothing is removed yet: one clear line, whatever was asked for.

use std::ffi::OsString;

use crate::exit::CliError;

/// Removes directories and trees; not on this system yet.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Whatever the command takes on Linux.
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    anything: Vec<OsString>,
}

impl Args {
    pub(in crate::cmd) fn prints(&self) -> bool {
        false
    }
}

/// Refuses.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let asked = if args.anything.is_empty() { "" } else { ", and nothing was removed" };
    Err(CliError::nothing_ran(format!("remove: not on this system yet{asked}: use 'rm -r'")))
}
