//! `megadir bench run`: runs a plan, with progress, record and report.
//!
//! A run and a resumed run meet in `measure`, and everything printed at the end is read back from the
//! record:
//!
//! ```text
//! args ─► resolve ─► check_start ─► create_record ─┐
//!                                                  ├─► measure ─► open ─► show, write_page
//! --resume ─► resume::open ─► checks ─► cut_off ───┘
//! ```
//!
//! The report comes from the file on purpose. A record that cannot be read back is found at once, and the
//! same page results from `megadir bench report` on another machine.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use megadir_bench::plan::{Planned, estimate};
use megadir_bench::{
    Listener, Program, RankWorkers, Recorder, RunEnd, RunError, RunRequest, record_file_name,
};
use megadir_record::{CacheState, DataSource, Plan, Record, Work};
use megadir_report::Report;

use super::describe::{describe, time_of};
use super::options::{self, Args, Resolved, RunArgs, StudyRequest, resolve};
use super::progress::Progress;
use super::record_file::{Opened, RecordFile, open};
use super::report;
use super::{lab, resume};
use crate::cmd::engine::{self, Engine};
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::times::now_s;
use crate::exit::{self, CliError, refuse_if};
use crate::ui::message::{counted, reason};
use crate::ui::output::print;

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    if let Some(Engine::Mpi) = args.engine {
        return interruptible(|interrupt| run_ranked(args, interrupt));
    }
    let done = interruptible(|interrupt| begin(args, interrupt, None));
    finish(done?, args.run.format()).map(|(code, _)| code)
}

fn begin(args: &Args, interrupt: &Interrupt, ranks: Option<&RankWorkers>) -> Result<Done, CliError> {
    match &args.resume {
        Some(path) => resume_run(path, &args.run, interrupt, ranks),
        None => run_study(args.study_request(ranks.map(RankWorkers::size))?, interrupt, ranks),
    }
}

/// All ranks have the same exit code, and only rank 0 prints.
fn run_ranked(args: &Args, interrupt: &Interrupt) -> Result<u8, CliError> {
    // Refused on every rank alike, before any of them waits for another.
    args.check_ranked()?;
    let directory = args.run.dirs.first().map_or(Path::new("."), PathBuf::as_path);
    let ranks = engine::join_workers(directory, args.shift.unwrap_or_default(), &interrupt.beat)?;
    if ranks.rank() > 0 {
        let worker = super::internal::worker_command();
        let control = interrupt.control();
        return megadir_bench::serve_rank(ranks, worker.as_ref(), control).map_err(engine::failed);
    }
    let done = begin(args, interrupt, Some(&ranks)).and_then(|done| finish(done, args.run.format()));
    let code = done.map(|(code, _)| code).unwrap_or_else(|error| {
        // A launcher may end this rank with the others.
        eprintln!("megadir: {error}");
        error.code
    });
    // The other ranks wait for this message, so it is sent after an error, too.
    ranks.end(code).map(|()| code).map_err(engine::failed)
}

/// Exit code; record and report if there is one.
type Finished = (u8, Option<(PathBuf, Report)>);

pub(crate) fn run_requested(requested: StudyRequest<'_>) -> Result<Finished, CliError> {
    let format = requested.run.format();
    finish(interruptible(|interrupt| run_study(requested, interrupt, None))?, format)
}

fn finish(done: Done, format: Option<&str>) -> Result<Finished, CliError> {
    match done {
        Done::Described { text, refused } => {
            print(&text)?;
            refused.map(|()| (exit::DONE, None))
        }
        Done::Ran { path: Some(path), result } => {
            let opened = open(&path, false);
            let code = report_on(&path, &opened, result, format)?;
            Ok((code, opened.ok().map(|opened| (path, opened.report))))
        }
        Done::Ran { path: None, result: Ok(_) | Err(RunError::Interrupted) } => {
            Err(CliError::interrupted("interrupted before anything was measured"))
        }
        Done::Ran { path: None, result: Err(error) } => Err(run_error(error, exit::NOTHING_RAN)),
    }
}

/// Result of a run that was at least planned. An error after the record began is inside it, because a
/// report of the blocks so far still follows.
pub(super) enum Done {
    Described {
        text: String,
        refused: Result<(), CliError>,
    },
    Ran {
        /// `None` if the run ended before the record began.
        path: Option<PathBuf>,
        result: Result<RunEnd, RunError>,
    },
}

pub(super) fn run_study(
    requested: StudyRequest<'_>,
    interrupt: &Interrupt,
    ranks: Option<&RankWorkers>,
) -> Result<Done, CliError> {
    let args = requested.run;
    let resolved = resolve(requested, interrupt)?;
    let is_cold = resolved.planned.plan.arms.iter().any(|arm| arm.cache.is_cold());
    let reason =
        "--engine mpi: the study has uncached arms, and every host has its own cache; add --cache warm";
    refuse_if(&[(ranks.is_some() && is_cold, reason)])?;
    if args.dry_run {
        return Ok(described(&resolved, "", args, interrupt));
    }
    // Announce a run only if it can begin, which only creating file systems of the lab shows.
    let plan = &resolved.planned.plan;
    if plan.file_systems.is_empty() || plan.compares_directories() {
        check_start(&resolved, args, interrupt)?;
    }
    let (file, path) = create_record(args, &resolved)?;
    if !args.quiet {
        announce(&resolved);
        announce_drops(&resolved.planned.plan);
    }
    let record = ToRecord { file, resume: None, share: args.share };
    let result = measure(resolved, interrupt, record, (args, ranks));
    Ok(Done::Ran { path: path.get().cloned(), result })
}

fn described(resolved: &Resolved, more: &str, args: &RunArgs, interrupt: &Interrupt) -> Done {
    let refused = check_start(resolved, args, interrupt);
    Done::Described { text: format!("{}{more}", describe(resolved)), refused }
}

/// The same checks for a dry run and a run. The name of the record is checked here as well, since a dry run
/// creates nothing and would not notice. If both the plan and the name are refused, the name is reported.
pub(super) fn check_start(
    resolved: &Resolved,
    args: &RunArgs,
    interrupt: &Interrupt,
) -> Result<(), CliError> {
    let (plan, directory) = (&resolved.planned.plan, &resolved.directory);
    let checked = megadir_bench::check(plan, directory, args.lab.erase_device, interrupt.control());
    let taken = args.output.as_deref().filter(|path| path.symlink_metadata().is_ok());
    match taken {
        Some(path) => Err(cannot_create(path, &io::Error::from(io::ErrorKind::AlreadyExists))),
        None => checked.map_err(|error| run_error(error, exit::NOTHING_RAN)),
    }
}

/// Checks and the dry run come before the first change of the record, which is to cut off an unfinished line.
/// Permissions (`--drop-caches`, `--erase-device`) are not recorded and must be given again. If the record did not
/// grow, nothing was measured, and the error is one of a run that never began; otherwise the report of what there is
/// follows.
pub(super) fn resume_run(
    path: &Path,
    args: &RunArgs,
    interrupt: &Interrupt,
    ranks: Option<&RankWorkers>,
) -> Result<Done, CliError> {
    let mut begun = resume::open(path, &args.dirs)?;
    check_drops(&begun.resolved.planned.plan, args.drop_caches)?;
    lab::check_erase(&begun.resolved.planned.plan, args.lab.erase_device)?;
    let blocks = begun.record.samples.len();
    if args.dry_run {
        let so_far = format!("so far: {} in the record\n", counted(blocks as u64, "block", "blocks"));
        return Ok(described(&begun.resolved, &so_far, args, interrupt));
    }
    if !args.quiet {
        let blocks = counted(blocks as u64, "block", "blocks");
        eprintln!("megadir: resuming '{}' after {blocks}", path.display());
        announce_drops(&begun.resolved.planned.plan);
    }
    resume::cut_off(&mut begun).map_err(|error| {
        CliError::nothing_ran(format!("cannot resume the record '{}': {}", path.display(), reason(&error)))
    })?;
    let resume::Begun { file, record, resolved, share } = begun;
    let before = file.metadata().map_or(0, |status| status.len());
    let file = RecordFile::Open(file);
    let record = ToRecord { file, resume: Some(record), share };
    let result = measure(resolved, interrupt, record, (args, ranks));
    let grew = path.metadata().is_ok_and(|status| status.len() > before);
    match result {
        Err(error) if !grew => Err(run_error(error, exit::NOTHING_RAN)),
        result => Ok(Done::Ran { path: Some(path.to_owned()), result }),
    }
}

fn report_on(
    path: &Path,
    opened: &Result<Opened, CliError>,
    result: Result<RunEnd, RunError>,
    format: Option<&str>,
) -> Result<u8, CliError> {
    let loud = format.is_some();
    let report = match opened {
        Ok(Opened { report, .. }) => report,
        Err(error) => return Ok(without_report(path, error, result, loud)),
    };
    let shown = format.map_or(Ok(()), |format| report::show(path, report, format));
    let shown = shown.and_then(|()| report::write_page(path, report, loud));
    if loud {
        let path = path.display();
        eprintln!("megadir: the record is '{path}'; 'megadir bench report {path}' prints it again");
    }
    // Printed before the error, which is the last line then.
    if result.as_ref().map_or(true, |end| end.interrupted) {
        eprintln!("megadir: {}", continued(path));
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

/// Nothing was measured: the reason comes first.
fn without_report(path: &Path, error: &CliError, result: Result<RunEnd, RunError>, loud: bool) -> u8 {
    let goes_on = result.as_ref().map_or(true, |end| end.interrupted);
    let first = match result {
        Ok(end) if end.interrupted => CliError::interrupted(error),
        Ok(_) => error.clone(),
        Err(error) => run_error(error, exit::SOME_FAILED),
    };
    eprintln!("megadir: {first}");
    if loud {
        eprintln!("megadir: the record is '{}'", path.display());
    }
    if goes_on {
        eprintln!("megadir: {}", continued(path));
    }
    first.code
}

fn continued(path: &Path) -> String {
    format!("'megadir bench run --resume {}' continues it", path.display())
}

/// A run with unequal blocks is complete, but some of its work did not do as the study expects; scripts see
/// this by the exit code.
pub(super) fn code(end: &RunEnd) -> u8 {
    if end.unequal_blocks > 0 {
        let blocks = counted(end.unequal_blocks, "block", "blocks");
        eprintln!("megadir: {blocks} did not have the expected results; see the report");
        return exit::SOME_FAILED;
    }
    exit::DONE
}

/// An error of cleaning up is appended, not put first: the cause of the failure matters more, yet files may
/// be left.
pub(super) fn run_error(error: RunError, code: u8) -> CliError {
    match error {
        RunError::Plan(error) => options::plan_error(&error),
        RunError::Interrupted => CliError::interrupted(error),
        RunError::Uncleaned { error, cleaning } => {
            let first = run_error(*error, code);
            CliError { message: format!("{}; after that: {cleaning}", first.message), ..first }
        }
        error => CliError { message: error.to_string(), code },
    }
}

struct ToRecord {
    file: RecordFile,
    resume: Option<Record>,
    share: bool,
}

/// Gives the engine its two listeners. The recorder comes first, so a line is in the record before the progress shows
/// it. An anonymous record hides the names of the user, the directory and all hosts, which are collected here because
/// the engine does not know them.
fn measure(
    resolved: Resolved,
    interrupt: &Interrupt,
    ToRecord { file, resume, share }: ToRecord,
    (args, ranks): (&RunArgs, Option<&RankWorkers>),
) -> Result<RunEnd, RunError> {
    let Resolved { planned: Planned { plan, notes }, directory, command, .. } = resolved;
    let mut recorder = match &resume {
        Some(record) => Recorder::resume(file, record.chain),
        None => Recorder::new(file),
    };
    if share {
        let hosts = ranks.iter().flat_map(|ranks| ranks.facts().hosts.iter().cloned());
        recorder = recorder.shared(private(&directory).into_iter().chain(hosts).collect());
    }
    let mut progress = Progress::new(&plan, !args.quiet);
    let mut listeners: [&mut dyn Listener; 2] = [&mut recorder, &mut progress];
    let request = RunRequest {
        plan,
        notes,
        directory,
        command,
        resume,
        stop: &interrupt.stop,
        heartbeat: &interrupt.beat,
        erase_device: args.lab.erase_device,
        worker: super::internal::worker_command(),
        program: program(),
        ranks,
    };
    megadir_bench::run(request, &mut listeners)
}

/// Facts that `build.rs` sets. The commit is unset in a build outside a checkout whose environment names
/// none.
pub(in crate::cmd) fn program() -> Program {
    let known = |text: Option<&'static str>| text.map(str::to_owned);
    Program { commit: known(option_env!("MEGADIR_COMMIT")), by: known(option_env!("MEGADIR_BUILD")) }
}

/// Texts that an anonymous record must not contain: names of the user, and the directory in each form in
/// which an error or a mount table could name it. `root` stays, since it identifies no one and is part of
/// many other words.
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

fn cannot_create(path: &Path, error: &io::Error) -> CliError {
    let reason = match error.kind() {
        io::ErrorKind::AlreadyExists => "the file exists; name a new one".to_owned(),
        _ => reason(error),
    };
    CliError::nothing_ran(format!("cannot create the record '{}': {reason}", path.display()))
}

fn create_record(
    args: &RunArgs,
    resolved: &Resolved,
) -> Result<(RecordFile, Arc<OnceLock<PathBuf>>), CliError> {
    let plan = &resolved.planned.plan;
    let existing = plan.data.iter().any(|data| matches!(data.source, DataSource::Existing { .. }));
    let listed = existing.then_some(resolved.directory.as_path());
    let now_s = now_s().cast_unsigned();
    let paths = match &args.output {
        Some(path) => vec![path.clone()],
        None => {
            let folder = super::place::folder().map_err(|error| {
                CliError::nothing_ran(format!("create the folder of records: {}", reason(&error)))
            })?;
            // Two runs of a study may begin in the same second. Sixty names are enough for all that start
            // together, and a list that ends gives an error in a folder in which nothing can be created.
            (now_s..now_s + 60).map(|second| folder.join(record_file_name(&plan.study, second))).collect()
        }
    };
    let first = paths[0].clone();
    RecordFile::create(paths, listed).map_err(|error| cannot_create(&first, &error))
}

fn announce(resolved: &Resolved) {
    let plan = &resolved.planned.plan;
    let needs = estimate(plan);
    let about = time_of(plan, needs.elapsed_ns);
    let data = &plan.data[0];
    match &data.source {
        DataSource::Existing { path } => {
            let programs = plan.arms.iter().any(|planned| matches!(planned.work, Work::Command(_)));
            // Nothing keeps a program from writing.
            let read_only = if programs { "with the programs as they are" } else { "read-only" };
            eprintln!(
                "megadir: measuring '{path}' itself ({}), {read_only}; {about}",
                counted(data.entries, "entry", "entries")
            );
        }
        DataSource::Made { .. } => {
            let on_lab = !plan.file_systems.is_empty() && !plan.compares_directories();
            let (list, directory) = (lab::list(plan), resolved.directory.display());
            let place = match plan.compares_directories() {
                true => format!("in private directories of {list}"),
                false if on_lab => format!("on {list}, below '{directory}'"),
                false => format!("in a private directory below '{directory}'"),
            };
            let files = counted(needs.files, "file", "files");
            eprintln!("megadir: creating {files} {place}, removed after the run; {about}");
            for missing in plan.unavailable.iter().filter(|_| on_lab) {
                eprintln!("megadir: {} is unavailable: {}", missing.name, missing.reason);
            }
        }
    }
}

/// Blocks before which all caches are dropped; the warm-up is not counted.
fn drops(plan: &Plan) -> u64 {
    let arms = plan.arms.iter().filter(|planned| planned.cache == CacheState::VfsCold).count();
    arms as u64 * u64::from(plan.rules.rounds)
}

fn announce_drops(plan: &Plan) {
    match drops(plan) {
        0 => {}
        blocks => eprintln!(
            "megadir: dropping the caches of the whole machine before each of {}, as --drop-caches allows",
            counted(blocks, "block", "blocks")
        ),
    }
}

/// The permission is needed by the run, not by the plan, so it is not in the record and each resume asks
/// again. A permission that the record does not need is refused, too.
fn check_drops(plan: &Plan, allowed: bool) -> Result<(), CliError> {
    let drops = drops(plan) > 0;
    refuse_if(&[
        (
            drops && !allowed,
            "the run drops the caches of the whole machine before vfs-cold blocks; allow it again with --drop-caches",
        ),
        (allowed && !drops, "--drop-caches: the run of this record drops no caches"),
    ])
}
