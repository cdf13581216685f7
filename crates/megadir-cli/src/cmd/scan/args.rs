//! Options of `megadir scan`, and reading options shared with the other inventory commands.

use std::path::{Path, PathBuf};

use megadir::Examiner;
use megadir_inventory::{Excluded, ScanOptions};

use crate::cmd::list::examined::MEMORY_BYTES;
use crate::cmd::list::source::{WALK_BUFFER_BYTES, WALK_QUEUE_MAX, processors, raise_descriptor_limit};
use crate::cmd::list::values::{examiner, memory, threads};
use crate::exit::{self, CliError};

/// Writes an inventory of trees: a Parquet file with one row an entry, sorted by directory and name.
///
/// DuckDB, pandas, Polars and Spark read it as it is; the columns are in docs/inventory.md. Symbolic links below the
/// directories are never followed. What cannot be read below them is a row with an error, and the inventory is marked
/// incomplete. The file takes the place of an older one when it is whole: a scan that is interrupted or killed leaves the
/// old one as it was, and so does one of which a PATH cannot be opened.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 something could not be read, which the inventory says; 2 usage; 3 a PATH could not be opened, or \
nothing be written; 130 interrupted. Errors are one line each on standard error, at \
most ten of each kind and then their number.")]
pub(crate) struct Args {
    /// The directories to scan, with all below them; a symbolic link to one is followed.
    #[arg(value_name = "PATH", required = true, value_parser = exit::directory_parser())]
    pub(super) paths: Vec<PathBuf>,
    /// Write the inventory to this file, which is left out of it: .csv and .jsonl as text, others as Parquet; '-' with --jsonl or --csv is
    /// standard output.
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["jsonl", "csv", "dry_run"])]
    pub(super) output: Option<PathBuf>,
    /// Write a JSON object a line instead, with the same columns, to standard output unless --output is given.
    ///
    /// A parent or name that is not UTF-8 is given as parent_hex or name_hex, the hex digits of its bytes. Numbers are
    /// exact integers of up to 64 bits, inodes beyond 2^53 included: do not read them as doubles.
    #[arg(long, conflicts_with = "csv")]
    pub(super) jsonl: bool,
    /// Write comma-separated values instead (RFC 4180, with a header), likewise.
    #[arg(long)]
    pub(super) csv: bool,
    /// Read everything, write nothing, and say how many entries there are and how long it took.
    #[arg(long, conflicts_with_all = ["output", "jsonl", "csv"])]
    pub(super) dry_run: bool,
    /// Read and hash what was changed within a step of the clock before the scan, or during it: contents that may change
    /// once more without any time telling, about which 'megadir changes --verify' can then decide.
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) hash_suspects: bool,
    /// Tell every error on a line of its own; without this the first ten of each kind are told, and how many more there were.
    #[arg(long)]
    pub(super) all_errors: bool,
    /// Print nothing if everything could be read, e.g. for cron; errors are printed.
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) reading: Reading,
}

impl Args {
    /// `None` for standard output.
    pub(super) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    pub(in crate::cmd) fn prints(&self) -> bool {
        self.file().is_none() && !self.dry_run
    }
}

/// How trees are read.
#[derive(clap::Args)]
pub(in crate::cmd) struct Reading {
    /// Go down into other file systems mounted below too.
    #[arg(long)]
    pub(in crate::cmd) cross_mounts: bool,
    /// Use at most this many threads, 1 to 256 [default: one a processor, up to 8].
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "How it is read")]
    pub(in crate::cmd) threads: Option<usize>,
    /// Ask for attributes in this way instead of the one that fits: 'megadir backends' shows them.
    #[arg(long, value_name = "NAME", value_parser = examiner, help_heading = "How it is read")]
    pub(in crate::cmd) examiner: Option<&'static dyn Examiner>,
    /// Sort what outgrows this memory by temporary files, beside the output or in TMPDIR (TMP on Windows) [default: 256MiB].
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "How it is read")]
    pub(in crate::cmd) memory: Option<usize>,
}

impl Reading {
    pub(in crate::cmd) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(processors)
    }

    /// Sorting spills into the directory of `output`, if given.
    pub(in crate::cmd) fn options(&self, output: Option<&Path>, exclude: Vec<Excluded>) -> ScanOptions {
        raise_descriptor_limit();
        let beside = output.and_then(|path| {
            // Not in the directory of a pipe or a device.
            let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let is_special = std::fs::metadata(&target).is_ok_and(|status| !status.is_file());
            let parent = target.parent().filter(|_| !is_special)?.to_owned();
            Some(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent })
        });
        ScanOptions {
            threads: self.threads(),
            cross_mounts: self.cross_mounts,
            examiner: self.examiner,
            buffer_bytes: WALK_BUFFER_BYTES,
            queue_directories_max: WALK_QUEUE_MAX,
            memory_bytes: self.memory.unwrap_or(MEMORY_BYTES),
            spill_directory: beside.unwrap_or_else(std::env::temp_dir),
            exclude,
        }
    }
}

pub(in crate::cmd) fn roots(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, CliError> {
    let root = |path: &PathBuf| megadir_inventory::root_path(path).map_err(CliError::from);
    paths.iter().map(root).collect()
}
