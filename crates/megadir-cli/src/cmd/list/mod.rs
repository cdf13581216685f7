//! `megadir list`: the entries of directories, streamed.

mod filter;
mod lines;
mod sorted;
mod source;

use std::path::{Path, PathBuf};

use megadir::{Batch, Dir, Listing, Walk, WalkItem};

use self::filter::Filter;
use self::lines::{Format, Label, Lines};
use self::sorted::Collected;
use crate::exit::{self, CliError};
use crate::parse;
use crate::ui::output::{Ended, Output};

/// Lists the entries of directories, however many there are, in memory that does not grow.
///
/// Entries come in the order of the directory (with several threads, of shares of it), without '.' and
/// '..', hidden ones included. With several directories or --recursive each name is preceded by the path
/// of its directory.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directories to list.
    #[arg(default_value = ".")]
    directories: Vec<PathBuf>,

    /// End each name with a NUL byte instead of a newline.
    #[arg(short = '0', long, conflicts_with = "json")]
    null: bool,
    /// Print a JSON object a line: v, name, type, inode, and dir where names have a path.
    ///
    /// A name that is not UTF-8 is given as name_hex, the hex digits of its bytes (likewise dir_hex).
    #[arg(long)]
    json: bool,
    /// Print inode, type, record length, offset and name, as the kernel gives them.
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Print only the number of entries.
    #[arg(short, long, conflicts_with_all = ["raw", "null", "sort", "limit", "estimate"])]
    count: bool,
    /// Print about how many entries there are, with the 95 % interval and how it is known, in milliseconds.
    #[arg(long, conflicts_with_all = ["raw", "null", "sort", "limit", "types", "glob", "recursive", "backend", "buffer", "threads"])]
    estimate: bool,

    /// List only entries of these types: file (f), directory (d), symlink (l), fifo (p), socket (s), ...
    #[arg(short = 't', long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// List only entries whose name matches this glob, e.g. '*.tmp' or 'cache-[0-9]*'.
    #[arg(short, long = "match", value_name = "GLOB")]
    glob: Option<std::ffi::OsString>,
    /// Stop after this many entries.
    #[arg(short = 'n', long, value_name = "N", value_parser = parse::count)]
    limit: Option<u64>,
    /// Go down into directories below; symbolic links are never followed.
    #[arg(short, long)]
    recursive: bool,
    /// With --recursive, go down into other file systems mounted below too.
    #[arg(long, requires = "recursive")]
    cross_mounts: bool,
    /// Sort by name (byte order, as LC_ALL=C sort) or inode; this holds all entries in memory.
    #[arg(long, value_enum, default_value = "none")]
    sort: Sort,

    /// Use at most this many threads [default: one a processor, up to 8].
    #[arg(short = 'j', long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// The buffer for one call, e.g. 128KiB [default: by file system].
    #[arg(long, value_name = "SIZE", value_parser = parse::bytes)]
    buffer: Option<u64>,
    /// Read with this backend instead of the one that fits ('megadir backends' lists them).
    #[arg(long, value_name = "NAME", conflicts_with = "recursive")]
    backend: Option<String>,
    /// Say on standard error how each directory is read, and why.
    #[arg(long)]
    explain: bool,
}

/// What to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// As the directory gives them; streams.
    None,
    /// By the bytes of the names.
    Name,
    /// By inode number.
    Inode,
}

/// Parses a number of threads.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=megadir::THREADS_MAX) => Ok(threads),
        _ => Err(format!("write a number from 1 to {}", megadir::THREADS_MAX)),
    }
}

/// Why listing a directory ended before its end.
enum Stop {
    /// --limit has been reached.
    Limit,
    /// Nothing more can be written.
    Output(Ended),
    /// The directory failed; others may not.
    Directory(CliError),
}

impl From<Ended> for Stop {
    fn from(ended: Ended) -> Self {
        Self::Output(ended)
    }
}

impl<E: Into<CliError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Directory(error.into())
    }
}

/// A listing under way.
struct Run<'a> {
    args: &'a Args,
    threads: usize,
    filter: Filter,
    lines: Lines,
    output: Output,
    collected: Option<Collected>,
    /// Entries that may still be listed.
    left: u64,
    /// Entries that passed the filter, of the directory (--count).
    counted: u64,
    /// Directories named on the command line that could be read.
    listed: usize,
    /// Whatever failed, below the named directories too.
    failures: u64,
    /// The exit code if none of the named directories could be read.
    code_if_none: u8,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let mut run = Run::new(args)?;
    let mut ended = Ok(());
    for path in &args.directories {
        match run.directory(path) {
            Ok(()) => run.listed += 1,
            Err(Stop::Directory(error)) => run.fail(&error),
            Err(Stop::Limit) => {
                run.listed += 1;
                break;
            }
            Err(Stop::Output(output)) => {
                ended = Err(output);
                break;
            }
        }
    }
    match ended.and_then(|()| run.finish()) {
        Ok(()) => Ok(run.code()),
        Err(ended) => ended.code(),
    }
}

impl<'a> Run<'a> {
    fn new(args: &'a Args) -> Result<Self, CliError> {
        let output = Output::new()?;
        let format = match (args.json, args.raw) {
            (true, _) => Format::Json,
            (_, true) => Format::Raw,
            _ => Format::Names,
        };
        let lines = Lines {
            format,
            end: if args.null { 0 } else { b'\n' },
            escape: output.is_terminal() && !args.null && format != Format::Json,
            with_path: args.recursive || args.directories.len() > 1,
        };
        Ok(Self {
            args,
            threads: args.threads.unwrap_or_else(source::threads_default),
            filter: Filter::new(&args.types, args.glob.as_deref())?,
            lines,
            output,
            collected: (args.sort != Sort::None).then(|| Collected::new(args.sort, &lines)),
            left: args.limit.unwrap_or(u64::MAX),
            counted: 0,
            listed: 0,
            failures: 0,
            code_if_none: exit::NOTHING_RAN,
        })
    }

    /// Lists one of the named directories.
    fn directory(&mut self, path: &Path) -> Result<(), Stop> {
        if self.left == 0 {
            return Err(Stop::Limit);
        }
        self.lines.check(path)?;
        let directory = Dir::open(path)?;
        if self.args.estimate {
            return self.estimate(&directory);
        }
        let label = self.lines.label(path);
        if self.args.recursive {
            self.tree(directory)?;
        } else {
            self.flat(&directory, &label)?;
        }
        if self.args.count {
            self.lines.count(&mut self.output.text, self.counted, path);
            self.counted = 0;
            self.output.pause()?;
        }
        Ok(())
    }

    fn flat(&mut self, directory: &Dir, label: &Label) -> Result<(), Stop> {
        let choice = source::choose(directory, self.args, self.threads, self.filter.needs_types())?;
        if self.args.explain {
            eprintln!("megadir: '{}': {choice}", directory.path().display());
        }
        let mut listing = Listing::with_choice(directory, choice)?;
        while let Some(batch) = listing.next_batch()? {
            self.batch(batch, label)?;
        }
        Ok(())
    }

    fn tree(&mut self, root: Dir) -> Result<(), Stop> {
        let options = source::walk_options(self.args, self.threads);
        if self.args.explain {
            eprintln!("megadir: '{}': {}", root.path().display(), source::explain_walk(&options));
        }
        let mut walk = Walk::new(root, &options)?;
        // Batches of one directory often follow each other: its path is looked at once.
        let mut label = self.lines.label(Path::new(""));
        while let Some(item) = walk.next_item() {
            match item {
                WalkItem::Batch { directory, batch } => {
                    self.lines.relabel(&mut label, directory);
                    self.batch(batch, &label)?;
                }
                WalkItem::Error(error) => self.fail(&error.into()),
                WalkItem::OtherMount(path) => {
                    eprintln!(
                        "megadir: '{}' is another mount, not entered (--cross-mounts does)",
                        path.display()
                    );
                }
            }
        }
        Ok(())
    }

    /// Lists the entries of a batch.
    fn batch(&mut self, batch: Batch<'_>, label: &Label) -> Result<(), Stop> {
        let everything = self.filter.is_empty() && batch.len() as u64 <= self.left;
        if self.args.count {
            self.counted += match everything {
                true => batch.len() as u64,
                false => batch.entries().filter(|entry| self.filter.accepts(entry)).count() as u64,
            };
            return Ok(());
        }
        if let Some(collected) = &mut self.collected {
            for entry in batch.entries().filter(|entry| self.filter.accepts(entry)) {
                collected.add(label, &entry);
            }
            return Ok(());
        }
        if everything {
            self.lines.batch(&mut self.output, batch, label)?;
            self.left -= batch.len() as u64;
        } else {
            for entry in batch.entries().filter(|entry| self.filter.accepts(entry)).take(limit(self.left)) {
                self.lines.entry(&mut self.output.text, label, &entry);
                self.left -= 1;
                self.output.made()?;
            }
        }
        self.output.pause()?;
        if self.left == 0 { Err(Stop::Limit) } else { Ok(()) }
    }

    #[cfg(target_os = "linux")]
    fn estimate(&mut self, directory: &Dir) -> Result<(), Stop> {
        let estimate = megadir::estimate(directory)?;
        self.lines.estimate(&mut self.output.text, &estimate, directory.path());
        Ok(self.output.pause()?)
    }

    #[cfg(not(target_os = "linux"))]
    fn estimate(&mut self, _directory: &Dir) -> Result<(), Stop> {
        Err(CliError::nothing_ran("--estimate is not to be had on this system: use --count").into())
    }

    /// Reports a failure and goes on.
    fn fail(&mut self, error: &CliError) {
        // What has been listed so far belongs before the complaint.
        let _ = self.output.pause();
        eprintln!("megadir: {error}");
        self.failures += 1;
        self.code_if_none = error.code;
    }

    /// Writes what has been held back.
    fn finish(&mut self) -> Result<(), Ended> {
        if let Some(collected) = self.collected.take() {
            collected.sort(self.threads).write(&self.lines, &mut self.output, self.left)?;
        }
        self.output.flush()
    }

    fn code(&self) -> u8 {
        match (self.failures, self.listed) {
            (0, _) => exit::DONE,
            (_, 0) => self.code_if_none,
            _ => exit::SOME_FAILED,
        }
    }
}

/// Returns a limit as a length of memory.
fn limit(left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX)
}
