//! Options of `megadir changes`.

use std::path::PathBuf;

use crate::exit::{CliError, directory_parser};

/// Tells what changed in a tree since an inventory of it was made.
///
/// One line a change: `added`, `removed`, `modified` (with what differs), `renamed`, `type-changed`, and `suspect` for a
/// file of which nothing differs but which was changed so shortly before it was scanned that one more change in the same
/// step of the clock would not show. A renamed directory is one change; what went along with it is none. Exit code 10
/// with --quiet when anything changed or may have.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done, whether or not anything changed; 1 something could not be compared, the rest was; 2 usage, or another \
directory than the one that was scanned; 3 the inventory or the tree could not be opened; 10 with --quiet when anything \
changed or may have; 130 interrupted. Errors are one line each on standard error, at most ten of each kind and then their number.")]
pub(crate) struct Args {
    /// The inventory, as `megadir scan` writes it
    #[arg(value_name = "INVENTORY", value_parser = directory_parser())]
    pub(super) inventory: PathBuf,
    /// Where the tree is now [default: where it was scanned]
    #[arg(value_name = "PATH", value_parser = directory_parser())]
    pub(super) path: Option<PathBuf>,
    /// Ends records with NUL: kind, tab, path; a renamed entry has a second record, `from`, tab, path
    #[arg(short = '0', long)]
    pub(super) null: bool,
    /// Prints a JSON object a line: v (version, 1), change, path, and where they apply from, fields, suspect, old and new
    ///
    /// `old` and `new` have the columns of the inventory (docs/inventory.md). A path that is not UTF-8 is given as path_hex
    /// (from_hex), the hex digits of its bytes.
    #[arg(long, conflicts_with = "null")]
    pub(super) json: bool,
    /// Prints no changes; exit code 10 when there are any
    #[arg(short, long, conflicts_with_all = ["null", "json"])]
    pub(in crate::cmd) quiet: bool,
    /// Replaces the inventory by one of the tree as it is now, once all changes have been printed; not if anything could not be
    /// read that the inventory does not record as unreadable
    #[arg(long)]
    pub(super) update: bool,
    /// Reads suspects whose hash is in the inventory and decides by it; with --update the new inventory has the hashes
    /// of its suspects
    #[arg(long)]
    pub(super) verify: bool,
    /// Compares only the paths in this file, each ended by NUL; `-` is standard input. Those that do not begin with a slash
    /// are relative to the current directory. A directory stands for itself, not for what it holds
    #[arg(long, value_name = "LIST", conflicts_with = "update")]
    pub(super) files0_from: Option<PathBuf>,
    /// Compares although the root is another directory than the one that was scanned
    #[arg(long)]
    pub(super) any_root: bool,
    /// Lists every directory again, unchanged ones too
    #[arg(long)]
    pub(super) list_all: bool,
    /// Tell every error on a line of its own; without this the first ten of each kind are told, and how many more there were
    #[arg(long)]
    pub(super) all_errors: bool,
    /// Threads that compare [default: one a processor, 8 at most]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) threads: Option<u16>,
}

impl Args {
    pub(super) fn check(&self, roots: usize) -> Result<(), CliError> {
        match self.path {
            Some(_) if roots != 1 => Err(CliError::usage(format!(
                "PATH: the inventory is of {roots} trees, and where one of them is does not tell where the others are: leave PATH out"
            ))),
            _ => Ok(()),
        }
    }
}
