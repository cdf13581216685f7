//! Confirmation and output of the commands that change many entries: the same options, with the same help.

/// Options as given.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(in crate::cmd) struct ChangeOptions {
    /// Do not ask for confirmation
    ///
    /// Without it, changing more than 1000 entries, or an unknown number, needs a confirmation, and fails if
    /// there is no terminal.
    #[arg(short = 'y', long, help_heading = "Confirmation and output")]
    pub(in crate::cmd) yes: bool,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long, help_heading = "Confirmation and output")]
    pub(in crate::cmd) all_errors: bool,
    /// Print only errors
    #[arg(short, long, conflicts_with_all = ["json", "dry_run"], help_heading = "Confirmation and output")]
    pub(in crate::cmd) quiet: bool,
    /// Print a JSON object with the result
    // The command adds its fields.
    #[arg(long, help_heading = "Confirmation and output")]
    pub(in crate::cmd) json: bool,
}
