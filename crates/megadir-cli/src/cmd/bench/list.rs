//! `megadir bench list`: built-in studies.

use megadir_bench::METHODS;
use megadir_bench::study::{BUILT_IN, Kind, built_in};

use crate::exit::{self, CliError};
use crate::ui::output::print;

/// List the built-in studies
#[derive(clap::Args)]
pub(crate) struct Args {}

/// All methods if the study names none.
fn methods(names: &[String]) -> String {
    let mut text = String::new();
    for method in
        METHODS.iter().filter(|method| names.is_empty() || names.iter().any(|name| name == method.name))
    {
        let needs = method.needs.map(|needs| format!(" (needs {needs})")).unwrap_or_default();
        text.push_str(&format!("  method {}: {}{needs}\n", method.name, method.what));
    }
    text
}

pub(crate) fn run(_args: &Args) -> Result<u8, CliError> {
    let mut text = String::new();
    for entry in BUILT_IN {
        let study = built_in(entry.name).map_err(|error| CliError::nothing_ran(error.to_string()))?;
        let size = &study.sizes;
        text.push_str(&format!("{}\n  {}\n", study.meta.name, study.meta.question));
        text.push_str(&format!("  source: {}\n", study.meta.source));
        let sizes = [("quick", &size.quick), ("default", &size.default), ("published", &size.published)];
        for (name, size) in sizes {
            text.push_str(&format!("  {name}: {} entries, {} rounds\n", size.entries, size.rounds));
        }
        if let Kind::StatAll(spec) = &study.kind {
            text.push_str(&methods(&spec.methods));
        }
    }
    print(&text)?;
    Ok(exit::DONE)
}
