//! `megadir bench list`: the studies that are built in.

use megadir_bench::study::{BUILT_IN, built_in};

use crate::exit::{self, CliError};
use crate::ui::output::print;

/// Lists the built-in studies.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints name, question, sizes and source of every study.
pub(crate) fn run(_args: &Args) -> Result<u8, CliError> {
    let mut text = String::new();
    for entry in BUILT_IN {
        let study = built_in(entry.name).map_err(|error| CliError::nothing_ran(error.to_string()))?;
        let size = &study.size;
        text.push_str(&format!("{}\n  {}\n", study.name, study.question));
        text.push_str(&format!("  source: {}\n", study.source));
        let sizes = [("quick", &size.quick), ("default", &size.default), ("published", &size.published)];
        for (name, size) in sizes {
            text.push_str(&format!("  {name}: {} entries, {} rounds\n", size.entries, size.rounds));
        }
    }
    print(&text)?;
    Ok(exit::DONE)
}
