//! Arguments of `megadir bench run`, resolved to a study and a plan.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use megadir::{Dir, Listing};
use megadir_bench::dataset::{Chosen, Look, LookError, Sizes, look_at, parse_content, parse_sizes};
use megadir_bench::plan::{
    AgedBy, CacheFact, FileSystemFact, HalfWidth, PlanError, Planned, Request, Target, plan,
};
use megadir_bench::schedule::epochs::EPOCHS_MIN;
use megadir_bench::study::{self, Kind, Study};
use megadir_bench::{backend_facts, backend_facts_below, cache_facts, method_facts, program_facts};
use megadir_inventory::open_stream;
use megadir_record::{CacheState, ContentKind, Preset, Spread};

use super::lab::LabArgs;
use super::report::{AT_LENGTH, FIRST_SCREEN};
use super::volumes;
use super::work::{FileWorkArgs, given};
use crate::cmd::engine::{Engine, Shift};
use crate::cmd::interrupt::Interrupt;
use crate::cmd::values;
use crate::exit::{CliError, refuse_if};
use crate::ui::message::reason;

const VERSION: &str = concat!("megadir ", env!("CARGO_PKG_VERSION"), " (the running executable)");
/// Larger directories are measured themselves.
const EXISTING_ENTRIES_MIN: u64 = 1_000;

/// They exclude `--engine` and what needs it.
const WITHOUT_ENGINE: [&str; 5] = ["worker_kind", "fs", "disk", "device", "drop_caches"];

/// Run a study and report its results
///
/// Without options, creates data of the study's sizes in a private directory below the current one, and removes
/// it after the run. --backend, --buffer and --threads replace the study's groups by one group: all
/// combinations of the given values, compared with the baseline. Missing values are the baseline's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Study: a name from 'megadir bench list', a study file (*.toml), or all
    ///
    /// all runs every built-in study except peers and container, one after the other, and writes a folder with their records and pages.
    #[arg(required_unless_present = "resume")]
    pub(crate) study: Option<String>,
    /// Resume the run of this record, which ended early
    ///
    /// The run was interrupted or killed, or the disk was full. Only --dir, --drop-caches, --erase-device and
    /// --dry-run can be combined with it. A record made with --share stays anonymous.
    #[arg(
        long,
        value_name = "RECORD",
        conflicts_with_all = ["study", "entries", "shape_of", "sizes", "content", "share", "backend", "buffer", "threads", "quick", "published", "rounds", "warm_up", "until", "epochs", "aged", "rate", "seed", "output", "cache", "layout", "order", "sync", "workers", "worker_kind", "access", "sharing", "group", "fs", "disk", "device"]
    )]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    work: FileWorkArgs,
    /// Backends to compare ('megadir backends' lists them)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    backend: Vec<String>,
    /// Buffer sizes to compare, e.g. 32KiB,1MiB
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = values::bytes)]
    buffer: Vec<u64>,
    /// Numbers of threads to compare
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    threads: Vec<u32>,
    /// Start N operations per second [default: back to back]
    ///
    /// For studies of single operations such as lookup. Times are counted from the scheduled start.
    #[arg(long, value_name = "N", value_parser = values::count)]
    rate: Option<u64>,
    /// Run the small size: seconds, or a minute or two with several file systems
    #[arg(long)]
    quick: bool,
    /// Run the size of the published source
    #[arg(long, conflicts_with = "quick")]
    published: bool,
    /// Recreate the data sets this many times (5 or more) [default: create once]
    ///
    /// Each time they get other names, and the rounds are split over them, so that a peculiarity of one data set is not taken for a difference.
    #[arg(long, value_name = "N", value_parser = epochs)]
    epochs: Option<u32>,
    /// Engine of the workers: mpi, the processes that an MPI launcher started, on one host or several
    ///
    /// For all studies but limits, on a directory that all hosts share: mpirun -np 4 megadir bench run smallfile
    /// --engine mpi --dir DIR. Each process, called rank, works on a share of the files, or does the same listing or lookups as the others. The
    /// MPI library is chosen by the launcher; the environment variable MEGADIR_MPI=PATH names another. docs/mpi.md has more.
    #[arg(
        long,
        value_name = "ENGINE",
        requires = "dirs",
        conflicts_with_all = WITHOUT_ENGINE
    )]
    pub(crate) engine: Option<Engine>,
    /// Use files on another host than they were created on (host), or by the same rank (none) [default: host]
    ///
    /// For studies of small files, remove and layout, with --engine mpi.
    #[arg(long, value_name = "WHERE", requires = "engine", hide_possible_values = true)]
    #[arg(conflicts_with_all = WITHOUT_ENGINE)]
    pub(crate) shift: Option<Shift>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Options of every run: data, places, rounds and the record.
// `bench run`, `bench run all` and `bench commands` have them all. A resumed run takes its plan from the record and
// not from these options.
#[derive(Clone, clap::Args)]
pub(crate) struct RunArgs {
    /// Directory to work in; several are compared [default: .]
    ///
    /// A directory with at least 1000 entries is measured itself, read-only, unless --entries or --fs is given. Otherwise the data, or the images of
    /// --fs, are created below it. With several (--dir A --dir B), data are created below each, and the arms of all alternate: this compares volumes.
    #[arg(long = "dir", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Sizes of the data sets, e.g. 100k or 10k,100k,1M
    ///
    /// The largest is compared; studies of growth use all.
    #[arg(long, alias = "files", value_name = "N,...", value_delimiter = ',', value_parser = values::count)]
    entries: Vec<u64>,
    /// Distribution of file sizes: 4KiB, uniform:1KiB-100KiB, lognormal:50kB+sigma=1
    #[arg(long, alias = "size", value_name = "LAW", value_parser = parse_sizes, long_help = values::sizes_help())]
    sizes: Option<Sizes>,
    /// Content of the files: pseudorandom, hex-digest or json
    #[arg(long, value_name = "KIND", value_parser = parse_content, long_help = values::content_help())]
    content: Option<ContentKind>,
    #[command(flatten)]
    pub(crate) lab: LabArgs,
    /// Create files shaped like this directory tree
    ///
    /// Copies the number of files, the levels, the lengths of names, the file sizes and the files per directory. Only numbers are taken; no
    /// file is opened. With --layout flat, all files go into one directory.
    #[arg(long, value_name = "DIR", conflicts_with = "entries")]
    shape_of: Option<PathBuf>,
    /// Add arms on aged directories: 500k, or 10x their own files
    ///
    /// This number of files is created among the directory's own and removed before measuring. Only for studies of directories.
    #[arg(long, value_name = "N|Nx", value_parser = values::aged)]
    aged: Option<AgedBy>,
    /// Cache states to measure each arm in: warm, unseen, data-cold, vfs-cold, fs-cold
    ///
    /// warm: all is cached. unseen: recreated before every block, so that nothing has listed or queried it yet.
    /// data-cold: file contents are dropped. vfs-cold: names, inodes and contents are dropped on the whole
    /// machine (root or administrator, with --drop-caches). fs-cold: unmounted and mounted again (with --fs).
    #[arg(long, value_name = "STATE,...", value_delimiter = ',', value_parser = cache_state)]
    cache: Vec<CacheState>,
    /// Allow dropping the caches of the whole machine before every vfs-cold block
    ///
    /// This slows down all programs.
    #[arg(long)]
    pub(crate) drop_caches: bool,
    /// Number of rounds to measure; with --until, the maximum
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Number of warm-up rounds, which do not count [default: until times are steady]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    warm_up: Option<u32>,
    /// Measure until the half-width of every interval is at most this: 1%, 5ns, 0.2us
    ///
    /// A percentage limits ratios, a time limits differences. --rounds is the limit [default limit: 10 times the study's rounds].
    #[arg(long, value_name = "WIDTH", value_parser = values::width)]
    until: Option<HalfWidth>,
    /// Seed of names and orders [default: random, recorded]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Omit identifying data from the record: host and user names, paths, devices
    #[arg(long)]
    pub(crate) share: bool,
    /// At the end, print every comparison and warning instead of one screen
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print only errors; the record and its page are written
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print the plan and its requirements, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write the record to this new file [default: ./megadir-STUDY-DATE-TIME.jsonl]
    ///
    /// With all, a folder [default: ./megadir-all-DATE-TIME]. The same command with the same folder continues. In a checkout of megadir, whose
    /// checks read every file, the default is in $XDG_STATE_HOME/megadir or ~/.local/state/megadir (Windows: %LOCALAPPDATA%\megadir).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// A plan with the facts about the machine that were found out for it. `caches` are the states of the cache, with a
/// reason where one cannot be made here; `file_systems` has the ones of the lab. `command` is the line that
/// is recorded with the plan.
pub(crate) struct Resolved {
    pub(crate) planned: Planned,
    pub(crate) caches: Vec<CacheFact>,
    pub(crate) file_systems: Vec<FileSystemFact>,
    pub(crate) directory: PathBuf,
    pub(crate) command: Vec<String>,
}

impl RunArgs {
    /// Name of the format of the report at the end.
    pub(crate) fn format(&self) -> Option<&'static str> {
        (!self.quiet).then_some(if self.verbose { AT_LENGTH } else { FIRST_SCREEN })
    }

    pub(crate) fn request(&self, preset: Preset) -> Request<'static> {
        Request {
            rounds: self.rounds,
            until: self.until,
            aged: self.aged,
            caches: self.cache.clone(),
            drop_caches: self.drop_caches,
            ..Request::bare(preset, self.seed.unwrap_or_else(drawn_seed))
        }
    }
}

/// Study of a run, still without the facts of the machine. `spread` is a layout that replaces the study's own;
/// `of_all` is set if `bench run all` makes the run, whose recorded command line differs.
pub(crate) struct StudyRequest<'a> {
    pub(crate) study: Study,
    pub(crate) spread: Option<Spread>,
    /// Without target and facts.
    pub(crate) request: Request<'static>,
    pub(crate) of_all: bool,
    pub(crate) run: &'a RunArgs,
}

impl Args {
    pub(crate) fn check_ranked(&self) -> Result<(), CliError> {
        let several = self.run.dirs.len() > 1;
        refuse_if(&[(several, "--engine mpi works in one directory: name one with --dir")])?;
        match self.run.cache.iter().find(|state| **state != CacheState::Warm) {
            Some(state) => Err(CliError::usage(format!(
                "--cache {}: every host has its own cache, so --engine mpi measures warm ones only",
                state.name()
            ))),
            None => Ok(()),
        }
    }

    pub(crate) fn preset(&self) -> Preset {
        match (self.quick, self.published) {
            (true, _) => Preset::Quick,
            (_, true) => Preset::Published,
            _ => Preset::Default,
        }
    }

    /// Options that not every study has, if given.
    pub(crate) fn of_one_study(&self) -> Vec<&'static str> {
        let run = &self.run;
        let mut options = given(&[
            ("--backend", !self.backend.is_empty()),
            ("--buffer", !self.buffer.is_empty()),
            ("--threads", !self.threads.is_empty()),
            ("--rate", self.rate.is_some()),
            ("--engine", self.engine.is_some()),
            ("--shift", self.shift.is_some()),
            ("--epochs", self.epochs.is_some()),
            ("--entries", !run.entries.is_empty()),
            ("--sizes", run.sizes.is_some()),
            ("--content", run.content.is_some()),
            ("--shape-of", run.shape_of.is_some()),
            ("--aged", run.aged.is_some()),
            ("--until", run.until.is_some()),
            ("a second --dir", run.dirs.len() > 1),
        ]);
        options.extend(self.work.given());
        options
    }

    pub(crate) fn study_request(&self, ranks: Option<u32>) -> Result<StudyRequest<'_>, CliError> {
        let mut study = study_of(self.study.as_deref().unwrap_or_default())?;
        let spread = self.work.spread(&study)?;
        self.work.apply(&mut study)?;
        if let Some(ranks) = ranks {
            self.check_ranked()?;
            self.work.use_ranks(&mut study, ranks)?;
        }
        let can_shift = matches!(study.kind, Kind::SmallFiles(_) | Kind::Remove(_) | Kind::Layout(_));
        if self.shift.is_some() && !can_shift {
            return Err(CliError::usage(format!(
                "study `{}` does not take --shift: its ranks do not use each other's files",
                study.meta.name
            )));
        }
        let request = Request {
            epochs: self.epochs,
            rate_per_s: self.rate,
            backends: self.backend.clone(),
            buffers_bytes: self.buffer.clone(),
            threads: self.threads.clone(),
            ..self.run.request(self.preset())
        };
        Ok(StudyRequest { study, spread, request, of_all: false, run: &self.run })
    }
}

/// Turns options into a plan, and writes nothing. The order matters for what the user learns first: the directory
/// must open before a tree is looked at for `--shape-of`, which may take long, and options that create files are
/// refused before facts are gathered. Facts about backends differ between a directory that is measured itself and
/// data that are made below it.
pub(crate) fn resolve(requested: StudyRequest<'_>, interrupt: &Interrupt) -> Result<Resolved, CliError> {
    let StudyRequest { mut study, spread, request, of_all, run: args } = requested;
    let directory = args.dirs.first().cloned().unwrap_or_else(|| PathBuf::from("."));
    let open = Dir::open(&directory)?;
    let look = args.shape_of.as_deref().map(|path| look(path, interrupt)).transpose()?;
    let entries = look.as_ref().map_or(args.entries.clone(), |look| vec![look.entries]);
    let chosen = Chosen { look, sizes: args.sizes.clone(), content: args.content, spread };
    let lab = match args.dirs.len() {
        0 | 1 => args.lab.facts(&directory, interrupt)?,
        _ => volumes::facts(&args.dirs, args.share, args.lab.given())?,
    };
    let target = target(args, entries, &directory, interrupt)?;
    if matches!(target, Target::Existing { .. }) && !chosen.is_nothing() {
        return Err(CliError::usage(format!(
            "'{}' itself would be measured, so no files are created; add --entries to create some below it",
            directory.display()
        )));
    }
    study.data = chosen.over(&study.data);
    args.warm_up.map_or(Ok(()), |rounds| set_warm_up(&mut study, rounds))?;
    let facts = match &target {
        Target::Existing { .. } => backend_facts(&open),
        Target::Made { .. } => backend_facts_below(&open),
    };
    let methods = method_facts(&open);
    let caches = cache_facts(&open);
    let programs = program_facts(&study.kind, std::env::var_os("PATH").as_deref(), VERSION);
    let request = Request {
        target,
        facts: &facts,
        methods: &methods,
        programs: &programs,
        cache_facts: &caches,
        file_systems: &lab.file_systems,
        images_room_bytes: lab.room_bytes,
        ..request
    };
    let planned = plan(&study, &request).map_err(|error| plan_error(&error))?;
    let command = command(request.seed, of_all.then_some(&*study.meta.name));
    let file_systems = lab.file_systems;
    Ok(Resolved { planned, caches, file_systems, directory, command })
}

fn set_warm_up(study: &mut Study, rounds: u32) -> Result<(), CliError> {
    if study.rules.warm_up_rounds_min == 0 {
        let name = &study.meta.name;
        return Err(CliError::usage(format!("--warm-up: study `{name}` has no warm-up; omit the option")));
    }
    study.rules.warm_up_rounds_min = rounds;
    study.rules.warm_up_s_max = 0;
    Ok(())
}

pub(crate) fn plan_error(error: &PlanError) -> CliError {
    match error {
        PlanError::UnknownBackend { .. } | PlanError::Value { .. } | PlanError::Data { .. } => {
            CliError::usage(error)
        }
        PlanError::NoBaseline { .. } | PlanError::Nothing { .. } => CliError::nothing_ran(error),
    }
}

fn cache_state(text: &str) -> Result<CacheState, String> {
    let found = CacheState::ALL.into_iter().find(|state| state.name() == text);
    found.ok_or_else(|| {
        format!("unknown cache state; expected one of {}", CacheState::ALL.map(CacheState::name).join(", "))
    })
}

fn study_of(name: &str) -> Result<Study, CliError> {
    if !name.ends_with(".toml") {
        return study::built_in(name).map_err(CliError::usage);
    }
    let mut text = String::new();
    open_stream(name.as_ref())?
        .read_to_string(&mut text)
        .map_err(|error| CliError::nothing_ran(format!("cannot read '{name}': {}", reason(&error))))?;
    study::from_text(name, &text).map_err(CliError::usage)
}

fn look(path: &Path, interrupt: &Interrupt) -> Result<Look, CliError> {
    let look = look_at(path, &interrupt.stop, &interrupt.beat).map_err(|error| match error {
        LookError::Read(error) => error.into(),
        LookError::Stopped => CliError::interrupted("interrupted"),
        LookError::Empty(_) | LookError::Deep(_) => CliError::nothing_ran(error),
    })?;
    for (count, problem) in
        [(look.unread, "directories could not be read"), (look.unexamined, "files have no known size")]
    {
        if count > 0 {
            eprintln!("megadir: '{}': {count} {problem}; they are not part of the shape", path.display());
        }
    }
    Ok(look)
}

fn target(
    args: &RunArgs,
    entries: Vec<u64>,
    directory: &Path,
    interrupt: &Interrupt,
) -> Result<Target, CliError> {
    if args.dirs.len() != 1 || !entries.is_empty() || !args.lab.fs.is_empty() {
        return Ok(Target::Made { entries });
    }
    let mut listing = Listing::open(directory)?;
    let mut entries = 0;
    while let Some(batch) = listing.next_batch()? {
        interrupt.beats();
        entries += batch.entries().count() as u64;
        if interrupt.is_requested() {
            return Err(CliError::interrupted("interrupted"));
        }
    }
    if entries < EXISTING_ENTRIES_MIN {
        return Ok(Target::Made { entries: Vec::new() });
    }
    Ok(Target::Existing { path: directory.to_string_lossy().into_owned(), entries })
}

fn epochs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(epochs) if epochs >= EPOCHS_MIN as u32 => Ok(epochs),
        _ => Err(format!(
            "expected {EPOCHS_MIN} or more; fewer give no interval (without --epochs, data sets are created once)"
        )),
    }
}

pub(in crate::cmd) fn drawn_seed() -> u64 {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    (now_ns ^ u64::from(std::process::id()).rotate_left(20)) & 0xffff_ffff
}

/// `of_all`: the study, if all were asked for.
fn command(seed: u64, of_all: Option<&str>) -> Vec<String> {
    let mut given = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let mut command = vec!["megadir".to_owned()];
    while let Some(word) = given.next() {
        match (of_all, &*word) {
            (Some(study), "all") => command.push(study.to_owned()),
            (Some(_), "-o" | "--output") => drop(given.next()),
            (Some(_), word) if word.starts_with("-o") || word.starts_with("--output=") => {}
            _ => command.push(word),
        }
    }
    if !command.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        command.extend(["--seed".to_owned(), seed.to_string()]);
    }
    command
}
