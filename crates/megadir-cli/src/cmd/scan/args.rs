//! Options of `megadir scan`, and reading options shared with the other inventory commands.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::{BUFFER_BYTES_MIN, Conditions, Dir};
use megadir_inventory::changes::Hashed;
use megadir_inventory::{Excluded, ScanOptions};

use super::merged_roots;
use crate::cmd::conditions::{self, ConditionOptions};
use crate::cmd::engine::Engine;
use crate::cmd::list::examined::MEMORY_BYTES;
use crate::cmd::list::source::{WALK_BUFFER_BYTES, raise_descriptor_limit, walk_threads};
use crate::cmd::values::{ListLimits, Readers, list_limits, memory, rate, read_rate};
use crate::exit::{self, CliError};

/// Options that a scan by several processes does not have.
const WITHOUT_ENGINE: [&str; 15] = [
    "jsonl",
    "csv",
    "lists",
    "merge",
    "dry_run",
    "hash",
    "hash_suspects",
    "read_rate",
    "all_errors",
    "cross_mounts",
    "read_ahead",
    "threads",
    "stat_backend",
    "rate",
    "memory",
];

/// Write an inventory of trees, a Parquet file with one row per entry
///
/// DuckDB, pandas and Polars can read the file; docs/inventory.md describes its columns. Symbolic links below the given directories are never
/// followed. Entries that cannot be read get a row with an error, and the inventory is marked incomplete. With conditions, every directory that is
/// not left out has a row, and other entries if they meet the conditions; the inventory records the conditions, and 'megadir changes' applies them
/// too. A complete file replaces an older inventory. If the scan is interrupted or killed, or a PATH cannot be opened, the older inventory stays.
#[derive(clap::Args)]
#[command(mut_arg("threads", |threads| threads.long_help("Number of threads, 1 to 256 [default: one per processor, up to 8; 32 on FUSE]\n\nBy default, up to 8 threads (4 per processor) scan a tree on ext4, XFS or btrfs while it is not cached.")))]
#[command(after_help = "\
Exit codes: 0 done; 1 some entries could not be read, and the inventory records them; 2 usage; 3 a PATH could not be \
opened, or the inventory could not be written; 130 interrupted. Errors go to standard error, one line each, at most ten \
of each kind and then a count.")]
pub(crate) struct Args {
    /// Directories to scan, with everything below them; a symbolic link to one is followed
    #[arg(value_name = "PATH", required_unless_present = "merge", value_parser = exit::directory_parser())]
    pub(super) paths: Vec<PathBuf>,
    /// Write the inventory to FILE: .csv and .jsonl as text, other names as Parquet
    ///
    /// Names of other formats, such as .tsv or .csv.gz, are refused. With --jsonl or --csv, '-' is standard output. The inventory leaves out FILE itself.
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["jsonl", "csv", "dry_run", "lists"])]
    pub(super) output: Option<PathBuf>,
    /// Write one JSON object per line with the same columns, to standard output unless --output is given
    ///
    /// A parent or name that is not UTF-8 is written as parent_hex or name_hex, the hex digits of its bytes. Numbers
    /// are exact integers of up to 64 bits; do not read inodes and sizes beyond 2^53 as doubles.
    #[arg(long, conflicts_with = "csv")]
    pub(super) jsonl: bool,
    /// Write comma-separated values (RFC 4180, with a header), to standard output unless --output is given
    #[arg(long)]
    pub(super) csv: bool,
    /// Instead of an inventory, write lists of paths for parallel copies into the new directory DIR
    ///
    /// The files files-000001, files-000002, ... have the paths of everything but directories in the order of inodes, relative
    /// to PATH and each terminated by NUL; the file directories has those of the directories. DIR appears when all lists are complete; it
    /// must not exist, or be an empty directory. docs/parallel.md has recipes for rsync, tar and cp.
    #[arg(long, value_name = "DIR", requires = "split", conflicts_with_all = ["output", "jsonl", "csv", "dry_run", "hash", "hash_suspects"])]
    pub(super) lists: Option<PathBuf>,
    /// Largest number of entries and largest sum of sizes of a list, e.g. 100k,100GB or only one of them
    ///
    /// Sizes end with B. Lists have about equal work; one may exceed the limits by its last file.
    #[arg(long, value_name = "ENTRIES,SIZE", value_parser = list_limits, requires = "lists")]
    #[arg(conflicts_with_all = ["output", "jsonl", "csv", "dry_run", "hash", "hash_suspects", "merge", "engine"])]
    pub(super) split: Option<ListLimits>,
    /// Read no tree, but merge the parts of an inventory in FOLDER: inventories *.parquet of the same trees
    ///
    /// 'megadir changes' and 'megadir usage' read such a folder too. With --dry-run, checks the parts. The folder is complete with the file
    /// megadir-parts.json, which is written after the last part.
    #[arg(long, value_name = "FOLDER", value_parser = exit::directory_parser(), conflicts_with_all = conditions::IDS)]
    #[arg(conflicts_with_all = ["paths", "lists", "hash", "hash_suspects", "cross_mounts", "read_ahead", "stat_backend", "fresh", "rate", "idle", "memory"])]
    pub(super) merge: Option<PathBuf>,
    /// Divide the scan among the processes of an MPI launcher, and write parts into the folder given by --output
    ///
    /// mpirun -np 4 megadir scan DIR --engine mpi -o FOLDER: all hosts need the same program, PATH and FOLDER. 'megadir changes' and
    /// 'megadir usage' read the folder, and --merge makes one inventory of it. docs/mpi.md has more.
    #[arg(long, value_name = "ENGINE", requires = "output", conflicts_with_all = conditions::IDS)]
    #[arg(conflicts_with_all = WITHOUT_ENGINE)]
    pub(super) engine: Option<Engine>,
    /// With --engine, continue an interrupted scan by the journal in its folder
    #[arg(long, requires = "engine", conflicts_with_all = conditions::IDS)]
    #[arg(conflicts_with_all = WITHOUT_ENGINE)]
    pub(super) resume: bool,
    /// Read everything, write nothing, and print the number of entries and the time
    #[arg(long, conflicts_with_all = ["output", "jsonl", "csv"])]
    pub(super) dry_run: bool,
    /// Store hashes of the contents of these files, for 'changes --verify'
    ///
    /// 'all' reads every file once: a later scan to the same FILE reads only what changed, and one that was interrupted continues. 'changes --verify=all' then
    /// finds contents that differ although size and times do not (docs/rotten.md).
    #[arg(long, value_name = "FILES", value_enum, conflicts_with_all = ["dry_run", "hash_suspects"])]
    pub(super) hash: Option<HashWord>,
    /// Same as --hash suspects
    #[arg(long, hide = true, conflicts_with = "dry_run")]
    pub(super) hash_suspects: bool,
    /// With --hash, limit the rate of reading contents, bytes per second, e.g. 50MB/s
    #[arg(long, value_name = "SIZE/s", value_parser = read_rate, requires = "hash")]
    #[arg(conflicts_with_all = ["dry_run", "hash_suspects", "lists", "split", "merge"])]
    pub(super) read_rate: Option<NonZeroU32>,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long)]
    pub(super) all_errors: bool,
    /// Print only errors, e.g. for cron
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) conditions: ConditionOptions,
    #[command(flatten)]
    pub(super) reading: Reading,
}

/// Files that get a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum HashWord {
    /// Modified shortly before the scan, or during it: they can be modified again without a change of their times
    Suspects,
    /// All files and symbolic links; -j N reads several at a time [default: one, as disks that turn are fastest]
    All,
}

impl Args {
    pub(super) fn hashed(&self) -> Option<Hashed> {
        match (self.hash, self.hash_suspects) {
            (Some(HashWord::All), _) => Some(Hashed::All),
            (Some(HashWord::Suspects), _) | (None, true) => Some(Hashed::Suspects),
            (None, false) => None,
        }
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Absolute paths of the trees.
    pub(super) fn roots(&self) -> Result<Vec<Vec<u8>>, CliError> {
        match &self.merge {
            Some(folder) => Ok(merged_roots(folder)?),
            None => {
                let root = |path: &PathBuf| megadir_inventory::root_path(path).map_err(CliError::from);
                self.paths.iter().map(root).collect()
            }
        }
    }

    pub(super) fn conditions(&self) -> Result<Option<Arc<Conditions>>, CliError> {
        self.conditions.of_trees(&self.paths, self.reading.readers.stat_backend)
    }

    pub(in crate::cmd) fn writes(&self) -> bool {
        self.engine.is_none() && (self.file().is_some() || self.lists.is_some())
    }

    pub(in crate::cmd) fn prints(&self) -> bool {
        self.file().is_none() && !self.dry_run && self.lists.is_none()
    }
}

/// Reading options.
// They are apart from the options of the output. `options` makes the library's options of them, with as many threads
// as suit the file system of any of the trees.
#[derive(clap::Args)]
pub(in crate::cmd) struct Reading {
    /// Also enter mounted file systems
    #[arg(long)]
    pub(in crate::cmd) cross_mounts: bool,
    #[command(flatten)]
    pub(in crate::cmd) readers: Readers,
    /// Limit the rate for all threads together, entries per second, e.g. 500/s or 10k/s
    #[arg(long, value_name = "N/s", value_parser = rate, help_heading = "Reading")]
    pub(in crate::cmd) rate: Option<NonZeroU32>,
    /// Use idle I/O priority, as ionice -c idle; the effect depends on the I/O scheduler
    #[arg(long, help_heading = "Reading")]
    pub(in crate::cmd) idle: bool,
    /// Sort in at most this much memory, then in temporary files next to the output [default: 256MiB]
    ///
    /// Without an output file, temporary files are in TMPDIR (TMP on Windows).
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Reading")]
    pub(in crate::cmd) memory: Option<usize>,
}

impl Reading {
    pub(in crate::cmd) fn options(
        &self,
        trees: &[PathBuf],
        output: Option<&Path>,
        exclude: Vec<Excluded>,
        conditions: Option<Arc<Conditions>>,
    ) -> Result<ScanOptions, CliError> {
        raise_descriptor_limit();
        // As many threads as help on the file system of any of the trees.
        let roots = trees.iter().filter_map(|path| Dir::open(path).ok());
        let most = roots.map(|root| walk_threads(&root, self.readers.threads));
        let most = most.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)));
        let (threads, threads_max) = most.unwrap_or((1, 1));
        let memory_bytes = self.memory.unwrap_or(MEMORY_BYTES);
        Ok(ScanOptions {
            threads_max,
            cross_mounts: self.cross_mounts,
            stat_backend: self.readers.stat_backend()?,
            read_ahead: self.readers.read_ahead.choice(),
            // A thread examines a whole buffer between two pauses.
            buffer_bytes: if self.rate.is_some() { BUFFER_BYTES_MIN } else { WALK_BUFFER_BYTES },
            exclude,
            conditions,
            entries_per_second_max: self.rate,
            ..ScanOptions::new(threads, memory_bytes, spill_directory(output))
        })
    }
}

/// Next to `output`, if given.
pub(in crate::cmd) fn spill_directory(output: Option<&Path>) -> PathBuf {
    let beside = output.and_then(|path| {
        // Not in the directory of a pipe or a device.
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_special = std::fs::metadata(&target).is_ok_and(|status| !status.is_file());
        let parent = target.parent().filter(|_| !is_special)?.to_owned();
        Some(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent })
    });
    beside.unwrap_or_else(std::env::temp_dir)
}
