//! `megadir backends`: methods of reading a directory and of querying attributes, with their availability.

use std::path::PathBuf;

use megadir::{BACKENDS, Dir, STAT_BACKENDS, StatMask, attribute_policy, policy};

use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::{escape, output};

/// List the methods of reading directories and attributes, and which are available
///
/// Backends read a directory (list --backend); stat backends query attributes (list --stat-backend). Also prints the
/// methods that 'megadir list' would pick, and why others are unavailable.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory to check; availability depends on its file system
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    directory: PathBuf,
    /// Print one JSON object per method
    ///
    /// Fields: v (format version, 1), backend or stat_backend, about, available, picked, reason (null if
    /// available).
    #[arg(long)]
    json: bool,
}

struct Way {
    name: &'static str,
    about: &'static str,
    picked: bool,
    refused: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let directory = Dir::open(&args.directory)?;
    let threads = policy::threads(directory.file_system(), policy::processors());
    let listed = policy::choose(&directory, threads)?;
    let examined = attribute_policy::choose(&directory, StatMask::ALL, threads)?;
    let refused = |probed: megadir::Result<()>| probed.err().map(|error| error.reason());
    let backends = BACKENDS.iter().map(|backend| Way {
        name: backend.name(),
        about: backend.about(),
        picked: listed.backend.name() == backend.name(),
        refused: refused(backend.probe(&directory)),
    });
    let stat_backends = STAT_BACKENDS.iter().map(|stat_backend| Way {
        name: stat_backend.name(),
        about: stat_backend.about(),
        picked: examined.stat_backend.name() == stat_backend.name(),
        refused: refused(stat_backend.probe(&directory)),
    });
    let mut text = Vec::new();
    if args.json {
        backends.for_each(|way| json_line(&mut text, "backend", &way));
        stat_backends.for_each(|way| json_line(&mut text, "stat_backend", &way));
    } else {
        let path = quoted(&args.directory);
        lines(&mut text, backends);
        text.extend_from_slice(format!("\n'megadir list' reads {path} with {listed}\n\n").as_bytes());
        lines(&mut text, stat_backends);
        text.extend_from_slice(
            format!("\n'megadir list --long' queries attributes with {examined}\n").as_bytes(),
        );
    }
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(exit::DONE)
}

fn lines(text: &mut Vec<u8>, ways: impl Iterator<Item = Way>) {
    let ways: Vec<Way> = ways.collect();
    let width = ways.iter().map(|way| way.name.len()).fold(12, usize::max);
    for way in ways {
        let state = if way.refused.is_none() { "available" } else { "unavailable" };
        text.extend_from_slice(format!("{:<width$} {state:<11}  {}\n", way.name, way.about).as_bytes());
        if let Some(reason) = &way.refused {
            text.extend_from_slice(format!("{:<1$} because {reason}\n", "", width + 13).as_bytes());
        }
    }
}

fn json_line(text: &mut Vec<u8>, of: &str, way: &Way) {
    text.extend_from_slice(format!("{{\"v\":1,\"{of}\":").as_bytes());
    escape::json_string(text, way.name);
    text.extend_from_slice(b",\"about\":");
    escape::json_string(text, way.about);
    let (available, picked) = (way.refused.is_none(), way.picked);
    text.extend_from_slice(format!(",\"available\":{available},\"picked\":{picked},\"reason\":").as_bytes());
    match &way.refused {
        Some(reason) => escape::json_string(text, reason),
        None => text.extend_from_slice(b"null"),
    }
    text.extend_from_slice(b"}\n");
}
