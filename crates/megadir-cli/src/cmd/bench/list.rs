//! `megadir bench list`: built-in studies.

use std::io::IsTerminal;

use megadir_bench::study::{BUILT_IN, Kind, Meta, Study, built_in};
use megadir_bench::{METHODS, Method};

use crate::exit::CliError;
use crate::ui::message::counted;
use crate::ui::output::print;
use crate::ui::screen;

/// List the built-in studies
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also print sources, sizes and methods
    #[arg(short, long)]
    verbose: bool,
}

fn methods(names: &[String]) -> String {
    let used =
        METHODS.iter().filter(|method| names.is_empty() || names.iter().any(|name| name == method.name));
    let line = |method: &Method| {
        let needs = method.needs.map(|needs| format!(" (needs {needs})")).unwrap_or_default();
        format!("  method {}: {}{needs}\n", method.name, method.description)
    };
    used.map(line).collect()
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    print(&if args.verbose { described()? } else { questions()? })
}

pub(super) fn studies() -> impl Iterator<Item = Result<Study, CliError>> {
    BUILT_IN.iter().map(|entry| built_in(entry.name).map_err(CliError::nothing_ran))
}

fn questions() -> Result<String, CliError> {
    let width = screen::width(std::io::stdout().is_terminal());
    let column = BUILT_IN.iter().map(|entry| entry.name.len() + 2).max().unwrap_or(0);
    let mut text = String::new();
    for study in studies() {
        let Meta { name, question, .. } = study?.meta;
        screen::wrapped(&mut text, width, (&format!("{name:column$}"), &" ".repeat(column)), &question);
    }
    Ok(text)
}

fn described() -> Result<String, CliError> {
    let mut text = String::new();
    for study in studies() {
        let study = study?;
        let size = &study.sizes;
        let Meta { name, question, source, .. } = &study.meta;
        text.push_str(&format!("{name}\n  {question}\n  source: {source}\n"));
        let sizes = [("quick", &size.quick), ("default", &size.default), ("published", &size.published)];
        for (name, size) in sizes {
            let entries = counted(size.entries, "entry", "entries");
            let rounds = counted(size.rounds.into(), "round", "rounds");
            text.push_str(&format!("  {name}: {entries}, {rounds}\n"));
        }
        if let Kind::StatAll(spec) = &study.kind {
            text.push_str(&methods(&spec.methods));
        }
    }
    Ok(text)
}
