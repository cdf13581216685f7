//! `megadir list`: streams the entries of directories.

mod alone;
pub(super) mod args;
mod entries;
pub(super) mod examined;
pub(super) mod field;
mod lines;
mod long;
mod recorded;
mod sampled;
mod sorted;
pub(super) mod source;
pub(super) mod summary;
mod unreturned;

use std::path::Path;
use std::sync::Arc;

use megadir::mount_traits::ListedInodes;
use megadir::{AttributeListing, Conditions, Dir, Listing, MountTraits, Place, StatMask, Walk, WalkItem};

use self::alone::Alone;
pub(crate) use self::args::Args;
use self::args::Sort;
use self::examined::{Complaint, Examined};
use self::lines::{Format, Label, Lines};
use self::sampled::Sampled;
use self::sorted::Collected;
use self::summary::Summarizing;
use self::unreturned::Unreturned;
use super::conditions::{refuse_lacking, refuse_unreturned};
use super::error_limiter::{ErrorLimiter, OTHER_MOUNT};
use super::progress::{Progress, estimate};
use super::prometheus::{Labels, Metrics, Name, Textfile};
use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::output::{Ended, Output};

enum Stop {
    Limit,
    Output(Ended),
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

/// State of one command over all its directories. Entries go to one of five places: `summary`, `sampled`, `examined` (with
/// attributes), `collected` (names that are sorted), or at once to `output`. `left` is what `--limit` still allows,
/// `counted` the entries of the present directory, and `began` whether it returned any, which decides if a failure
/// leaves a partial listing. `listed` counts directories that were listed; without any, the exit code is
/// `code_if_none`, the one of the last failure.
struct Run<'a> {
    args: &'a Args,
    conditions: Arc<Conditions>,
    place: Place,
    lines: Lines,
    output: Output,
    collected: Option<Collected>,
    examined: Option<Examined>,
    complaint: Option<Complaint>,
    summary: Option<Summarizing>,
    sampled: Option<Sampled>,
    progress: Option<Progress>,
    metrics: Option<(Textfile, Metrics)>,
    left: u64,
    counted: u64,
    listed: usize,
    began: bool,
    complaints: ErrorLimiter,
    failures: u64,
    code_if_none: u8,
    unreturned: Option<Unreturned>,
}

/// A directory that fails does not end the others, but the limit and a failed output do. Each directory has a metric
/// that shows whether its estimate succeeded, so that a failure is no missing value. Messages that were held back are
/// printed after the last line of output, so they do not stand between entries.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    args.check()?;
    let mut run = Run::new(args)?;
    let mut ended = Ok(());
    for path in &args.directories {
        let listed = run.directory(path);
        if let (Some((_, metrics)), Ok(()) | Err(Stop::Directory(_))) = (&mut run.metrics, &listed) {
            metrics.gauge(ESTIMATED_OK, &directory_label(path), u8::from(listed.is_ok()));
        }
        match listed {
            Ok(()) => run.listed += 1,
            Err(Stop::Directory(error)) => {
                run.listed += usize::from(run.began);
                run.fail(&error);
            }
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
    let listed = match ended.and_then(|()| run.finish()) {
        Ok(()) => {
            run.complaints.print_rest();
            run.unreturned.iter().for_each(Unreturned::print);
            Ok(run.code())
        }
        Err(ended) => ended.code(),
    };
    let metrics = run.metrics.take().map_or(Ok(()), |(file, metrics)| file.write(&metrics));
    Ok(exit::worst([listed, metrics.map(|()| exit::DONE)]))
}

#[cfg(target_os = "linux")]
const ESTIMATED: [Name; 3] = [
    ("megadir_list_estimated_entries", "Number of entries in the directory, estimated."),
    ("megadir_list_estimated_entries_low", "Lower bound of the 95 % interval of the number of entries."),
    ("megadir_list_estimated_entries_high", "Upper bound of the 95 % interval of the number of entries."),
];
#[cfg(target_os = "linux")]
const ESTIMATED_AT: Name = ("megadir_list_estimate_timestamp_seconds", "Time of the estimate.");
const ESTIMATED_OK: Name =
    ("megadir_list_estimate_success", "1 if the number of entries could be estimated, otherwise 0.");

fn directory_label(path: &Path) -> Labels {
    Labels::default().with_path("directory", megadir::names::from_os(path.as_os_str()))
}

/// `false` if listings on this mount return other inode numbers than stat, or a constant.
fn lists_inodes(path: &Path) -> bool {
    let traits = Dir::open(path).map(|directory| MountTraits::of(&directory));
    traits.map_or(true, |traits| traits.listed_inodes != ListedInodes::Different)
}

impl<'a> Run<'a> {
    /// Chooses where entries go, before any directory is opened, so that refused options leave nothing behind. Names
    /// alone are sorted in `Collected`, which packs them; attributes, a memory limit or the best of a limit need
    /// `Examined`. On mounts whose listings have other inode numbers than stat, sorting by inode queries them:
    /// numbers that are a hash or the same for all would be no order.
    fn new(args: &'a Args) -> Result<Self, CliError> {
        let output = Output::new()?;
        let is_terminal = output.is_terminal();
        let format = match (args.json, args.raw) {
            (true, _) => Format::Json,
            (_, true) => Format::Raw,
            _ => Format::Names,
        };
        let lines = Lines {
            format,
            end: if args.null { 0 } else { b'\n' },
            escape: is_terminal && !args.null && format != Format::Json,
            // One number needs no path.
            with_path: args.directories.len() > 1 || args.recursive && !args.count,
            with_inodes: format != Format::Json || args.directories.iter().all(|path| lists_inodes(path)),
        };
        let conditions = Arc::new(args.conditions.conditions(args.directories.iter().map(Path::new), false)?);
        if let Some(stat_backend) = args.stat_backend {
            refuse_lacking(stat_backend, &conditions)?;
            // Entries without the attribute would be in no order.
            refuse_unreturned(stat_backend, args.sort.want(), "--sort needs")?;
        }
        // Numbers that are the same for all entries, or a hash, are no order.
        let queries_inodes =
            args.sort == Sort::Inode && !args.raw && !args.directories.iter().all(|path| lists_inodes(path));
        let examines =
            args.needs_attributes() || queries_inodes || args.memory.is_some() || args.keeps_best();
        let examined = examines.then(|| Examined::new(args, lines, is_terminal, queries_inodes));
        let run = Self {
            args,
            conditions,
            place: Place::TOP,
            lines,
            output,
            collected: (args.sort != Sort::None && !examines && args.sample.is_none())
                .then(|| Collected::new(args, &lines)),
            examined,
            complaint: None,
            summary: Summarizing::new(args, lines, is_terminal),
            sampled: Sampled::new(args, lines),
            progress: progress(args),
            metrics: args.prometheus.prepare()?.map(|file| (file, Metrics::default())),
            left: args.limit.unwrap_or(u64::MAX),
            counted: 0,
            listed: 0,
            began: false,
            complaints: ErrorLimiter::new(args.all_errors),
            failures: 0,
            code_if_none: exit::NOTHING_RAN,
            unreturned: Unreturned::of(args),
        };
        if args.stat_backend.is_some() && run.want().is_none() {
            let reason = "--stat-backend: --fields name needs no attributes; name other fields";
            return Err(CliError::usage(reason));
        }
        Ok(run)
    }

    fn directory(&mut self, path: &Path) -> Result<(), Stop> {
        if self.left == 0 {
            return Err(Stop::Limit);
        }
        (self.began, self.counted) = (false, 0);
        let failures = self.failures;
        self.summary.iter_mut().for_each(|summary| summary.begin(failures));
        self.sampled.iter_mut().for_each(Sampled::next_tree);
        let listed = match Dir::open(path) {
            Ok(directory) if self.args.estimate => return self.estimate(&directory),
            Ok(directory) => self.opened(directory, path),
            Err(error) => self.not_a_directory(path, error),
        };
        self.complain();
        self.summarized(path, &listed)?;
        listed?;
        if self.args.count {
            self.lines.count(&mut self.output.text, self.counted, path);
            self.output.pause()?;
        }
        Ok(())
    }

    fn not_a_directory(&mut self, path: &Path, error: megadir::Error) -> Result<(), Stop> {
        let is_file = error.kind() == megadir::ErrorKind::NotADirectory;
        if let Some(inventory) = is_file.then(|| recorded::inventory_at(path)).flatten() {
            return self.recorded(&inventory);
        }
        match Alone::find(path, &error).filter(|_| !self.args.raw && !self.args.estimate) {
            Some(alone) => alone.list(self),
            None => Err(error.into()),
        }
    }

    fn opened(&mut self, directory: Dir, path: &Path) -> Result<(), Stop> {
        self.place = Place::TOP;
        let label = self.lines.label(path.into());
        match (self.args.recursive, self.want()) {
            (true, _) => self.tree(directory),
            (false, Some(want)) => self.flat_examined(directory, &label, want),
            (false, None) => self.flat(&directory, &label),
        }
    }

    fn flat(&mut self, directory: &Dir, label: &Label) -> Result<(), Stop> {
        let choice = source::choose(directory, self.args, self.needs_types())?;
        if self.args.explain {
            eprintln!("megadir: {}: {choice}", quoted(directory.path()));
        }
        let mut listing = Listing::with_choice(directory, choice)?;
        while let Some(batch) = listing.next_batch()? {
            self.read(batch.len());
            self.batch(batch, label)?;
        }
        Ok(())
    }

    /// Items come in the order in which the threads of the walk read them. A failure at the root before any entry is
    /// one of the whole directory and is returned; all others are reported, and the walk continues. The place for the
    /// conditions changes with the label, which is kept while batches are from one directory.
    fn tree(&mut self, root: Dir) -> Result<(), Stop> {
        let options = source::walk_options(&root, self.args, self.want(), &self.conditions)?;
        if self.args.explain {
            eprintln!("megadir: {}: {}", quoted(root.path()), source::explain_walk(&options));
        }
        let root_path = root.path().to_owned();
        let mut walk = Walk::new(root, &options)?;
        // Consecutive batches are often from one directory, so the label is reused.
        let mut label = self.lines.label(Path::new("").into());
        while let Some(item) = walk.next_item() {
            match item {
                WalkItem::Batch { directory, batch, attributes } => {
                    if self.lines.relabel(&mut label, directory) {
                        self.place = self.conditions.place(directory.below());
                    }
                    self.read(batch.len());
                    match self.want() {
                        Some(_) => self.rows(batch.entries().zip(attributes), &label, directory)?,
                        None => self.batch(batch, &label)?,
                    }
                }
                WalkItem::End { directory } => {
                    self.summary.iter_mut().for_each(|summary| summary.end(directory));
                }
                WalkItem::Error(error) if !self.began && error.path() == root_path => {
                    return Err(error.into());
                }
                WalkItem::Error(error) => self.fail_below(&exit::kind(&error), 1, &error.into()),
                WalkItem::OtherMount(path) => {
                    self.complaints.print(OTHER_MOUNT, 1, || format!("{} {OTHER_MOUNT}", quoted(&path)));
                }
            }
        }
        Ok(())
    }

    fn read(&self, entries: usize) {
        if let Some(progress) = &self.progress {
            progress.counter().add(entries as u64);
        }
    }

    /// Types that the listing leaves unknown must then be queried.
    fn needs_types(&self) -> bool {
        !self.conditions.types.is_empty()
    }

    /// `None` also for `--fields name`.
    fn want(&self) -> Option<StatMask> {
        let types = if self.needs_types() || self.args.json { StatMask::TYPE } else { StatMask::NOTHING };
        let needs = |examined: &&Examined| self.args.needs_attributes() || examined.queries_inodes;
        let examined = self.examined.as_ref().filter(needs);
        let summary = self.summary.as_ref().map_or(StatMask::NOTHING, Summarizing::want);
        let want = examined.map(|examined| examined.want() | self.conditions.want() | types | summary);
        want.filter(|want| *want != StatMask::NOTHING)
    }

    fn flat_examined(&mut self, directory: Dir, label: &Label, want: StatMask) -> Result<(), Stop> {
        let choice = source::choose_examined(&directory, self.args, want)?;
        if self.args.explain {
            eprintln!("megadir: {}: {choice}", quoted(directory.path()));
        }
        let path = directory.dir_path().clone();
        let mut listing = AttributeListing::with_choice(directory, choice)?;
        while let Some(batch) = listing.next_batch()? {
            self.read(batch.len());
            self.rows(batch.entries(), label, &path)?;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn estimate(&mut self, directory: &Dir) -> Result<(), Stop> {
        let mentioned = Progress::without_number(false);
        let estimate = megadir::estimate(directory)?;
        drop(mentioned);
        if let Some((_, metrics)) = &mut self.metrics {
            let labels = directory_label(directory.path());
            let (low, high) = estimate.interval;
            let values = [estimate.entries, low, high];
            ESTIMATED.into_iter().zip(values).for_each(|(name, value)| metrics.gauge(name, &labels, value));
            metrics.gauge(ESTIMATED_AT, &labels, super::times::now_s());
        }
        self.lines.estimate(&mut self.output.text, &estimate, directory.path());
        Ok(self.output.pause()?)
    }

    #[cfg(not(target_os = "linux"))]
    fn estimate(&mut self, _directory: &Dir) -> Result<(), Stop> {
        Err(CliError::nothing_ran("--estimate: unavailable on Windows; use --count").into())
    }

    fn fail(&mut self, error: &CliError) {
        self.report(error);
        self.failures += 1;
        self.code_if_none = error.code;
    }

    fn fail_below(&mut self, kind: &str, entries: u64, error: &CliError) {
        if self.complaints.take(kind, entries) {
            self.report(error);
        }
        self.failures += 1;
        self.code_if_none = error.code;
    }

    fn report(&mut self, error: &CliError) {
        let _ = self.output.flush();
        eprintln!("megadir: {error}");
    }

    fn finish(&mut self) -> Result<(), Ended> {
        self.complain();
        if let Some(sampled) = self.sampled.take() {
            self.progress = None;
            if self.args.explain {
                sampled.explain();
            }
            sampled.write(&mut self.output)?;
            return self.output.flush();
        }
        if let Some(examined) = self.examined.take() {
            self.progress = None;
            examined.finish(&mut self.output, self.left)?;
        }
        if let Some(collected) = self.collected.take() {
            let sorted = collected.sort(self.args.threads.unwrap_or_else(megadir::policy::processors));
            self.progress = None;
            sorted.write(&self.lines, &mut self.output, self.left)?;
        }
        self.progress = None;
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

fn progress(args: &Args) -> Option<Progress> {
    let label = "entries read";
    let is_mute = args.count || args.summary.is_some() || args.sample.is_some() || args.sort != Sort::None;
    is_mute.then(|| match &args.directories[..] {
        [path] if !args.recursive => {
            let path = path.clone();
            Progress::with_estimate(label, move || estimate(&Dir::open(path).ok()?))
        }
        _ => Progress::new(label, false),
    })
}

fn limit(left: u64) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX)
}
