//! Options of `megadir compare`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::nearest::choices;
use megadir::{Conditions, Globs};
use megadir_inventory::Inventory;
use megadir_inventory::copies::{DifferenceKind, Properties};

use crate::cmd::conditions::{globs, refuse_whole_paths};
use crate::cmd::recorded::refuse_reading_options;
use crate::cmd::scan::args::Reading;
use crate::exit::{CliError, directory_parser};

fn kind(text: &str) -> Result<DifferenceKind, String> {
    let found = DifferenceKind::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| choices(text, DifferenceKind::ALL.into_iter().map(DifferenceKind::name)))
}

fn property(text: &str) -> Result<Properties, String> {
    Properties::from_name(text).ok_or_else(|| choices(text, Properties::all_names()))
}

/// Compare a tree with its copy: is the copy complete?
///
/// A is the original and B the copy, each a directory or an inventory written by 'megadir scan'. Entries are compared by their path below A and B,
/// by type, and by what --by names. Prints one line per difference: `missing` (only A has it), `extra` (only B has it), `differs` (with
/// the properties that differ), or `unreadable` (with the side and the reason). The last line, on standard error, has the numbers.
///
/// Entries below a directory that one side could not read, or below a mount that it did not enter, are counted, but are neither missing nor extra. Memory
/// is bounded by --memory, whatever the number of entries.
#[derive(clap::Args)]
#[command(mut_arg("memory", |memory| memory.help("Sort in at most this much memory, then in temporary files in TMPDIR [default: 256MiB]").long_help(None)))]
#[command(after_help = "\
Exit codes: 0 done; 1 some entries could not be compared; 2 usage, or inventories that are not comparable; 3 A or B could not be opened; 10 --quiet or \
--exit-code: there are differences; 130 interrupted.")]
pub(crate) struct Args {
    /// Original: a directory, or an inventory written by 'megadir scan'
    #[arg(value_name = "A", value_parser = directory_parser())]
    pub(super) a: PathBuf,
    /// Copy: a directory, or an inventory
    #[arg(value_name = "B", value_parser = directory_parser())]
    pub(super) b: PathBuf,
    /// Compare these properties, comma-separated: type (always), size, mtime, mode, owner, target (of symbolic links), contents
    ///
    /// Times are equal if one is the other cut to a unit of a file system, such as whole seconds; on FAT, if they are less than two seconds apart. Directories are
    /// compared by type, mode and owner. Contents are read from trees, only if everything else agrees, up to the first difference; an inventory needs
    /// their hashes, which the index of 'megadir pack create' has.
    #[arg(long, value_name = "PROPERTY", value_delimiter = ',', value_parser = property, default_value = "size,mtime")]
    pub(super) by: Vec<Properties>,
    /// End records with NUL: kind, tab, path
    #[arg(short = '0', long)]
    pub(super) null: bool,
    /// Print one JSON object per difference
    ///
    /// Fields: v (format version, 1), difference, path, and if they apply fields (the properties that differ), side and error (of unreadable entries), a
    /// and b. `a` and `b` have the columns of the inventory (docs/inventory.md). A path that is not UTF-8 is printed as path_hex, the hex digits of its bytes.
    #[arg(long, conflicts_with = "null")]
    pub(super) json: bool,
    /// Report only differences of these kinds, comma-separated: missing, extra, differs, unreadable
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    pub(super) only: Vec<DifferenceKind>,
    /// Print the path of each reported entry and nothing else: for rsync --files-from
    ///
    /// A path that begins with # or ; has ./ before it, because rsync takes it for a comment. With --null, paths end with NUL. docs/compare.md has
    /// recipes.
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(super) paths: bool,
    /// Print no differences; exit with code 10 if there are any
    #[arg(short, long, conflicts_with_all = ["null", "json"])]
    pub(in crate::cmd) quiet: bool,
    /// Exit with code 10 if there are any differences, also after they were printed; --quiet implies it
    #[arg(long)]
    pub(super) exit_code: bool,
    /// Leave out entries that match this glob, and everything below them, on both sides; repeat for several
    ///
    /// A glob without '/' matches names at any depth; a glob with '/' matches paths below A and B.
    #[arg(long = "exclude", value_name = "GLOB")]
    excluded_globs: Vec<OsString>,
    #[command(flatten)]
    pub(super) reading: Reading,
}

impl Args {
    pub(super) fn sides(&self) -> [&Path; 2] {
        [&self.a, &self.b]
    }

    pub(super) fn properties(&self) -> Properties {
        self.by.iter().copied().collect()
    }

    /// `true` for a kind that is printed, and decides about the exit code.
    pub(super) fn reports(&self, kind: DifferenceKind) -> bool {
        self.only.is_empty() || self.only.contains(&kind)
    }

    pub(super) fn conditions(&self) -> Result<Option<Arc<Conditions>>, CliError> {
        let exclude = globs("--exclude", &self.excluded_globs, |globs| Globs::of_names_or_paths(globs))?;
        for directory in self.sides() {
            refuse_whole_paths("--exclude", &exclude, directory)?;
        }
        let conditions = Conditions { exclude, ..Conditions::default() };
        Ok((!conditions.is_none()).then(|| Arc::new(conditions)))
    }

    /// Refuses options for reading trees if there is none.
    pub(super) fn check(&self) -> Result<(), CliError> {
        if !self.sides().iter().all(|path| Inventory::is_at(path)) {
            return Ok(());
        }
        let Reading { cross_mounts, readers, rate, idle, memory } = &self.reading;
        let given = [
            (*cross_mounts, "--cross-mounts"),
            (readers.threads.is_some(), "--threads"),
            (readers.stat_backend.is_some(), "--stat-backend"),
            (readers.fresh, "--fresh"),
            (readers.read_ahead.is_given(), "--read-ahead"),
            (rate.is_some(), "--rate"),
            (*idle, "--idle"),
            (memory.is_some(), "--memory"),
        ];
        refuse_reading_options(&self.a, &given)
    }
}
