//! `megadir backends`: methods of reading a directory and of querying attributes, with their availability.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use megadir::{BACKENDS, Dir, STAT_BACKENDS, StatMask, attribute_policy, policy};

use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::object::Object;
use crate::ui::{output, screen};

/// List the methods of reading directories and attributes
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
    /// Fields: v (format version, 1), backend or stat_backend, about, available, picked, reason (null if available).
    #[arg(long)]
    json: bool,
}

struct Way {
    name: &'static str,
    about: &'static str,
    picked: bool,
    refused: Option<String>,
}

/// Each backend is probed in the directory itself, because a kernel may have a call that the file system or a
/// container's filter refuses. The policy is asked once for names and once for attributes, so the marked
/// backends are the ones that `megadir list` and `megadir list --long` would use. A backend that is
/// unavailable is a line of the output, not a failure of the command. Text is wrapped only on terminals,
/// since programs read the lines of a pipe.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let directory = Dir::open(&args.directory)?;
    let listed = policy::choose_freely(&directory)?;
    let examined = attribute_policy::choose_freely(&directory, StatMask::ALL)?;
    let way = |name: &'static str, about, picked: &str, probed: megadir::Result<()>| Way {
        name,
        about,
        picked: picked == name,
        refused: probed.err().map(|error| error.reason()),
    };
    let picked = (listed.backend.name(), examined.stat_backend.name());
    let backends = BACKENDS
        .iter()
        .map(|backend| way(backend.name(), backend.about(), picked.0, backend.probe(&directory)));
    let stat_backends = STAT_BACKENDS
        .iter()
        .map(|backend| way(backend.name(), backend.about(), picked.1, backend.probe(&directory)));
    let mut text = String::new();
    if args.json {
        text.extend(backends.map(|way| json("backend", &way)));
        text.extend(stat_backends.map(|way| json("stat_backend", &way)));
    } else {
        let path = quoted(&args.directory);
        let width = if io::stdout().is_terminal() { screen::width(true) } else { usize::MAX };
        lines(&mut text, width, backends);
        text.push('\n');
        let sentence = format!("'megadir list' reads {path} with {listed}");
        screen::wrapped(&mut text, width, ("", "  "), &sentence);
        text.push('\n');
        lines(&mut text, width, stat_backends);
        text.push('\n');
        let sentence = format!("'megadir list --long' queries attributes with {examined}");
        screen::wrapped(&mut text, width, ("", "  "), &sentence);
    }
    output::print(&text)
}

fn lines(text: &mut String, line_width: usize, ways: impl Iterator<Item = Way>) {
    let ways: Vec<Way> = ways.collect();
    let width = ways.iter().map(|way| way.name.len()).fold(12, usize::max);
    let below = " ".repeat(width + 14);
    for way in ways {
        let state = if way.refused.is_none() { "available" } else { "unavailable" };
        let first = format!("{:<width$} {state:<11}  ", way.name);
        screen::wrapped(text, line_width, (&first, &below), way.about);
        if let Some(reason) = &way.refused {
            screen::wrapped(text, line_width, (&below, &below), &format!("because {reason}"));
        }
    }
}

fn json(of: &str, way: &Way) -> String {
    Object::text(|object| {
        object.string(of, way.name);
        object.string("about", way.about);
        object.raw("available", way.refused.is_none());
        object.raw("picked", way.picked);
        object.string_or_null("reason", way.refused.as_deref());
    })
}
