//! Options of `megadir list`, and checks of their combinations.

use std::path::PathBuf;

use megadir::{Backend, StatBackend, StatMask};

use crate::cmd::conditions::{self, ConditionOptions};
use crate::cmd::prometheus::Prometheus;
use crate::cmd::times::TimeStyle;
use crate::cmd::values::{self, ReadAheadOption, backend, buffer, memory, stat_backend, threads, top};
use crate::exit::{self, CliError, refuse_if};

/// List the entries of directories of any size in bounded memory
///
/// Entries come in the order of the directory, or of its shares with several threads. Hidden entries are listed, '.' and '..' are not. With
/// several directories or --recursive, each name is preceded by the path of its directory. On a terminal, control characters and bytes that
/// are not UTF-8 are shown as \n or \xff, and a backslash as \\; elsewhere names are printed unchanged.
///
/// As in ls, -l prints attributes, -h makes sizes readable and -R recurses. -a, -A and -1 change nothing: all entries are listed, one per line.
#[derive(clap::Args)]
// As in ls, -h means human-readable sizes. If no sizes are printed, it prints the help as in the other commands.
#[command(disable_help_flag = true)]
// As in ls, -t would sort by time, so it is refused, and the message has both possible meanings.
#[command(mut_arg("types", |types| types.short(None)))]
#[command(after_help = "\
Exit codes: 0 done; 1 some entries could not be read; 2 usage; 3 no directory could be read. Errors go to \
standard error, one line each, at most ten of each kind and then a count. A closed pipe is not an error.")]
pub(crate) struct Args {
    /// Directories or inventories to list; a symbolic link to one is followed, and any other file lists itself
    ///
    /// An inventory written by 'megadir scan' lists the tree that it is of, without reading it, in the order of paths. Fields that no
    /// inventory has: target, mount, rdev. A folder of parts is listed as a directory; its megadir-parts.json lists the tree.
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    pub(super) directories: Vec<PathBuf>,

    /// Stop after N entries of all directories together, e.g. 100 or 10k
    #[arg(short = 'n', long, value_name = "N", value_parser = values::count, help_heading = "Selection")]
    #[arg(allow_negative_numbers = true)]
    pub(super) limit: Option<u64>,
    /// Print a random sample of N entries, in the order of their paths
    ///
    /// All samples of N entries of all directories together are equally probable, of those that meet the conditions. The
    /// whole listing is read, without attributes unless conditions need them, and N paths are held in memory (up to a million).
    #[arg(long, value_name = "N", value_parser = top, help_heading = "Selection")]
    #[arg(allow_negative_numbers = true)]
    pub(super) sample: Option<usize>,
    /// Seed of --sample: the same entries give the same sample [default: random, printed with --explain]
    #[arg(long, value_name = "N", help_heading = "Selection")]
    pub(super) seed: Option<u64>,
    /// List subdirectories too; symbolic links are never followed
    #[arg(short, long, visible_short_alias = 'R', help_heading = "Selection")]
    pub(super) recursive: bool,
    /// With --recursive, also enter mounted file systems
    #[arg(long, help_heading = "Selection")]
    pub(super) cross_mounts: bool,
    #[command(flatten)]
    pub(super) conditions: ConditionOptions,

    /// Sort by name, inode, size, allocated (both largest first), mtime, atime (both newest first) or none
    ///
    /// Names are sorted by bytes, as in LC_ALL=C sort; with --recursive, paths are. Sorting by name or inode holds
    /// all entries in memory, about 60 bytes each with names of 32 bytes, unless --memory or --long is given; with
    /// --limit of up to a million, only the best N entries are held. none streams.
    #[arg(long, value_name = "KEY", value_enum, default_value = "none", hide_possible_values = true)]
    #[arg(
        help_heading = "Selection",
        help = "Sort by name (byte order, as LC_ALL=C sort), inode, size, allocated (largest first), mtime, atime (newest first) or none"
    )]
    pub(super) sort: Sort,
    /// Reverse the order of --sort
    #[arg(long, help_heading = "Selection")]
    pub(super) reverse: bool,
    /// Sort in at most this much memory, then in temporary files in TMPDIR (TMP on Windows) [default: 256MiB with --long]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Selection")]
    #[arg(allow_negative_numbers = true)]
    pub(super) memory: Option<usize>,

    /// End each line with NUL instead of a newline, and escape nothing
    #[arg(short = '0', long, conflicts_with = "json", help_heading = "Output")]
    pub(super) null: bool,
    /// Print one JSON object per entry
    ///
    /// Fields: v (format version, 1), dir (if names have a path), name, type, inode, and the fields of --long or --fields. Where a FUSE
    /// server lists no inode numbers, inode is left out unless --fields has it. A name or dir
    /// that is not UTF-8 is printed as name_hex or dir_hex, the hex digits of its bytes. With --count: v, dir, count. With --estimate: v,
    /// dir, entries, low, high, basis. Numbers are exact integers of up to 64 bits; do not read inodes and sizes beyond 2^53 as doubles.
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Print five columns as the kernel returns them: inode, type, record length in bytes, offset, name
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub(super) raw: bool,
    /// Print the attributes of ls -l (on Windows type, size, mtime, name)
    ///
    /// On a terminal, columns are aligned and symbolic links show their targets. Elsewhere tabs separate values, and targets need --fields target.
    #[arg(short, long, conflicts_with_all = ["raw", "count", "estimate"], help_heading = "Output")]
    pub(super) long: bool,
    /// Print these attributes, comma-separated: name, type, size, mtime, ctime, btime, mode, user, group, links,
    /// inode, device, mount, target, allocated, atime, rdev; implies --long
    ///
    /// Values that the file system lacks are empty ('-' on a terminal, null in JSON). Sizes are in bytes.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = super::field::parse)]
    #[arg(conflicts_with_all = ["raw", "count", "estimate"], help_heading = "Output")]
    pub(super) fields: Vec<super::field::Field>,
    /// Print times as iso (UTC), local (with the offset), epoch (seconds since 1970) or relative ("3 days ago") [default: iso]
    ///
    /// On a terminal, times have seconds; with --time-style iso, nanoseconds. In JSON times are strings with nanoseconds.
    #[arg(long, value_name = "STYLE", value_enum, hide_possible_values = true, help_heading = "Output")]
    pub(super) time_style: Option<TimeStyle>,
    /// Print sizes as 512, 1.5K or 23M (powers of 1024) instead of bytes
    #[arg(long, help_heading = "Output")]
    human: bool,
    /// With --long, --fields or --summary, same as --human; otherwise print help
    #[arg(short = 'h', help_heading = "Output")]
    human_or_help: bool,
    /// Print totals by type, size and age, and the largest, newest and oldest entries; with =directories, rank directories by entries
    ///
    /// Prints one summary per directory, with --recursive of everything below it. --summary=directories --recursive prints the directories
    /// with the most entries, with their bytes, largest and newest entries. Sizes are apparent sizes; every hard link counts. Ages are
    /// relative to the start of the run. With --json, prints one object per summary; sums of bytes may exceed 64 bits.
    #[arg(long, value_name = "OF", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "tree", hide_possible_values = true, help_heading = "Output")]
    #[arg(conflicts_with_all = ["null", "raw", "long", "fields", "count", "estimate", "sort", "limit"])]
    pub(super) summary: Option<Of>,
    /// Print N entries of each kind, or N directories, in summaries [default: 5, directories 20]
    #[arg(long, value_name = "N", value_parser = top, help_heading = "Output")]
    #[arg(allow_negative_numbers = true)]
    pub(super) top: Option<usize>,
    /// Print only the number of entries, with its path if several are given
    ///
    /// Every entry that exists all the time is counted once. One that is created, removed or renamed meanwhile may be counted or not; so may
    /// one that is replaced by rename on btrfs and tmpfs, and any entry of a changing directory on ntfs3.
    #[arg(short, long, conflicts_with_all = ["raw", "null", "sort", "limit", "estimate"])]
    #[arg(help_heading = "Output")]
    pub(super) count: bool,
    /// Estimate the number of entries within milliseconds, with a 95 % interval and its basis
    ///
    /// Works on ext4, XFS, btrfs and tmpfs, and in small directories elsewhere. The interval assumes that names were not crafted:
    /// on ext4 a minority of names with one hash can stay unseen. --count is exact.
    #[arg(long, conflicts_with_all = ["raw", "null", "sort", "limit", "recursive", "reverse"])]
    #[arg(conflicts_with_all = ["cross_mounts", "backend", "buffer", "threads", "read_ahead", "explain"])]
    #[arg(conflicts_with_all = conditions::IDS)]
    #[arg(help_heading = "Output")]
    pub(super) estimate: bool,
    #[command(flatten)]
    pub(super) prometheus: Prometheus,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long, help_heading = "Output")]
    pub(super) all_errors: bool,
    /// Print on standard error how each directory is read, and why
    #[arg(long, help_heading = "Output")]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) read_ahead: ReadAheadOption,
    /// Number of threads, 1 to 256 [default: by file system, up to 8; 32 on FUSE]
    ///
    /// By default, one thread per processor reads a tree, or a large directory, and on ext4, XFS and btrfs up to 8 (4 per
    /// processor) while it is not cached. --explain prints the numbers.
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "Reading")]
    #[arg(allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// Buffer size per call, 4KiB to 16MiB [default: by file system; 32KiB with --recursive]
    #[arg(long, value_name = "SIZE", value_parser = buffer, help_heading = "Reading")]
    #[arg(allow_negative_numbers = true)]
    pub(super) buffer: Option<usize>,
    /// Backend that reads directories ('megadir backends' lists them) [default: by file system]
    #[arg(long, value_name = "NAME", value_parser = backend, conflicts_with = "recursive")]
    #[arg(help_heading = "Reading")]
    pub(super) backend: Option<&'static dyn Backend>,
    /// Stat backend that queries attributes ('megadir backends' lists them) [default: by file system]
    ///
    /// xfs-bulkstat, btrfs-search and ext4-device need root and query hundreds of inodes per call. They sync the
    /// file system first, which may take long if much is being written. Entries that change during the listing may
    /// have their earlier attributes. statx-fresh asks the server of a network file system, not the cache of this machine.
    #[arg(long, alias = "examiner", value_name = "NAME", value_parser = stat_backend, help_heading = "Reading")]
    pub(super) stat_backend: Option<&'static dyn StatBackend>,

    /// Print help; -h alone prints a summary
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[arg(short = 'a', short_alias = 'A', long, hide = true, overrides_with = "all")]
    all: bool,
    // Numeric options accept a leading minus, so that a typo such as `-j -1` is rejected as a value, not parsed as this option.
    #[arg(short = '1', hide = true, overrides_with = "one_per_line")]
    one_per_line: bool,
}

/// More are sorted in temporary files.
const BEST_MAX: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sort {
    /// Order of the directory; streams.
    None,
    /// By the bytes of the names.
    Name,
    /// By inode number.
    Inode,
    /// By size, the largest first.
    Size,
    /// By allocated space, the largest first.
    Allocated,
    /// By modification time, the newest first.
    Mtime,
    /// By access time, the newest first.
    Atime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Of {
    /// Each directory named, with --recursive all below it.
    Tree,
    /// The directories of each tree, one by one.
    Directories,
}

impl Sort {
    /// Attributes that the order compares.
    pub(super) fn want(self) -> StatMask {
        match self {
            Self::None | Self::Name | Self::Inode => StatMask::NOTHING,
            Self::Size => StatMask::SIZE,
            Self::Allocated => StatMask::ALLOCATED,
            Self::Mtime => StatMask::MODIFIED,
            Self::Atime => StatMask::ACCESSED,
        }
    }
}

impl Args {
    pub(in crate::cmd) fn writes(&self) -> bool {
        self.prometheus.is_given()
    }

    pub(super) fn needs_attributes(&self) -> bool {
        self.long
            || !self.fields.is_empty()
            || self.summary.is_some()
            || self.sort.want() != StatMask::NOTHING
            || self.conditions.any_on_attributes()
    }

    pub(super) fn keeps_best(&self) -> bool {
        self.sort != Sort::None && self.memory.is_none() && self.limit.is_some_and(|limit| limit <= BEST_MAX)
    }

    pub(super) fn human(&self) -> bool {
        self.human || self.human_or_help
    }

    fn shows_attributes(&self) -> bool {
        self.long || !self.fields.is_empty() || self.summary.is_some()
    }

    pub(in crate::cmd) fn requests_help(&self) -> bool {
        self.human_or_help && !self.shows_attributes()
    }

    /// Refuses options that exclude each other or would have no effect, before a directory is opened. The parser
    /// could refuse most of them, but its messages lack the reason. An option without effect is refused because its
    /// user expects something of it.
    pub(super) fn check(&self) -> Result<(), CliError> {
        let relative = self.time_style == Some(TimeStyle::Relative);
        refuse_if(&[
            (self.cross_mounts && !self.recursive, "--cross-mounts needs --recursive"),
            (self.prometheus.is_given() && !self.estimate, "--prometheus needs --estimate"),
            (self.summary.is_none() && self.top.is_some(), "--top needs --summary"),
            (
                self.summary == Some(Of::Directories) && !self.recursive,
                "--summary=directories needs --recursive",
            ),
            (
                self.summary.is_some() && self.human() && self.json,
                "--human and --json exclude each other: JSON has exact numbers",
            ),
            (
                !self.shows_attributes() && (self.human || self.time_style.is_some()),
                "--human and --time-style need --long, --fields or --summary",
            ),
            (
                self.json && (self.human() || relative),
                "--json prints exact values; it excludes --human and --time-style relative",
            ),
            (
                self.raw && self.needs_attributes(),
                "--raw prints the entries as listed; it excludes attributes",
            ),
            (self.memory.is_some() && self.sort == Sort::None, "--memory needs --sort"),
            (self.reverse && self.sort == Sort::None, "--reverse needs --sort"),
            (self.conditions.max_depth.is_some() && !self.recursive, "--max-depth needs --recursive"),
            (
                self.stat_backend.is_some() && !self.needs_attributes(),
                "--stat-backend needs --long, --fields, --summary or a condition on attributes",
            ),
        ])?;
        self.check_sample()?;
        let twice = self.fields.iter().enumerate().find(|(at, field)| self.fields[..*at].contains(field));
        if let Some((_, field)) = twice {
            return Err(CliError::usage(format!("--fields: '{}' appears twice", field.name())));
        }
        self.check_backend()
    }

    /// A sample has the names that the listing has: attributes of the whole directory would be queried for a few lines.
    fn check_sample(&self) -> Result<(), CliError> {
        let sample = self.sample.is_some();
        let attributes = "--sample prints names, types and inodes; for more: megadir list --sample N -r -0 DIR | xargs -0 ls -ld --";
        refuse_if(&[
            (!sample && self.seed.is_some(), "--seed needs --sample"),
            (sample && (self.long || !self.fields.is_empty()), attributes),
            (sample && self.limit.is_some(), "--sample has the number of entries: leave --limit out"),
            (
                sample && (self.count || self.estimate || self.summary.is_some()),
                "--sample prints entries: leave --count, --estimate or --summary out",
            ),
            (
                sample && !matches!(self.sort, Sort::None | Sort::Name),
                "--sample is printed in the order of paths: leave --sort out",
            ),
            (
                sample && self.memory.is_some(),
                "--memory: the lines of --sample are sorted in memory; leave it out",
            ),
        ])
    }

    fn check_backend(&self) -> Result<(), CliError> {
        let Some(backend) = self.backend else { return Ok(()) };
        let (name, threads) = (backend.name(), self.threads.unwrap_or(1));
        let message = if self.buffer.is_some() && !backend.uses_buffer() {
            let others = backends_that(|backend| backend.uses_buffer(), "has", "have");
            format!("--buffer: {name} has no configurable buffer; {others}")
        } else if self.raw && !backend.is_raw() {
            let others = backends_that(|backend| backend.is_raw(), "does", "do");
            format!("--raw: {name} returns neither record length nor offset; {others}")
        } else if threads > 1 && !backend.uses_threads() {
            let others = backends_that(|backend| backend.uses_threads(), "uses several", "use several");
            format!("--threads {threads}: {name} reads with one thread; {others}")
        } else {
            return Ok(());
        };
        Err(CliError::usage(message))
    }
}

fn backends_that(can: impl Fn(&dyn Backend) -> bool, does: &str, do_: &str) -> String {
    let able = megadir::BACKENDS.iter().filter(|backend| can(**backend));
    let names: Vec<&str> = able.map(|backend| backend.name()).collect();
    match &names[..] {
        [] => format!("no backend of this system {does}"),
        [name] => format!("{name} {does}"),
        [most @ .., last] => format!("{} and {last} {do_}", most.join(", ")),
    }
}
