//! Options of `megadir changes`.

use std::path::PathBuf;

use crate::cmd::conditions::{self, Asked};
use crate::cmd::list::values::{memory, threads};
use crate::exit::{CliError, directory_parser};

/// Show changes of a tree since its inventory was written
///
/// Prints one line per change: `added`, `removed`, `modified` (with the differing attributes), `renamed`,
/// `type-changed` or `suspect`. A suspect is a file without differences that was modified so shortly before the scan
/// that a further change within the same clock tick would not show. A renamed directory is one change; entries that
/// moved with it are not listed.
///
/// Excluded entries, and entries deeper than --max-depth, do not exist on either side. The other conditions choose
/// among the changes: a change is reported if the entry meets them before or after it. With conditions, changed times of
/// directories are not reported, because entries that are left out change them too. The conditions of an inventory made
/// with 'megadir scan' and conditions apply as well.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 some entries could not be compared; 2 usage, or not the directory that was scanned; 3 the \
inventory or the tree could not be opened; 10 --quiet: changes or suspects exist; 130 interrupted. Errors go to standard \
error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Inventory written by 'megadir scan'
    #[arg(value_name = "INVENTORY", value_parser = directory_parser())]
    pub(super) inventory: PathBuf,
    /// Present path of the tree [default: the path that was scanned]
    #[arg(value_name = "PATH", value_parser = directory_parser())]
    pub(super) path: Option<PathBuf>,
    /// End records with NUL: kind, tab, path; renamed entries have a second record: `from`, tab, path
    #[arg(short = '0', long)]
    pub(super) null: bool,
    /// Print one JSON object per change
    ///
    /// Fields: v (format version, 1), change, path, and if they apply from, fields, suspect, old and new. `old` and
    /// `new` have the columns of the inventory (docs/inventory.md). A path that is not UTF-8 is printed as path_hex
    /// (from_hex), the hex digits of its bytes.
    #[arg(long, conflicts_with = "null")]
    pub(super) json: bool,
    /// Print no changes; exit with code 10 if there are any
    #[arg(short, long, conflicts_with_all = ["null", "json"])]
    pub(in crate::cmd) quiet: bool,
    /// Update the inventory after all changes have been printed
    ///
    /// The inventory stays unchanged if an entry could not be read that it does not record as unreadable. Excludes all conditions, and
    /// inventories made with conditions, because rows would be lost.
    #[arg(long, conflicts_with_all = conditions::IDS)]
    pub(super) update: bool,
    /// With --update, sort in at most this much memory, then in temporary files next to the inventory [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = memory, requires = "update")]
    pub(super) memory: Option<usize>,
    /// Hash suspects and compare with the hashes in the inventory; with --update, also store hashes of new suspects
    #[arg(long)]
    pub(super) verify: bool,
    /// Compare only the NUL-terminated paths in LIST ('-': standard input)
    ///
    /// Relative paths start at the current directory. A directory stands for itself, without its contents.
    #[arg(long, value_name = "LIST", conflicts_with = "update")]
    pub(super) files0_from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) conditions: Asked,
    /// Compare even if the root is not the directory that was scanned
    #[arg(long)]
    pub(super) any_root: bool,
    /// List unchanged directories again, too
    #[arg(long)]
    pub(super) list_all: bool,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long)]
    pub(super) all_errors: bool,
    /// Number of threads, 1 to 256 [default: one per processor, up to 8]
    #[arg(short = 'j', long, value_name = "N", value_parser = threads)]
    pub(super) threads: Option<usize>,
}

impl Args {
    pub(super) fn check(&self, roots: usize) -> Result<(), CliError> {
        match self.path {
            Some(_) if roots != 1 => Err(CliError::usage(format!(
                "PATH: the inventory has {roots} trees, so a single path is ambiguous; leave PATH out"
            ))),
            _ => Ok(()),
        }
    }
}
