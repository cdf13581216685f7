//! `megadir bench clean`: removes what killed runs left.

use std::path::PathBuf;

use crate::cmd::interrupt::interruptible;
use crate::exit::{self, CliError};
use crate::ui::message::quoted;

/// Removes directories that killed runs left; a run does the same where it makes its own.
///
/// Only directories that a run of this program marked, and whose run is dead, are touched.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory below which runs made theirs.
    #[arg(default_value = ".")]
    directory: PathBuf,
}

/// Removes them.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let found = interruptible(|interrupt| {
        megadir_bench::clean(&args.directory, &interrupt.beat).map_err(|error| {
            let words = error.to_string();
            let reason = words.split(" (os error").next().unwrap_or(&words);
            CliError::nothing_ran(format!("clean {}: {reason}", quoted(&args.directory)))
        })
    })?;
    for name in &found.removed {
        eprintln!("megadir: removed {}", args.directory.join(name).display());
    }
    for (name, reason) in &found.left {
        eprintln!("megadir: left {} alone: {reason}", args.directory.join(name).display());
    }
    if found.removed.is_empty() && found.left.is_empty() {
        eprintln!("megadir: nothing left by killed runs in '{}'", args.directory.display());
    }
    Ok(if found.left.is_empty() { exit::DONE } else { exit::SOME_FAILED })
}
