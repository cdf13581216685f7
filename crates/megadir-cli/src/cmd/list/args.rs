//! Options of `megadir list`, and checks of their combinations.

use std::ffi::OsString;
use std::path::PathBuf;

use megadir::{Backend, Examiner, FileType};

use super::conditions::Asked;
use super::values::{backend, buffer, examiner, file_type, memory, threads, top};
use crate::exit::{self, CliError};
use crate::parse;

/// Lists the entries of directories, however many there are, in memory that does not grow.
///
/// Entries come in the order of the directory (with several threads, of shares of it), without '.' and
/// '..', hidden ones included. With several directories or --recursive each name is preceded by the path
/// of its directory. On a terminal, control characters and bytes that are not UTF-8 are shown as \n or
/// \xff and a backslash as \\; elsewhere names pass unharmed.
///
/// As in ls, -l prints attributes, -h makes sizes readable and -R goes down. -a, -A and -1 change nothing: all entries are listed, one a line.
#[derive(clap::Args)]
// As in ls, -h means human-readable sizes. If no sizes are printed, it prints the help as in the other
// commands.
#[command(disable_help_flag = true)]
#[command(after_help = "\
Exit codes: 0 done; 1 something could not be read, the rest was listed; 2 usage; 3 none of the directories \
could be read. Errors are one line each on standard error, below \
the directories at most ten of each kind and then their number. A reader that closes the pipe is no error.")]
pub(crate) struct Args {
    /// The directories to list; a symbolic link to one is followed, and a file lists itself.
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    pub(super) directories: Vec<PathBuf>,

    /// List only entries of these types: file (f), directory (d), symlink (l), fifo (p), socket (s),
    /// block-device (b), char-device (c), whiteout (w), unknown (?); several with commas.
    #[arg(short = 't', long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = file_type)]
    #[arg(help_heading = "Which entries")]
    pub(super) types: Vec<FileType>,
    /// List only entries whose name matches this glob, e.g. '*.tmp', '{a,b}-[0-9]*'.
    ///
    /// The glob is held against the whole name, never a path. '*' matches any bytes, a leading dot
    /// included; '?' and '[...]' match one byte, so that a letter like ü is matched by '??'.
    #[arg(short = 'g', long = "match", value_name = "GLOB", help_heading = "Which entries")]
    pub(super) glob: Option<OsString>,
    /// Stop after this many entries of all directories together, e.g. 100 or 10k.
    #[arg(short = 'n', long, value_name = "N", value_parser = parse::count, help_heading = "Which entries")]
    #[arg(allow_negative_numbers = true)]
    pub(super) limit: Option<u64>,
    /// Go down into directories below; symbolic links are never followed.
    #[arg(short, long, visible_short_alias = 'R', help_heading = "Which entries")]
    pub(super) recursive: bool,
    /// With --recursive, go down into other file systems mounted below too.
    #[arg(long, help_heading = "Which entries")]
    pub(super) cross_mounts: bool,
    /// List only entries modified longer ago than this: 90s, 15m, 12h, 30d, 2w, 1y (365 days).
    #[arg(long, value_name = "AGE", value_parser = parse::age_s, help_heading = "Which entries")]
    #[arg(allow_negative_numbers = true)]
    pub(super) older_than: Option<u64>,
    /// List only entries modified within this time or in the future: 90s, 15m, 12h, 30d, 2w, 1y.
    #[arg(long, value_name = "AGE", value_parser = parse::age_s, help_heading = "Which entries")]
    #[arg(allow_negative_numbers = true)]
    pub(super) newer_than: Option<u64>,
    /// List only entries of more bytes than this, e.g. 0, 4KiB, 1M (K, M, G: powers of 1024; KB, MB: of 1000).
    #[arg(long, value_name = "SIZE", value_parser = parse::bytes, help_heading = "Which entries")]
    #[arg(allow_negative_numbers = true)]
    pub(super) larger_than: Option<u64>,
    /// List only entries of fewer bytes than this, e.g. 1, 4KiB, 1M.
    #[arg(long, value_name = "SIZE", value_parser = parse::bytes, help_heading = "Which entries")]
    #[arg(allow_negative_numbers = true)]
    pub(super) smaller_than: Option<u64>,
    /// List only entries of this user, by name or number.
    #[arg(long, value_name = "USER", help_heading = "Which entries")]
    #[arg(allow_negative_numbers = true)]
    pub(super) owner: Option<String>,

    /// Sort all entries by name (byte order, as LC_ALL=C sort; below, by path), inode, size (largest first)
    /// or mtime (newest first).
    ///
    /// Sorting by name or inode holds all entries in memory, about 60 bytes each with names of 32 bytes, unless
    /// --memory or --long is given; 'none' streams.
    #[arg(long, value_name = "KEY", value_enum, default_value = "none", hide_possible_values = true)]
    #[arg(
        help_heading = "Which entries",
        help = "Sort by name (byte order, as LC_ALL=C sort), inode, size, mtime or none"
    )]
    pub(super) sort: Sort,
    /// Sort what outgrows this memory by temporary files (in TMPDIR; TMP on Windows) [default: 256MiB with --long].
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Which entries")]
    #[arg(allow_negative_numbers = true)]
    pub(super) memory: Option<usize>,

    /// End each line with a NUL byte instead of a newline, and escape nothing.
    #[arg(short = '0', long, conflicts_with = "json", help_heading = "What is printed")]
    pub(super) null: bool,
    /// Print a JSON object a line: v (version, 1), dir where names have a path, name, type, inode, and the fields asked for.
    ///
    /// A name that is not UTF-8 is given as name_hex instead, the hex digits of its bytes (likewise
    /// dir_hex). With --count: v, dir, count. With --estimate: v, dir, entries, low, high, basis. Numbers are
    /// exact integers of up to 64 bits, inodes and sizes beyond 2^53 included: do not read them as doubles.
    #[arg(long, help_heading = "What is printed")]
    pub(super) json: bool,
    /// Print five columns: inode, type, record length in bytes, offset, name, as the kernel gives them.
    #[arg(long, conflicts_with = "json", help_heading = "What is printed")]
    pub(super) raw: bool,
    /// Print attributes: those of ls -l (on Windows type, size, mtime, name), aligned and with the targets of symbolic links on a terminal,
    /// separated by tabs and without targets (--fields target) elsewhere.
    #[arg(short, long, conflicts_with_all = ["raw", "count", "estimate"], help_heading = "What is printed")]
    pub(super) long: bool,
    /// Print these attributes: name, type, size, mtime, ctime, btime, mode, user, group, links, inode,
    /// device, mount, target; several with commas. Means --long.
    ///
    /// What a file system does not have is left empty ('-' on a terminal, null in JSON). Sizes are bytes.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = super::field::parse)]
    #[arg(conflicts_with_all = ["raw", "count", "estimate"], help_heading = "What is printed")]
    pub(super) fields: Vec<super::field::Field>,
    /// Print times as iso (UTC), epoch (seconds since 1970) or relative ("3 days ago") [default: iso].
    ///
    /// On a terminal iso ends with the second unless it is asked for. In JSON times are strings, to the nanosecond.
    #[arg(
        long,
        value_name = "STYLE",
        value_enum,
        hide_possible_values = true,
        help_heading = "What is printed"
    )]
    pub(super) time_style: Option<super::times::Named>,
    /// Print sizes as 512, 1.5K or 23M (powers of 1024) instead of bytes.
    #[arg(long, help_heading = "What is printed")]
    human: bool,
    /// With --long, --fields or --summary: --human. Without: print help.
    #[arg(short = 'h', help_heading = "What is printed")]
    human_or_help: bool,
    /// Print figures: types, sizes, ages, the largest, newest and oldest; with =directories a table of directories.
    ///
    /// One summary for each directory named, with --recursive of all below it. With =directories and --recursive
    /// instead: which directories of the tree have the most entries, and their bytes, largest and newest. Sizes are
    /// apparent sizes; hard links count as often as they are found. Ages are counted from the start of the run. With
    /// --json an object for each summary, in which sums of bytes may pass 64 bits.
    #[arg(long, value_name = "OF", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "tree", hide_possible_values = true, help_heading = "What is printed")]
    #[arg(conflicts_with_all = ["null", "raw", "long", "fields", "count", "estimate", "sort", "limit"])]
    pub(super) summary: Option<Of>,
    /// Name this many entries of each kind, or directories, in summaries [default: 5, directories 20].
    #[arg(long, value_name = "N", value_parser = top, help_heading = "What is printed")]
    #[arg(allow_negative_numbers = true)]
    pub(super) top: Option<usize>,
    /// Print only the number of entries.
    #[arg(short, long, conflicts_with_all = ["raw", "null", "sort", "limit", "estimate"])]
    #[arg(help_heading = "What is printed")]
    pub(super) count: bool,
    /// Print about how many entries there are, the 95 % interval and how it is known, in milliseconds.
    ///
    /// Refused where nothing cheap tells: other file systems than ext4, XFS, btrfs and tmpfs, unless the
    /// directory is small.
    #[arg(long, conflicts_with_all = ["raw", "null", "sort", "limit", "types", "glob", "recursive"])]
    #[arg(conflicts_with_all = ["cross_mounts", "backend", "buffer", "threads", "explain"])]
    #[arg(conflicts_with_all = ["older_than", "newer_than", "larger_than", "smaller_than", "owner"])]
    #[arg(help_heading = "What is printed")]
    pub(super) estimate: bool,
    /// Tell every error on a line of its own; without this the first ten of each kind are told, and how many more there were.
    #[arg(long, help_heading = "What is printed")]
    pub(super) all_errors: bool,
    /// Say on standard error how each directory is read, and why.
    #[arg(long, help_heading = "What is printed")]
    pub(super) explain: bool,

    /// Use at most this many threads, 1 to 256 [default: by file system, up to 8].
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "How it is read")]
    #[arg(allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// The buffer for one call, 4KiB to 16MiB [default: by file system, 32KiB with --recursive].
    #[arg(long, value_name = "SIZE", value_parser = buffer, help_heading = "How it is read")]
    #[arg(allow_negative_numbers = true)]
    pub(super) buffer: Option<usize>,
    /// Read with this backend instead of the one that fits: 'megadir backends' shows them.
    #[arg(long, value_name = "NAME", value_parser = backend, conflicts_with = "recursive")]
    #[arg(help_heading = "How it is read")]
    pub(super) backend: Option<&'static dyn Backend>,
    /// Ask for attributes in this way instead of the one that fits: 'megadir backends' shows them.
    ///
    /// xfs-bulkstat and btrfs-search are for root: they ask for hundreds of inodes in one call. They sync the file
    /// system first, which may take long where much is being written; what is changed while it is being listed
    /// may be shown as it was when the listing began.
    #[arg(long, value_name = "NAME", value_parser = examiner, help_heading = "How it is read")]
    pub(super) examiner: Option<&'static dyn Examiner>,

    /// Print help; -h alone prints a summary.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[arg(short = 'a', short_alias = 'A', long, hide = true, overrides_with = "all")]
    all: bool,
    // Numeric options accept a leading minus, so that a typo such as `-j -1` is rejected as a value, not parsed
    // as this option.
    #[arg(short = '1', hide = true, overrides_with = "one")]
    one: bool,
}

/// What to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Sort {
    /// As the directory gives them; streams.
    None,
    /// By the bytes of the names.
    Name,
    /// By inode number.
    Inode,
    /// By size, the largest first.
    Size,
    /// By modification time, the newest first.
    Mtime,
}

/// Scope of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Of {
    /// Each directory named, with --recursive all below it.
    Tree,
    /// The directories of each tree, one by one.
    Directories,
}

impl Args {
    pub(super) fn needs_attributes(&self) -> bool {
        self.long
            || !self.fields.is_empty()
            || self.summary.is_some()
            || matches!(self.sort, Sort::Size | Sort::Mtime)
            || self.has_conditions()
    }

    pub(super) fn human(&self) -> bool {
        self.human || self.human_or_help
    }

    fn shows_attributes(&self) -> bool {
        self.long || !self.fields.is_empty() || self.summary.is_some()
    }

    /// `-h` without sizes means help.
    pub(in crate::cmd) fn asks_for_help(&self) -> bool {
        self.human_or_help && !self.shows_attributes()
    }

    pub(super) fn has_conditions(&self) -> bool {
        self.older_than.is_some()
            || self.newer_than.is_some()
            || self.larger_than.is_some()
            || self.smaller_than.is_some()
            || self.owner.is_some()
    }

    pub(super) fn conditions(&self) -> Asked<'_> {
        Asked {
            older_than: self.older_than,
            newer_than: self.newer_than,
            larger_than: self.larger_than,
            smaller_than: self.smaller_than,
            owner: self.owner.as_deref(),
        }
    }

    fn check_summary(&self) -> Result<(), CliError> {
        match self.summary {
            None if self.top.is_some() => {
                Err(CliError::usage("--top is about what a summary names: it needs --summary"))
            }
            Some(Of::Directories) if !self.recursive => Err(CliError::usage(
                "--summary=directories is about the directories below: it needs --recursive",
            )),
            Some(_) if self.human() && self.json => {
                Err(CliError::usage("--json gives exact numbers in a summary: it does not go with --human"))
            }
            _ => Ok(()),
        }
    }

    /// Runs before anything is read.
    pub(super) fn check(&self) -> Result<(), CliError> {
        if self.cross_mounts && !self.recursive {
            return Err(CliError::usage("--cross-mounts is about going down: it needs --recursive"));
        }
        self.check_summary()?;
        if !self.shows_attributes() && (self.human || self.time_style.is_some()) {
            let reason = "--human and --time-style are about attributes: they need --long or --summary";
            return Err(CliError::usage(reason));
        }
        let relative = self.time_style == Some(super::times::Named::Relative);
        if self.json && (self.human() || relative) {
            let reason = "--json gives exact values: it does not go with --human or --time-style relative";
            return Err(CliError::usage(reason));
        }
        let twice = self.fields.iter().enumerate().find(|(at, field)| self.fields[..*at].contains(field));
        if let Some((_, field)) = twice {
            return Err(CliError::usage(format!("--fields: '{}' is named twice", field.name())));
        }
        if self.raw && self.needs_attributes() {
            return Err(CliError::usage("--raw prints what the listing gives, without attributes"));
        }
        if self.memory.is_some() && self.sort == Sort::None {
            return Err(CliError::usage("--memory is about sorting: it needs --sort"));
        }
        if self.examiner.is_some() && !self.needs_attributes() {
            let reason =
                "--examiner is about attributes: it needs --long, --fields, --summary or a condition on them";
            return Err(CliError::usage(reason));
        }
        let Some(backend) = self.backend else { return Ok(()) };
        let name = backend.name();
        if self.buffer.is_some() && !backend.uses_buffer() {
            let others = those(|backend| backend.uses_buffer(), "has", "have");
            let reason = format!("--buffer: {name} has no buffer to choose; {others}");
            return Err(CliError::usage(reason));
        }
        if self.raw && !backend.is_raw() {
            let others = those(|backend| backend.is_raw(), "does", "do");
            let reason = format!("--raw: {name} knows neither record length nor offset; {others}");
            return Err(CliError::usage(reason));
        }
        match self.threads {
            Some(threads) if threads > 1 && !backend.uses_threads() => {
                let others = those(|backend| backend.uses_threads(), "uses several", "use several");
                let reason = format!("--threads {threads}: {name} reads with one thread; {others}");
                Err(CliError::usage(reason))
            }
            _ => Ok(()),
        }
    }
}

/// `does` is the verb for one backend, `do_` for several.
fn those(can: impl Fn(&dyn Backend) -> bool, does: &str, do_: &str) -> String {
    let able = megadir::BACKENDS.iter().filter(|backend| can(**backend));
    let names: Vec<&str> = able.map(|backend| backend.name()).collect();
    match &names[..] {
        [] => format!("no backend of this system {does}"),
        [one] => format!("{one} {does}"),
        [most @ .., last] => format!("{} and {last} {do_}", most.join(", ")),
    }
}
