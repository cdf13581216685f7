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
        let asked = if self.anything.is_empty() { "" } else { "; nothing was changed" };
        Err(CliError::nothing_ran(format!("{command}: unavailable on this system{asked}; {instead}")))
    }
}
