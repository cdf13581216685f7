//! Options of `megadir usage`.

use std::path::PathBuf;

use clap::ValueEnum;
use megadir::Examiner;

use crate::cmd::list::values::{examiner, threads, top};
use crate::exit::directory_parser;

/// Show which directories hold the entries and the space
///
/// Prints the directories of a tree with the most entries, with the entries, the space on disk and the sizes of everything
/// below each, then tables by owner, extension, age, size and files per directory. PATH may also be an inventory written by
/// 'megadir scan', with the same answer. Hard links count once in space and sizes, in the first directory by name. The figures
/// of a directory do not include the directory itself, which counts in its parent.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 some directories or entries could not be read; 2 usage; 3 nothing could be opened; 130 interrupted. \
Errors go to standard error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Directories, or one inventory [default: the current directory]
    #[arg(value_name = "PATH", default_value = ".", hide_default_value = true, value_parser = directory_parser())]
    pub(super) paths: Vec<PathBuf>,
    /// Number of directories to list [default: 10; 1000 with --json, --csv and --html]
    #[arg(short = 'n', long, value_name = "N", value_parser = top)]
    pub(super) top: Option<usize>,
    /// List directories down to this many levels below PATH [default: all]
    #[arg(short, long, value_name = "N")]
    pub(super) depth: Option<u32>,
    /// Rank directories by this figure of everything below them
    #[arg(long, value_name = "FIGURE", value_enum, default_value_t = By::Entries)]
    pub(super) by: By,
    /// Also enter mounted file systems
    #[arg(long)]
    pub(super) cross_mounts: bool,
    /// Print every row of the tables (default: the first of each, on one line)
    #[arg(long)]
    pub(super) tables: bool,
    /// Print one JSON object
    ///
    /// Fields: v (format version, 1), by, the totals, trees, directories, owners, extensions, modified, accessed, sizes,
    /// files_per_directory (docs/usage.md). Names that are not UTF-8 have the key with _hex and hex digits.
    #[arg(long, conflicts_with = "csv")]
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
    /// Number of threads, 1 to 256 [default: one per processor, up to 8]
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "Reading")]
    pub(super) threads: Option<usize>,
    /// Examiner that queries attributes ('megadir backends' lists them) [default: by file system]
    #[arg(long, value_name = "NAME", value_parser = examiner, help_heading = "Reading")]
    pub(super) examiner: Option<&'static dyn Examiner>,
}

/// The names of `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Number of entries
    Entries,
    /// Space on disk
    Allocated,
    /// Sum of sizes
    Apparent,
    /// Newest entry
    Newest,
    /// Oldest entry
    Oldest,
}

impl By {
    pub(super) fn figure(self) -> megadir::usage::By {
        use megadir::usage::By as Figure;
        match self {
            Self::Entries => Figure::Entries,
            Self::Allocated => Figure::Allocated,
            Self::Apparent => Figure::Apparent,
            Self::Newest => Figure::Newest,
            Self::Oldest => Figure::Oldest,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Allocated => "allocated",
            Self::Apparent => "apparent",
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }
}

/// Lines of the tree on a screen.
const TOP: usize = 10;
/// For programs and pages.
const TOP_ALL: usize = 1000;

impl Args {
    /// Directories in the printed list.
    pub(super) fn printed(&self) -> usize {
        self.top.unwrap_or(if self.json || self.csv { TOP_ALL } else { TOP })
    }

    /// Directories in the page.
    pub(super) fn mapped(&self) -> usize {
        self.top.unwrap_or(TOP_ALL)
    }
}
