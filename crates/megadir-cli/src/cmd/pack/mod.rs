//! `megadir pack`: trees as tar shards with an index; the library packs.

mod cat;
mod create;
mod extract;
mod verify;

use super::start;
use crate::exit::CliError;

/// Pack a tree into tar files with an index, and read it back
///
/// A pack is a directory with pack-00000.tar, pack-00001.tar and so on, which any tar reads, and index.parquet, an inventory of the tree with
/// the place of each entry. 'megadir list', 'megadir usage', DuckDB and pandas read the index. A pack suits many small files that are only
/// read; docs/pack.md says when not.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Create(create::Args),
    Verify(verify::Args),
    Cat(cat::Args),
    Extract(Box<extract::Args>),
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    match &args.command {
        Command::Create(args) => start(false, true, || create::run(args)),
        Command::Verify(args) => start(false, false, || verify::run(args)),
        Command::Cat(args) => start(true, false, || cat::run(args)),
        Command::Extract(args) => start(false, true, || extract::run(args)),
    }
}
