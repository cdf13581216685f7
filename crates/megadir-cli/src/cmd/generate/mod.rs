//! `megadir generate`: man pages and shell completions, from the definitions that parse the command line.

mod known;
mod lists;
mod man;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Command, ValueEnum};
use clap_complete::{Generator, Shell};
use megadir_inventory::open_to_write;

use self::lists::Lists;
use crate::exit::{self, CliError};
use crate::ui::message::{quoted, reason};
use crate::ui::output::print_with;

const PROGRAM: &str = "megadir";

/// Print man pages or shell completions
///
/// Completions know the names of studies, backends, file systems, charts and other closed sets. bash loads them from
/// ~/.local/share/bash-completion/completions/megadir, fish from ~/.config/fish/completions/megadir.fish, zsh from a file
/// _megadir in a directory of its fpath.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Man pages, or completions of a shell
    #[arg(value_name = "KIND", value_enum)]
    kind: Kind,
    /// Write files into DIR, which is created if missing, instead of standard output
    ///
    /// Man pages: one per command. Completions: one file with the name that the shell expects. Existing files are replaced.
    #[arg(short, long, value_name = "DIR", value_parser = exit::directory_parser())]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Manual in the format of man; on standard output all pages one after another
    Man,
    /// Completions for bash 4.4 or later
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
    /// Completions for PowerShell
    Powershell,
}

struct Page {
    name: String,
    bytes: Vec<u8>,
}

impl Args {
    pub(super) fn prints(&self) -> bool {
        self.output.is_none()
    }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let program = crate::program();
    let pages = match args.kind {
        Kind::Man => man::pages(program).map_err(CliError::nothing_ran)?,
        Kind::Bash => vec![completions(Shell::Bash, program)],
        Kind::Zsh => vec![completions(Shell::Zsh, program)],
        Kind::Fish => vec![completions(Shell::Fish, program)],
        Kind::Powershell => vec![completions(Shell::PowerShell, program)],
    };
    match &args.output {
        Some(directory) => write(directory, &pages)?,
        None => print_with(|output| pages.iter().try_for_each(|page| output.write_all(&page.bytes)))?,
    }
    Ok(exit::DONE)
}

fn completions(shell: Shell, mut program: Command) -> Page {
    program.build();
    let mut lists = Lists::default();
    let mut program =
        lists::with_placeholders(known::with_values(known::without_hidden(&program)), &mut lists);
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut program, PROGRAM, &mut bytes);
    let mut script = String::from_utf8_lossy(&bytes).into_owned();
    if shell == Shell::Fish {
        script.push_str(&known::fish_operands(&program));
    }
    let bytes = lists.complete(shell, script).into_bytes();
    let name = match shell {
        // bash-completion finds it by this name.
        Shell::Bash => PROGRAM.to_owned(),
        _ => shell.file_name(PROGRAM),
    };
    Page { name, bytes }
}

fn write(directory: &Path, pages: &[Page]) -> Result<(), CliError> {
    let cannot = |action: &str, path: &Path, error: &std::io::Error| {
        CliError::nothing_ran(format!("cannot {action} {}: {}", quoted(path), reason(error)))
    };
    std::fs::create_dir_all(directory).map_err(|error| cannot("create", directory, &error))?;
    for page in pages {
        let path = directory.join(&page.name);
        let mut file = open_to_write(&path, File::options().write(true).create(true).truncate(true))?;
        file.write_all(&page.bytes).map_err(|error| cannot("write", &path, &error))?;
    }
    Ok(())
}
