//! `megadir bench run`: carries a plan out, with progress, record and report.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use megadir_bench::plan::{Planned, estimate};
use megadir_bench::{Listener, Program, Recorder, RunEnd, RunError, RunRequest, record_file_name};
use megadir_record::{CacheState, DataSource, Plan, Record};

use super::describe::{about, describe};
use super::lab;
use super::open::open;
use super::options::{self, Args, Resolved, resolve};
use super::progress::Progress;
use super::record_file::RecordFile;
use super::report;
use super::resume;
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::exit::{self, CliError};
use crate::ui::message::reason;
use crate::ui::output::print;

/// Runs the study.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    match interruptible(|interrupt| carry_out(args, interrupt))? {
        Done::Described { text, refused } => {
            print(&text)?;
            refused.map(|()| exit::DONE)
        }
        Done::Ran { path: Some(path), result } => report_on(&path, result),
        // Nothing was measured, so there is nothing to keep.
        Done::Ran { path: None, result: Ok(_) | Err(RunError::Interrupted) } => interrupted(),
        Done::Ran { path: None, result: Err(error) } => Err(run_error(error, exit::NOTHING_RAN)),
    }
}

/// What was done of a study, before anything is printed about it.
enum Done {
    /// The plan in words, and why a run would be refused.
    Described { text: String, refused: Result<(), CliError> },
    Ran {
        /// The record; `None` where the run ended before it began one.
        path: Option<PathBuf>,
        result: Result<RunEnd, RunError>,
    },
}

fn carry_out(args: &Args, interrupt: &Interrupt) -> Result<Done, CliError> {
    if let Some(path) = &args.resume {
        return go_on(path, args, interrupt);
    }
    let resolved = resolve(args, interrupt)?;
    if args.dry_run {
        return Ok(described(&resolved, "", args, interrupt));
    }
    // Nothing is announced that cannot begin; what is found out on file systems made for the run takes making them.
    if resolved.planned.plan.file_systems.is_empty() {
        refused(&resolved, args, interrupt)?;
    }
    say_what_runs(&resolved);
    say_what_drops(&resolved.planned.plan);
    let (path, file) = create_record(args, &resolved)?;
    let result = measure(resolved, interrupt, file, None, (args.share, args.lab.erase_device));
    Ok(Done::Ran { path: path.get().cloned(), result })
}

/// Describes a plan, and finds out whether a run would be refused.
fn described(resolved: &Resolved, more: &str, args: &Args, interrupt: &Interrupt) -> Done {
    let refused = refused(resolved, args, interrupt);
    Done::Described { text: format!("{}{more}", describe(resolved)), refused }
}

/// Finds out whether a run would be refused.
fn refused(resolved: &Resolved, args: &Args, interrupt: &Interrupt) -> Result<(), CliError> {
    let (plan, directory) = (&resolved.planned.plan, &resolved.directory);
    let checked =
        megadir_bench::check(plan, directory, args.lab.erase_device, &interrupt.stop, &interrupt.beat);
    let taken = args.output.as_deref().filter(|path| path.symlink_metadata().is_ok());
    match taken {
        Some(path) => Err(cannot_make(path, &io::Error::from(io::ErrorKind::AlreadyExists))),
        None => checked.map_err(|error| run_error(error, exit::NOTHING_RAN)),
    }
}

/// Goes on with the run of a record.
fn go_on(path: &Path, args: &Args, interrupt: &Interrupt) -> Result<Done, CliError> {
    let mut begun = resume::open(path, args.dir.as_deref())?;
    check_drops(&begun.resolved.planned.plan, args.drop_caches)?;
    lab::check_erase(&begun.resolved.planned.plan, args.lab.erase_device)?;
    let blocks = begun.record.samples.len();
    if args.dry_run {
        let so_far = format!("so far: {blocks} blocks are in the record\n");
        return Ok(described(&begun.resolved, &so_far, args, interrupt));
    }
    eprintln!("megadir: going on with '{}' after {blocks} blocks", path.display());
    say_what_drops(&begun.resolved.planned.plan);
    resume::cut_off(&mut begun).map_err(|error| {
        CliError::nothing_ran(format!(
            "cannot go on with the record '{}': {}",
            path.display(),
            reason(&error)
        ))
    })?;
    let resume::Begun { file, record, resolved, share } = begun;
    let before = file.metadata().map_or(0, |status| status.len());
    let file = RecordFile::Open(file);
    let result = measure(resolved, interrupt, file, Some(record), (share, args.lab.erase_device));
    let grew = path.metadata().is_ok_and(|status| status.len() > before);
    match result {
        // Nothing was added, so there is nothing new to report.
        Err(error) if !grew => Err(run_error(error, exit::NOTHING_RAN)),
        result => Ok(Done::Ran { path: Some(path.to_owned()), result }),
    }
}

/// Prints the report of what was measured, complete or not, and returns the exit code.
fn report_on(path: &Path, result: Result<RunEnd, RunError>) -> Result<u8, CliError> {
    let shown = open(path, false).and_then(|opened| {
        report::show(path, &opened)?;
        report::write_page(path, &opened)
    });
    eprintln!("megadir: the record is '{}'; 'megadir bench report' prints it again", path.display());
    if result.as_ref().map_or(true, |end| end.interrupted) {
        eprintln!("megadir: 'megadir bench run --resume {}' goes on with it", path.display());
    }
    let end = result.map_err(|error| run_error(error, exit::SOME_FAILED))?;
    if end.interrupted {
        if let Err(error) = shown {
            eprintln!("megadir: {error}");
        }
        return Ok(exit::INTERRUPTED);
    }
    shown?;
    Ok(code(&end))
}

fn code(end: &RunEnd) -> u8 {
    if end.unequal_blocks > 0 {
        eprintln!("megadir: {} blocks saw other entries than there are: see the report", end.unequal_blocks);
        return exit::SOME_FAILED;
    }
    exit::DONE
}

fn interrupted() -> Result<u8, CliError> {
    eprintln!("megadir: interrupted before anything was measured");
    Ok(exit::INTERRUPTED)
}

fn run_error(error: RunError, code: u8) -> CliError {
    match error {
        RunError::Plan(error) => options::plan_error(&error),
        RunError::Interrupted => CliError { message: error.to_string(), code: exit::INTERRUPTED },
        RunError::Uncleaned { error, cleaning } => {
            let first = run_error(*error, code);
            CliError { message: format!("{}; after that: {cleaning}", first.message), ..first }
        }
        error => CliError { message: error.to_string(), code },
    }
}

fn measure(
    resolved: Resolved,
    interrupt: &Interrupt,
    file: RecordFile,
    resume: Option<Record>,
    (share, erase_device): (bool, bool),
) -> Result<RunEnd, RunError> {
    let Resolved { planned: Planned { plan, notes }, directory, command, .. } = resolved;
    let mut recorder = match &resume {
        Some(record) => Recorder::resume(file, record.chain),
        None => Recorder::new(file),
    };
    if share {
        recorder = recorder.shared(private(&directory));
    }
    let mut progress = Progress::new(&plan);
    let mut listeners: [&mut dyn Listener; 2] = [&mut recorder, &mut progress];
    let request = RunRequest {
        plan,
        notes,
        directory,
        command,
        resume,
        stop: &interrupt.stop,
        heartbeat: &interrupt.beat,
        erase_device,
        worker: super::worker::command(),
        program: program(),
    };
    megadir_bench::run(request, &mut listeners)
}

/// Returns what the program was built from and with, as the build found it out.
pub(in crate::cmd) fn program() -> Program {
    let known = |text: Option<&'static str>| text.map(str::to_owned);
    Program { commit: known(option_env!("MEGADIR_COMMIT")), by: known(option_env!("MEGADIR_BUILD")) }
}

/// Returns names and paths that tell whose machine it is: home, user, and where the run works.
fn private(directory: &Path) -> Vec<String> {
    let set = ["HOME", "USER", "LOGNAME", "USERPROFILE", "USERNAME"].into_iter().filter_map(std::env::var_os);
    let known = set.map(|value| value.to_string_lossy().into_owned()).filter(|name| name != "root");
    let paths = [
        directory.canonicalize(),
        std::path::absolute(directory),
        std::env::current_dir(),
        Ok(directory.to_owned()),
    ];
    let paths = paths.into_iter().flatten();
    known.chain(paths.map(|path| path.to_string_lossy().into_owned())).collect()
}

fn cannot_make(path: &Path, error: &io::Error) -> CliError {
    let reason = match error.kind() {
        io::ErrorKind::AlreadyExists => "there is a file of this name, which no record replaces".to_owned(),
        _ => reason(error),
    };
    CliError::nothing_ran(format!("cannot make the record '{}': {reason}", path.display()))
}

/// Prepares the record's file, which must be new, and returns where its path will be once it begins.
fn create_record(args: &Args, resolved: &Resolved) -> Result<(Arc<OnceLock<PathBuf>>, RecordFile), CliError> {
    let plan = &resolved.planned.plan;
    let existing = plan.data.iter().any(|data| matches!(data.source, DataSource::Existing { .. }));
    let listed = existing.then_some(resolved.directory.as_path());
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    // Two runs may start in the same second.
    let names = || (now_s..now_s + 60).map(|second| PathBuf::from(record_file_name(&plan.study, second)));
    let paths = args.output.as_ref().map_or_else(|| names().collect(), |path| vec![path.clone()]);
    let first = paths[0].clone();
    match RecordFile::create(paths, listed) {
        Ok((file, path)) => Ok((path, file)),
        Err(error) => Err(cannot_make(&first, &error)),
    }
}

/// Says what will be listed, and about how long it takes.
fn say_what_runs(resolved: &Resolved) {
    let plan = &resolved.planned.plan;
    let needs = estimate(plan);
    let about = about(needs.elapsed_ns);
    match &plan.data[0].source {
        DataSource::Existing { path } => {
            let entries = plan.data[0].entries;
            eprintln!("megadir: working on '{path}' itself ({entries} entries), which is only read; {about}");
        }
        DataSource::Made { .. } if !plan.file_systems.is_empty() => {
            eprintln!(
                "megadir: making {} files on {}, below '{}' and gone after the run; {about}",
                needs.files,
                lab::list(plan),
                resolved.directory.display()
            );
            for gone in &plan.unavailable {
                eprintln!("megadir: {} is unavailable: {}", gone.name, gone.reason);
            }
        }
        DataSource::Made { .. } => eprintln!(
            "megadir: making {} files below '{}' in a directory of their own, removed after the run; {about}",
            needs.files,
            resolved.directory.display(),
        ),
    }
}

/// Returns how many blocks of a plan begin with a drop of all caches.
fn drops(plan: &Plan) -> u64 {
    let arms = plan.cells.iter().filter(|cell| cell.cache == CacheState::VfsCold).count();
    arms as u64 * u64::from(plan.rules.rounds)
}

/// Says how often the caches of the whole machine will be dropped, if they will.
fn say_what_drops(plan: &Plan) {
    match drops(plan) {
        0 => {}
        blocks => eprintln!(
            "megadir: dropping the caches of the whole machine before each of {blocks} blocks, as --drop-caches allows"
        ),
    }
}

/// Refuses to go on with a run that drops what this command has not allowed, and a permission that nothing needs.
fn check_drops(plan: &Plan, allowed: bool) -> Result<(), CliError> {
    match (drops(plan) > 0, allowed) {
        (true, false) => Err(CliError::usage(
            "the run drops the caches of the whole machine before blocks that are vfs-cold; allow it again with --drop-caches",
        )),
        (false, true) => Err(CliError::usage("--drop-caches: the run of this record drops nothing")),
        _ => Ok(()),
    }
}
