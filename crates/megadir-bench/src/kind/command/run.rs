//! One arm's program, run once in each block: a fresh process each time, started by a launcher of its own.
//!
//! Everything around the program is untimed. After a drop of caches the program first runs on an empty
//! directory, so that its own files are cached and only the data set is cold.
//!
//! ```text
//!  setup (untimed)  remove old output -> `--prepare`
//!  drop of caches   by the caller, if the arm is cold
//!  run              on an empty directory, if its own files may be cold -> the program -> count -> clean
//! ```
//!
//! The engine's clock includes all of that; the launcher's time replaces it (`taken`).
//!
//! In a group that reads from containers, the program makes its container before the first block, and
//! the blocks read from it in this process (`reading/`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use megadir::Dir;
use megadir_record::{Arm, CacheState, CommandWork, Counted, DataId, OutputTo, Plan, SameWork};
use rustix::fs::MemfdFlags;

use crate::control::{Result, RunControl, WorkError};
use crate::dataset::Files;
use crate::kind::command::fingerprint::fingerprint;
use crate::kind::command::launch::{Ended, Launcher, describe, path_of};
use crate::kind::command::lines::Lines;
use crate::kind::command::reading::{self, Reads};
use crate::kind::command::words::{CommandLine, Placeholders};
use crate::kind::{BlockKey, BlockUsage, WorkBlock, WorkerCommand, Workload, name_hash};
use crate::measure::Stopwatch;
use crate::os::removal::remove_directory;
use crate::os::{self, At};

/// In the run's own directory: `{out}`, the output file, an empty directory and `{out}` for it.
const OUT: &str = "out";
const OUTPUT: &str = "output";
const EMPTY: &str = "empty";
const EMPTY_OUT: &str = "empty-out";
const ALL: &[&str] = &[OUT, OUTPUT, EMPTY, EMPTY_OUT];
/// Lines that are kept to explain a difference, which bounds the memory for it.
const LINES_MAX: usize = 5_000_000;

/// `own` is `true` if the run made the data set, and so may write next to it. `taken` is the usage of the
/// last block, as the launcher measured it: the engine's own process has done none of the work. Without
/// `worker` there is no launcher, and every block fails.
pub(crate) struct Program<'a> {
    work: CommandWork,
    entries: u64,
    own: bool,
    worker: Option<&'a WorkerCommand>,
    /// An arm of the plan drops the caches of the whole machine.
    drops: bool,
    /// The program's own files may be cold.
    cold: bool,
    /// Instead of runs of the program.
    reads: Option<Reads>,
    /// Name of the container, by all that decides its contents: the data set, the seed, and how it is made.
    container_name: Option<String>,
    taken: Option<BlockUsage>,
}

/// Place of one run of a program. `directory` and `out` are the paths that replace the placeholders
/// of the command line; `parent` is held open so that the output is removed relative to it and not by a path.
struct Site<'a> {
    open: &'a Dir,
    directory: OsString,
    out: OsString,
    parent: Option<OwnedFd>,
    control: RunControl<'a>,
}

fn failed(source: impl Into<std::io::Error>) -> WorkError {
    WorkError::Stage { stage: "running a program", source: source.into() }
}

impl<'a> Program<'a> {
    pub(crate) fn of(plan: &Plan, arm: &Arm, work: &CommandWork, worker: Option<&'a WorkerCommand>) -> Self {
        let data = &plan.data[arm.data.0 as usize];
        let own = data.source.made().is_some();
        let drops = plan.arms.iter().any(|arm| arm.cache == CacheState::VfsCold);
        let files = || Files::new(data.source.made()?, plan.seed, data.entries).ok();
        let reads = work.reading.as_ref().and_then(|reading| Reads::new(reading, files()?, plan.seed));
        let makes = work.reading.is_some() && !work.line.is_empty();
        let container_name = makes.then(|| container_name(plan.seed, data.id, work));
        let (work, entries) = (work.clone(), data.entries);
        Self { work, entries, own, worker, drops, cold: false, reads, container_name, taken: None }
    }

    /// The trial before the run. Output that the rounds discard is read once here, since it proves equal
    /// work.
    pub(crate) fn try_once(&mut self, directory: &Dir, control: RunControl<'_>) -> Result<Counted> {
        let to = match self.work.output {
            OutputTo::Null => OutputTo::Pipe,
            other => other,
        };
        self.ready_once(directory, to, control, &mut |_| ())
    }

    fn ready_once(
        &mut self,
        directory: &Dir,
        to: OutputTo,
        control: RunControl<'_>,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<Counted> {
        // By name: the preparation may put another directory in the place of this one.
        let at = self.site(directory, control)?;
        self.prepare(&at)?;
        self.draw(&at, BlockKey::FIRST)?;
        match self.read(&at)? {
            Some(counted) => Ok(counted),
            None => self.once(&at, to, visit),
        }
    }

    /// For an arm that reads: makes the container if it is not there, and draws the files that the block will read.
    fn draw(&mut self, at: &Site<'_>, key: BlockKey) -> Result<()> {
        self.make_container(at)?;
        let container = self.container(at);
        match &mut self.reads {
            Some(reads) => reads.draw(key, Path::new(&container)),
            None => Ok(()),
        }
    }

    /// `None` for an arm that runs its program.
    fn read(&mut self, at: &Site<'_>) -> Result<Option<Counted>> {
        let Some(reads) = &self.reads else { return Ok(None) };
        let container = self.container(at);
        let (counted, taken) = reads.run(Path::new(&container), self.cold, at.control)?;
        self.taken = Some(taken);
        Ok(Some(counted))
    }

    fn container(&self, at: &Site<'_>) -> OsString {
        self.container_name.as_ref().map_or_else(|| at.directory.clone(), |name| beside(&at.directory, name))
    }

    /// Runs the program under another name, so that a container which is there is whole, and writes it to the device.
    fn make_container(&self, at: &Site<'_>) -> Result<()> {
        let (Some(name), Some(parent)) = (&self.container_name, &at.parent) else { return Ok(()) };
        let there = os::if_there(os::status(parent.at(), name.as_str())).map_err(failed)?;
        if there.is_some() {
            return Ok(());
        }
        let part =
            Site { out: beside(&at.directory, OUT), directory: at.directory.clone(), parent: None, ..*at };
        self.start(&self.work.line, &part, Some(null()?), &mut |_| ())?;
        match os::rename_new(parent.at(), OUT, name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(WorkError::Program("it makes no container at the path {out}".into()));
            }
            renamed => renamed.map_err(failed)?,
        }
        os::write_back(parent, at.control.heartbeat).map(drop).map_err(failed)
    }

    pub(crate) fn reads(&self) -> bool {
        self.reads.is_some()
    }

    /// Path of the container that the arm reads from, after the trial; `None` for an arm that runs its program.
    pub(crate) fn container_path(&self, directory: &Dir, control: RunControl<'_>) -> Result<Option<PathBuf>> {
        let at = self.site(directory, control)?;
        Ok(self.reads().then(|| self.container(&at).into()))
    }

    fn prepare(&self, at: &Site<'_>) -> Result<()> {
        clean(at, ALL)?;
        let Some(line) = &self.work.prepare else { return Ok(()) };
        let prepared = self.start(line, at, Some(null()?), &mut |_| ());
        prepared.map(drop).map_err(|error| match error {
            WorkError::Program(reason) => WorkError::Program(format!("prepare: {reason}")),
            other => other,
        })
    }

    fn once(&mut self, at: &Site<'_>, to: OutputTo, visit: &mut dyn FnMut(&[u8])) -> Result<Counted> {
        if std::mem::take(&mut self.cold) {
            self.touch(at)?;
        }
        let mut lines = Lines::new(at.directory.as_encoded_bytes());
        let ended = match to {
            OutputTo::Pipe => {
                let mut read = |bytes: &[u8]| lines.each(bytes, visit);
                self.start(&self.work.line, at, None, &mut read)?
            }
            OutputTo::Null => self.start(&self.work.line, at, Some(null()?), &mut |_| ())?,
            OutputTo::File => {
                let no_place = "its output needs a private directory: give --entries";
                let parent = at.parent.as_ref().ok_or_else(|| WorkError::Program(no_place.into()))?;
                let written = os::create(parent.at(), OUTPUT).map_err(failed)?;
                let ended = self.start(&self.work.line, at, Some(written.into()), &mut |_| ())?;
                let mut file = os::open_file(parent.at(), OUTPUT, os::Access::Read).map_err(failed)?;
                read_file(&mut file, &mut |bytes| lines.each(bytes, visit)).map_err(failed)?;
                ended
            }
        };
        lines.finish(visit);
        let taken = BlockUsage::new(ended.elapsed_ns, ended.usage);
        self.taken = Some(BlockUsage { peak_bytes: Some(ended.peak_bytes), ..taken });
        let (entries, hash) = self.counted(at, to, &lines)?;
        clean(at, ALL)?;
        Ok(Counted { entries, hash, calls: None, written_bytes: lines.bytes })
    }

    /// Result to compare, by the group's criterion. Discarded lines count as expected: the trial has
    /// compared them.
    fn counted(&self, at: &Site<'_>, to: OutputTo, lines: &Lines) -> Result<(u64, u64)> {
        match self.work.same {
            SameWork::Lines | SameWork::Count if to == OutputTo::Null => {
                Ok(self.work.expected.map_or((0, 0), |expected| (expected.lines, expected.hash)))
            }
            SameWork::Lines => Ok((lines.count, lines.hash)),
            SameWork::Count => Ok((lines.count, 0)),
            SameWork::ExitCode | SameWork::Unequal => Ok((0, 0)),
            SameWork::Left => {
                let left = match &at.parent {
                    Some(parent) => {
                        // By name: the program may have removed the directory and made another.
                        let name = Path::new(&at.directory).file_name().unwrap_or_default();
                        match os::if_there(os::open_below(parent.at(), name)).map_err(failed)? {
                            Some(now) => fingerprint(now.at(), at.control)?,
                            None => return Ok((0, 0)),
                        }
                    }
                    None => fingerprint(at.open.at(), at.control)?,
                };
                Ok((left.entries, left.paths))
            }
        }
    }

    fn site<'p>(&self, open: &'p Dir, control: RunControl<'p>) -> Result<Site<'p>> {
        let own = open.reopen().map_err(failed)?;
        let directory = path_of(&own).map_err(failed)?;
        let parent = if self.own { Some(os::open_below(own.at(), "..").map_err(failed)?) } else { None };
        Ok(Site { open, out: beside(&directory, OUT), directory, parent, control })
    }

    /// Runs the program on an empty directory, so that its own files are cached; its result does not matter.
    fn touch(&self, at: &Site<'_>) -> Result<()> {
        let Some(parent) = &at.parent else { return Ok(()) };
        if !CommandLine::parse(&self.work.line, self.work.shell).is_ok_and(|line| line.names("{dir}")) {
            return Ok(());
        }
        os::make_directory(parent.at(), EMPTY).map_err(failed)?;
        let (directory, out) = (beside(&at.directory, EMPTY), beside(&at.directory, EMPTY_OUT));
        // `open` stays the data set's; `start` uses only the names.
        let empty = Site { directory, out, parent: None, ..*at };
        let touched = self.start(&self.work.line, &empty, Some(null()?), &mut |_| ());
        clean(at, &[EMPTY, EMPTY_OUT])?;
        match touched {
            Ok(_) | Err(WorkError::Program(_)) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Runs one command line by a launcher, and waits for its end. Errors: it exits with another code than
    /// expected, with the last line of its standard error; the path of the data set, which differs from run
    /// to run, is shown as `{dir}`.
    fn start(
        &self,
        line: &str,
        at: &Site<'_>,
        output: Option<OwnedFd>,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<Ended> {
        let worker = self.worker.ok_or_else(|| WorkError::Program("no process can launch it here".into()))?;
        let line = CommandLine::parse(line, self.work.shell).map_err(WorkError::Program)?;
        let with = Placeholders {
            dir: &at.directory,
            entries: self.entries,
            out: &at.out,
            megadir: &own_executable(),
        };
        let errors = File::from(rustix::fs::memfd_create("errors", MemfdFlags::CLOEXEC).map_err(failed)?);
        let words = line.fill(&with);
        let own = errors.try_clone().map_err(failed)?.into();
        let launcher =
            Launcher::start(worker, &words, &self.work.environment, output, own).map_err(failed)?;
        let ended = launcher.run(Duration::from_nanos(self.work.timeout_ns), at.control, read)?;
        if ended.status.code() != Some(self.work.exit_code) {
            let how = describe(ended.status, &errors);
            let path = at.directory.to_string_lossy();
            return Err(WorkError::Program(how.replace(&*path, "{dir}")));
        }
        Ok(ended)
    }
}

impl Workload for Program<'_> {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        if let Some(reading) = &self.work.reading {
            let reason = match self.reads {
                Some(_) => reading::unavailable(reading.container),
                None => Some("its files are not known, so that nothing can be read from it".into()),
            };
            if reason.is_some() {
                return reason;
            }
        }
        self.worker.is_none().then(|| "the process that launches it cannot be started here".into())
    }

    fn setup(&mut self, block: &WorkBlock<'_>) -> Result<()> {
        self.cold = block.key.distinct || self.drops && self.work.changes;
        let at = self.site(block.directory, block.control)?;
        self.prepare(&at)?;
        self.draw(&at, block.key)
    }

    fn run(&mut self, block: &WorkBlock<'_>, _stopwatch: &mut Stopwatch) -> Result<Counted> {
        let at = self.site(block.directory, block.control)?;
        match self.read(&at)? {
            Some(counted) => Ok(counted),
            None => self.once(&at, self.work.output, &mut |_| ()),
        }
    }

    fn usage(&mut self) -> Option<BlockUsage> {
        self.taken.take()
    }
}

/// Name of a container beside its data set, the same for all arms that read from it.
fn container_name(seed: u64, data: DataId, work: &CommandWork) -> String {
    let CommandWork { line, shell, environment, exit_code, .. } = work;
    let how = format!("{seed} {} {line} {shell} {environment:?} {exit_code}", data.0);
    format!("container-{:016x}", name_hash(how.as_bytes()))
}

fn beside(directory: &OsStr, name: &str) -> OsString {
    Path::new(directory).parent().unwrap_or(Path::new("/")).join(name).into_os_string()
}

/// Path of the running executable for all processes of the run, even if its file was replaced.
/// `/proc/self/exe` would be the shell if a shell interprets the line.
fn own_executable() -> OsString {
    format!("/proc/{}/exe", std::process::id()).into()
}

fn null() -> Result<OwnedFd> {
    Ok(File::options().write(true).open("/dev/null").map_err(failed)?.into())
}

fn read_file(file: &mut File, read: &mut dyn FnMut(&[u8])) -> std::io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            bytes => read(&buffer[..bytes]),
        }
    }
}

/// Removes files and directories that a program left next to the data set. In a directory of the user there
/// is nothing.
fn clean(at: &Site<'_>, names: &[&str]) -> Result<()> {
    let Some(parent) = &at.parent else { return Ok(()) };
    for &name in names {
        let removed = match os::remove_file(parent.at(), name) {
            Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => {
                remove_directory(parent.at(), name, at.control.heartbeat)
            }
            removed => removed,
        };
        os::if_there(removed).map_err(failed)?;
    }
    Ok(())
}

/// Runs two programs and describes the first line, in byte order, that only one prints.
///
/// Both programs run again, because the trial keeps only a count and a hash. Both lists are sorted, so the
/// first position at which they differ has a line that one of them lacks: the smaller of the two. Beyond
/// `LINES_MAX` lines only the counts are compared.
pub(crate) fn printed_otherwise(
    (reference, reference_name): (&mut Program<'_>, &str),
    (other, other_name): (&mut Program<'_>, &str),
    directory: &Dir,
    control: RunControl<'_>,
) -> Result<Option<String>> {
    let printed = |program: &mut Program<'_>| {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let counted = program.ready_once(directory, OutputTo::Pipe, control, &mut |line| {
            if lines.len() < LINES_MAX {
                lines.push(line.to_vec());
            }
        })?;
        lines.sort_unstable();
        Ok::<_, WorkError>((counted, lines))
    };
    let ((of_reference, expected), (of_other, found)) = (printed(reference)?, printed(other)?);
    let counts = format!("{} lines, `{reference_name}` printed {}", of_other.entries, of_reference.entries);
    let compares_lines = matches!(other.work.same, SameWork::Lines | SameWork::Count);
    if expected.len() == LINES_MAX || found.len() == LINES_MAX || !compares_lines {
        return Ok(Some(counts));
    }
    let place = expected.iter().zip(&found).position(|(expected, found)| expected != found);
    let place = place.unwrap_or(expected.len().min(found.len()));
    let shown = |line: &Vec<u8>| String::from_utf8_lossy(line).chars().take(200).collect::<String>();
    let differs = match (expected.get(place), found.get(place)) {
        (Some(line), Some(other)) if line < other => {
            format!("only `{reference_name}` prints '{}'", shown(line))
        }
        (Some(_), Some(line)) | (None, Some(line)) => format!("only `{other_name}` prints '{}'", shown(line)),
        (Some(line), None) => format!("only `{reference_name}` prints '{}'", shown(line)),
        (None, None) => return Ok(None),
    };
    Ok(Some(format!("{differs} ({counts})")))
}
