//! Options of `megadir usage`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ArgAction;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use megadir::usage::By;
use megadir::{Conditions, StatMask};

use crate::cmd::conditions::{self, ConditionOptions, time_or_rank};
use crate::cmd::engine::Engine;
use crate::cmd::prometheus::Prometheus;
use crate::cmd::values::{Readers, top};
use crate::exit::{CliError, directory_parser};

/// Show which directories hold the entries and the space
///
/// Prints the directories of a tree with the most entries, with the entries, the space on disk and the sizes of everything
/// below each, then tables by owner, extension, age, size and files per directory. PATH may also be an inventory written by
/// 'megadir scan', with the same answer. Hard links count once in space and sizes, in the first directory by name. The figures
/// of a directory do not include the directory itself, which counts in its parent.
#[derive(clap::Args)]
#[command(mut_arg("by", |by| by.action(ArgAction::Append).value_parser(time_or_rank)))]
#[command(after_help = "\
Exit codes: 0 done; 1 some directories or entries could not be read; 2 usage; 3 nothing could be read; 130 interrupted. \
Errors go to standard error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Directories, or one inventory [default: the current directory]
    #[arg(value_name = "PATH", default_value = ".", hide_default_value = true, value_parser = directory_parser())]
    pub(super) paths: Vec<PathBuf>,
    /// Number of directories to list [default: 10; 1000 with --json, --csv and --html]
    #[arg(short = 'n', long, value_name = "N", value_parser = top)]
    pub(super) top: Option<usize>,
    /// List directories down to this many levels below PATH [default: all; 3 with --engine]
    #[arg(short, long, value_name = "N")]
    pub(super) depth: Option<u32>,
    /// Rank directories by this figure of everything below them [default: entries]
    ///
    /// '--by FIGURE' means the same.
    #[arg(long, value_name = "FIGURE", value_parser = figure())]
    sort: Option<By>,
    /// Also enter mounted file systems
    #[arg(long)]
    pub(super) cross_mounts: bool,
    /// Print every row of the tables (default: the first of each, on one line)
    #[arg(long)]
    pub(super) tables: bool,
    /// Print one JSON object
    ///
    /// Fields: v (format version, 1), by, the totals, unlisted_directories (beyond -n), trees, directories, owners, extensions, modified, accessed, sizes,
    /// files_per_directory (docs/usage.md). Names that are not UTF-8 have the key with _hex and hex digits.
    #[arg(long, conflicts_with_all = ["csv", "tables"])]
    pub(super) json: bool,
    /// Print the directories as comma-separated values (RFC 4180, with a header)
    #[arg(long, conflicts_with = "tables")]
    pub(super) csv: bool,
    /// Also write a page with a map of the tree to FILE, which must not exist
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long)]
    pub(super) all_errors: bool,
    /// Divide the work among the processes of an MPI launcher, and print the directories without the tables
    ///
    /// mpirun -np 4 megadir usage DIR --engine mpi: all hosts need the same program and PATH. docs/mpi.md has more.
    #[arg(long, value_name = "ENGINE", conflicts_with_all = conditions::IDS)]
    #[arg(conflicts_with_all = ["cross_mounts", "tables", "json", "html", "all_errors", "read_ahead", "threads", "stat_backend", "prometheus"])]
    pub(super) engine: Option<Engine>,
    #[command(flatten)]
    pub(super) readers: Readers,
    #[command(flatten)]
    pub(super) conditions: ConditionOptions,
    #[command(flatten)]
    pub(super) prometheus: Prometheus,
}

/// Rank 0 has the figures of all directories that may be listed.
pub(super) const DEPTH_DIVIDED: u32 = 3;

const TOP: usize = 10;
pub(super) const TOP_ALL: usize = 1000;

impl Args {
    pub(in crate::cmd) fn writes(&self) -> bool {
        self.prometheus.is_given() || self.html.is_some()
    }

    pub(super) fn by(&self) -> Result<By, CliError> {
        match (self.sort, self.conditions.rank()?) {
            (Some(sort), Some(rank)) => Err(CliError::usage(format!(
                "--sort {} --by {}: both name the order of the directories; leave one out",
                sort.name(),
                rank.name()
            ))),
            (sort, rank) => Ok(sort.or(rank).unwrap_or_default()),
        }
    }

    pub(super) fn conditions(&self, named: &[PathBuf]) -> Result<Option<Arc<Conditions>>, CliError> {
        self.conditions.of_trees(named, self.readers.stat_backend)
    }

    /// Directories ranked by a figure that is never returned would be in no order.
    pub(super) fn refuse_unreturned(&self, by: By) -> Result<(), CliError> {
        let want = match by {
            By::Entries => StatMask::NOTHING,
            By::Allocated => StatMask::ALLOCATED,
            By::Apparent => StatMask::SIZE,
            By::Newest | By::Oldest => StatMask::MODIFIED,
        };
        let stat_backend = self.readers.stat_backend;
        stat_backend.map_or(Ok(()), |backend| conditions::refuse_unreturned(backend, want, "--sort needs"))
    }

    pub(super) fn printed(&self) -> usize {
        self.top.unwrap_or(if self.json || self.csv { TOP_ALL } else { TOP })
    }
}

/// Word for a figure in the table and in `list --sort`, if it is another one.
fn heading(by: By) -> Option<&'static str> {
    match by {
        By::Apparent => Some("size"),
        By::Newest => Some("mtime"),
        By::Entries | By::Allocated | By::Oldest => None,
    }
}

fn figure() -> impl TypedValueParser<Value = By> {
    let about = |by| match by {
        By::Entries => "Number of entries",
        By::Allocated => "Space on disk",
        By::Apparent => "Sum of sizes",
        By::Newest => "Newest entry",
        By::Oldest => "Oldest entry",
    };
    let values = By::ALL.map(|by| PossibleValue::new(by.name()).aliases(heading(by)).help(about(by)));
    let is_of = |by: &By, name: &str| by.name() == name || heading(*by) == Some(name);
    PossibleValuesParser::new(values)
        .map(move |name| By::ALL.into_iter().find(|by| is_of(by, &name)).unwrap_or_default())
}
