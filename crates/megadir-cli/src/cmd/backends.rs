//! `megadir backends`: the ways of reading a directory, which can be had here, and why the others cannot.

use std::path::PathBuf;

use megadir::{BACKENDS, Dir, policy};

use crate::exit::{self, CliError};
use crate::ui::output;

/// Lists the ways of reading a directory: which are available here, and why the others are not.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory to ask for.
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let directory = Dir::open(&args.directory)?;
    let mut text = String::new();
    for backend in BACKENDS {
        let refused = backend.probe(&directory).err().map(|error| error.reason());
        if args.json {
            let line = serde_json::json!({
                "v": 1,
                "backend": backend.name(),
                "about": backend.about(),
                "available": refused.is_none(),
                "reason": refused,
            });
            text.push_str(&format!("{line}\n"));
            continue;
        }
        let state = if refused.is_none() { "available" } else { "not here" };
        text.push_str(&format!("{:<9} {state}  {}\n", backend.name(), backend.about()));
        if let Some(reason) = refused {
            text.push_str(&format!("{:<9}           {reason}\n", ""));
        }
    }
    if !args.json {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        text.push_str(&format!(
            "\n'{}' would be read by {}\n",
            args.directory.display(),
            policy::choose(&directory, threads)?
        ));
    }
    output::print(&text)?;
    Ok(exit::DONE)
}
