//! From the arguments of `megadir bench run` to a study and a plan.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use megadir::{Dir, Listing};
use megadir_bench::dataset::{Chosen, Look, LookError, Sizes, look_at, parse_content, parse_sizes};
use megadir_bench::plan::{
    AgedBy, CacheFact, FileSystemFact, HalfWidth, PlanError, Planned, Request, Target, plan,
};
use megadir_bench::study::{self, Study, StudyError};
use megadir_bench::{backend_facts, backend_facts_below, cache_facts, method_facts};
use megadir_record::{CacheState, ContentKind, Preset};

use super::lab::LabArgs;
use super::work::FileWorkArgs;
use crate::cmd::interrupt::Interrupt;
use crate::exit::CliError;
use crate::parse;

/// A directory of at least so many entries is itself what is listed.
const EXISTING_ENTRIES_MIN: u64 = 1_000;

/// Runs a study and reports on it.
///
/// Without options the study's own sizes are made in a directory of their own below the current one and
/// removed after the run. --backend, --buffer and --threads replace the study's groups by one that crosses
/// the given values and compares them with the baseline; what is not given is the baseline's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The study: a name from 'megadir bench list', or a study file (*.toml).
    #[arg(required_unless_present = "resume")]
    pub(crate) study: Option<String>,
    /// Go on with the run that wrote this record and ended early (interrupted, killed, disk full); only --dir, --drop-caches, --erase-device and --dry-run go with it, and a record made with --share stays one.
    #[arg(
        long,
        value_name = "RECORD",
        conflicts_with_all = ["study", "entries", "sizes", "content", "share", "backend", "buffer", "threads", "quick", "published", "rounds", "until", "epochs", "aged", "rate", "seed", "output", "cache", "layout", "order", "sync", "workers", "worker_kind", "access", "sharing", "fs", "device"]
    )]
    pub(crate) resume: Option<PathBuf>,
    /// Work on this directory itself, only reading it, if it holds at least 1000 entries and neither --entries nor --fs is given; else make the data, or the images of --fs, below it.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Make data sets of these sizes, e.g. 100k or 10k,100k,1M; the largest is compared, growth takes all.
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = parse::count)]
    entries: Vec<u64>,
    /// Make files of these sizes: 4KiB, uniform:1KiB-100KiB or lognormal:50kB+sigma=1 (mean, and sigma of the natural logarithm).
    #[arg(long, value_name = "LAW", value_parser = parse_sizes, long_help = parse::sizes_help())]
    sizes: Option<Sizes>,
    /// Make files with this in them: pseudorandom, hex-digest or json.
    #[arg(long, value_name = "KIND", value_parser = parse_content, long_help = parse::content_help())]
    content: Option<ContentKind>,
    #[command(flatten)]
    work: FileWorkArgs,
    #[command(flatten)]
    pub(crate) lab: LabArgs,
    /// Make files as there are below this directory: as many, on as many levels, with such names, sizes and numbers in a directory. Only numbers are taken, and no file is opened; --layout flat puts them into one directory.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["entries", "resume"])]
    shape_of: Option<PathBuf>,
    /// Compare these backends ('megadir backends' lists them).
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    backend: Vec<String>,
    /// Compare these buffers, e.g. 32KiB,1MiB.
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = parse::bytes)]
    buffer: Vec<u64>,
    /// Compare these numbers of threads.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    threads: Vec<u32>,
    /// Add twins of all arms on directories that have held more files: so many beyond their own (500k), or so many times their own
    /// (10x), made among them and removed before anything is measured; for studies that look at directories.
    #[arg(long, value_name = "N|Nx", value_parser = parse::aged)]
    aged: Option<AgedBy>,
    /// Start so many operations a second, for studies of single operations such as lookup; their times are then counted from when each
    /// was to start [default: one after the other].
    #[arg(long, value_name = "N", value_parser = parse::count)]
    rate: Option<u64>,
    /// Measure in these states of the cache, each arm in each: warm; unseen (made anew before every block, so that nobody has listed or
    /// asked for it: a first look); data-cold (what files contain is dropped); vfs-cold (names, inodes and contents are dropped, of the
    /// whole machine: only as root or administrator, and only with --drop-caches); fs-cold (unmounted and mounted again, so that nothing
    /// of it is cached: with --fs only).
    #[arg(long, value_name = "STATE,...", value_delimiter = ',', value_parser = cache_state)]
    cache: Vec<CacheState>,
    /// Allow the run to drop the caches of the whole machine before every block that is vfs-cold, which slows all programs down.
    #[arg(long)]
    pub(crate) drop_caches: bool,
    /// Run the small size: some seconds, with several file systems up to half a minute.
    #[arg(long)]
    quick: bool,
    /// Run the size of the published source.
    #[arg(long, conflicts_with = "quick")]
    published: bool,
    /// Measure this many rounds; with --until at most so many.
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Make the data sets anew so many times (5 or more), with other names, and split the rounds over them: what one data set does by chance is then no difference [default: make them once].
    #[arg(long, value_name = "N", value_parser = epochs)]
    epochs: Option<u32>,
    /// Measure until half the interval of every comparison is at most this wide: of ratios (1%) or differences (5ns, 0.2us); --rounds limits it [default limit: 10 times the study's rounds].
    #[arg(long, value_name = "WIDTH", value_parser = parse::width)]
    until: Option<HalfWidth>,
    /// Seed names and orders with this [default: drawn, and written into the record].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Leave out of the record what tells whose machine it is: host and user names, paths, devices.
    #[arg(long)]
    pub(crate) share: bool,
    /// Print the plan and what it needs; touch nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the record to this new file [default: megadir-STUDY-DATE-TIME.jsonl here].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What is to be run, and where.
pub(crate) struct Resolved {
    pub(crate) planned: Planned,
    /// Which states of the cache can be had in the directory.
    pub(crate) caches: Vec<CacheFact>,
    /// What is known of the file systems that are made for the run.
    pub(crate) file_systems: Vec<FileSystemFact>,
    /// The directory that is listed, or below which data sets are made.
    pub(crate) directory: PathBuf,
    /// The command line that repeats the run.
    pub(crate) command: Vec<String>,
}

/// Resolves the arguments; counts the entries of a directory that is to be listed itself.
pub(crate) fn resolve(args: &Args, interrupt: &Interrupt) -> Result<Resolved, CliError> {
    let mut study = study_of(args.study.as_deref().unwrap_or_default())?;
    let directory = args.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let open = Dir::open(&directory)?;
    let look = args.shape_of.as_deref().map(|path| look(path, interrupt)).transpose()?;
    let entries = look.as_ref().map_or(args.entries.clone(), |look| vec![look.entries]);
    let spread = args.work.spread(&study)?;
    let chosen = Chosen { look, sizes: args.sizes.clone(), content: args.content, spread };
    let lab = args.lab.facts(&directory, interrupt)?;
    let target = target(args, entries, &directory, interrupt)?;
    if matches!(target, Target::Existing { .. }) && !chosen.is_nothing() {
        return Err(CliError::usage(format!(
            "'{}' itself would be worked on, so no files are made: give --entries to make some below it",
            directory.display()
        )));
    }
    study.data = chosen.over(&study.data);
    args.work.apply(&mut study)?;
    let facts = match &target {
        Target::Existing { .. } => backend_facts(&open),
        Target::Made { .. } => backend_facts_below(&open),
    };
    let methods = method_facts(&open);
    let caches = cache_facts(&open);
    let seed = args.seed.unwrap_or_else(drawn_seed);
    let request = Request {
        preset: match (args.quick, args.published) {
            (true, _) => Preset::Quick,
            (_, true) => Preset::Published,
            _ => Preset::Default,
        },
        seed,
        rounds: args.rounds,
        until: args.until,
        epochs: args.epochs,
        aged: args.aged,
        rate_per_s: args.rate,
        target,
        backends: args.backend.clone(),
        buffers_bytes: args.buffer.clone(),
        threads: args.threads.clone(),
        facts: &facts,
        methods: &methods,
        caches: args.cache.clone(),
        drop_caches: args.drop_caches,
        cache_facts: &caches,
        file_systems: &lab.file_systems,
        images_room_bytes: lab.room_bytes,
    };
    let planned = plan(&study, &request).map_err(|error| plan_error(&error))?;
    let file_systems = lab.file_systems;
    Ok(Resolved { planned, caches, file_systems, directory, command: command(args, seed) })
}

pub(crate) fn plan_error(error: &PlanError) -> CliError {
    match error {
        PlanError::UnknownBackend { .. } | PlanError::Value { .. } | PlanError::Data { .. } => {
            CliError::usage(error.to_string())
        }
        PlanError::NoBaseline { .. } | PlanError::Nothing { .. } => CliError::nothing_ran(error.to_string()),
    }
}

/// Parses a state of the cache.
fn cache_state(text: &str) -> Result<CacheState, String> {
    let found = CacheState::ALL.into_iter().find(|state| state.name() == text);
    found.ok_or_else(|| {
        format!("no such state of the cache; there are {}", CacheState::ALL.map(CacheState::name).join(", "))
    })
}

fn study_of(name: &str) -> Result<Study, CliError> {
    let usage = |error: StudyError| CliError::usage(error.to_string());
    if !name.ends_with(".toml") {
        return study::built_in(name).map_err(usage);
    }
    let text = std::fs::read_to_string(name)
        .map_err(|error| CliError::nothing_ran(format!("cannot read '{name}': {error}")))?;
    study::from_text(name, &text).map_err(usage)
}

/// Looks at the tree whose shape is wanted, and says what could not be seen of it.
fn look(path: &Path, interrupt: &Interrupt) -> Result<Look, CliError> {
    let look = look_at(path, &interrupt.stop, &interrupt.beat).map_err(|error| match error {
        LookError::Read(error) => error.into(),
        LookError::Stopped => CliError { message: "interrupted".into(), code: crate::exit::INTERRUPTED },
        LookError::Empty(_) | LookError::Deep(_) => CliError::nothing_ran(error.to_string()),
    })?;
    for (count, what) in
        [(look.unread, "directories could not be read"), (look.unexamined, "files have no known size")]
    {
        if count > 0 {
            eprintln!("megadir: '{}': {count} {what}; the shape is without them", path.display());
        }
    }
    Ok(look)
}

fn target(
    args: &Args,
    entries: Vec<u64>,
    directory: &Path,
    interrupt: &Interrupt,
) -> Result<Target, CliError> {
    if args.dir.is_none() || !entries.is_empty() || !args.lab.fs.is_empty() {
        return Ok(Target::Made { entries });
    }
    let mut listing = Listing::open(directory)?;
    let mut entries = 0;
    while let Some(batch) = listing.next_batch()? {
        interrupt.beat.fetch_add(1, Ordering::Relaxed);
        entries += batch.entries().count() as u64;
        if interrupt.asked() {
            return Err(CliError { message: "interrupted".into(), code: crate::exit::INTERRUPTED });
        }
    }
    if entries < EXISTING_ENTRIES_MIN {
        return Ok(Target::Made { entries: Vec::new() });
    }
    Ok(Target::Existing { path: directory.to_string_lossy().into_owned(), entries })
}

/// Parses a number of epochs.
fn epochs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(epochs) if epochs >= megadir_bench::schedule::epochs::EPOCHS_MIN as u32 => Ok(epochs),
        _ => Err(format!(
            "write {} or more: fewer have no interval of their own (without --epochs data sets are made once)",
            megadir_bench::schedule::epochs::EPOCHS_MIN
        )),
    }
}

/// Draws a seed from the time and the process: short enough to type again.
pub(in crate::cmd) fn drawn_seed() -> u64 {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    (now_ns ^ u64::from(std::process::id()).rotate_left(20)) & 0xffff_ffff
}

/// Returns the command line, with the seed that was drawn.
fn command(args: &Args, seed: u64) -> Vec<String> {
    let given = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let mut command: Vec<String> = std::iter::once("megadir".to_owned()).chain(given).collect();
    if args.seed.is_none() {
        command.extend(["--seed".to_owned(), seed.to_string()]);
    }
    command
}
