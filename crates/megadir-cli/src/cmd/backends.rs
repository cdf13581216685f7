//! `megadir backends`: the ways of reading a directory, which can be had here, and why the others cannot.

use std::path::PathBuf;

use megadir::{BACKENDS, Backend, Dir, policy};

use super::list::source;
use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::{escape, output};

/// Shows the ways of reading a directory: which are available here, why the others are not, and which
/// one 'megadir list' would pick.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory to ask for: what is available depends on its file system.
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    directory: PathBuf,
    /// Print a JSON object a line: v, backend, about, available, picked, reason (null or why not available).
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let directory = Dir::open(&args.directory)?;
    let picked = policy::choose(&directory, policy::threads(directory.file_system(), source::processors()))?;
    let mut text = Vec::new();
    for backend in BACKENDS {
        let refused = backend.probe(&directory).err().map(|error| error.reason());
        if args.json {
            json_line(&mut text, *backend, picked.backend.name() == backend.name(), refused.as_deref());
            continue;
        }
        let state = if refused.is_none() { "available" } else { "not here" };
        text.extend_from_slice(format!("{:<9} {state:<9}  {}\n", backend.name(), backend.about()).as_bytes());
        if let Some(reason) = refused {
            text.extend_from_slice(format!("{:<20} because {reason}\n", "").as_bytes());
        }
    }
    if !args.json {
        let path = quoted(&args.directory);
        text.extend_from_slice(format!("\n'megadir list' reads {path} with {picked}\n").as_bytes());
    }
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(exit::DONE)
}

fn json_line(text: &mut Vec<u8>, backend: &dyn Backend, picked: bool, refused: Option<&str>) {
    text.extend_from_slice(b"{\"v\":1,\"backend\":");
    escape::json_string(text, backend.name());
    text.extend_from_slice(b",\"about\":");
    escape::json_string(text, backend.about());
    let available = refused.is_none();
    text.extend_from_slice(format!(",\"available\":{available},\"picked\":{picked},\"reason\":").as_bytes());
    match refused {
        Some(reason) => escape::json_string(text, reason),
        None => text.extend_from_slice(b"null"),
    }
    text.extend_from_slice(b"}\n");
}
