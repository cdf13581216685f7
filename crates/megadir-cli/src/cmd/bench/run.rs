//! `megadir bench run`: carries a plan out, with progress, record and report.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use megadir_bench::dataset::{Sizes, write_content, write_sizes, write_spread};
use megadir_bench::next;
use megadir_bench::plan::{Estimate, Planned, estimate};
use megadir_bench::{Listener, Program, Recorder, RunEnd, RunError, RunRequest, record_file_name};
use megadir_record::{
    CacheState, ContentKind, DataSource, Made, MakeDirectories, NameScheme, Plan, Preset, Record, SizeLaw,
    Stop, When,
};

use super::options::{self, Args, Resolved, resolve};
use super::progress::Progress;
use super::report;
use super::resume;
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::exit::{self, CliError};
use crate::ui::output::print;

/// Runs the study.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    match interruptible(|interrupt| carry_out(args, interrupt))? {
        Done::Described(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
        Done::Ran { path, result } => report_on(&path, result),
    }
}

/// What was done of a study, before anything is printed about it.
enum Done {
    Described(String),
    Ran { path: PathBuf, result: Result<RunEnd, RunError> },
}

fn carry_out(args: &Args, interrupt: &Interrupt) -> Result<Done, CliError> {
    if let Some(path) = &args.resume {
        return go_on(path, args, interrupt);
    }
    let resolved = resolve(args, interrupt)?;
    if args.dry_run {
        return Ok(Done::Described(describe(&resolved)));
    }
    say_what_runs(&resolved);
    say_what_drops(&resolved.planned.plan);
    let (path, file) = create_record(args, &resolved.planned.plan)?;
    interrupt.remove_if_empty(&path);
    let result = measure(resolved, interrupt, file, None, args.share);
    Ok(Done::Ran { path, result })
}

/// Goes on with the run of a record.
fn go_on(path: &Path, args: &Args, interrupt: &Interrupt) -> Result<Done, CliError> {
    let mut begun = resume::open(path, args.dir.as_deref())?;
    check_drops(&begun.resolved.planned.plan, args.drop_caches)?;
    let blocks = begun.record.samples.len();
    if args.dry_run {
        let text = describe(&begun.resolved);
        return Ok(Done::Described(format!("{text}so far: {blocks} blocks are in the record\n")));
    }
    eprintln!("megadir: going on with '{}' after {blocks} blocks", path.display());
    say_what_drops(&begun.resolved.planned.plan);
    resume::cut_off(&mut begun).map_err(|error| {
        CliError::nothing_ran(format!("cannot go on with the record '{}': {error}", path.display()))
    })?;
    let resume::Begun { file, record, resolved, share } = begun;
    let before = file.metadata().map_or(0, |status| status.len());
    let result = measure(resolved, interrupt, file, Some(record), share);
    let grew = path.metadata().is_ok_and(|status| status.len() > before);
    match result {
        // Nothing was added, so there is nothing new to report.
        Err(error) if !grew => Err(run_error(error, exit::NOTHING_RAN)),
        result => Ok(Done::Ran { path: path.to_owned(), result }),
    }
}

/// Prints the report of what was measured, complete or not, and returns the exit code.
fn report_on(path: &Path, result: Result<RunEnd, RunError>) -> Result<u8, CliError> {
    if path.metadata().is_ok_and(|status| status.len() == 0) {
        // Nothing was measured, so there is nothing to keep.
        let _ = std::fs::remove_file(path);
        return match result {
            Ok(_) | Err(RunError::Interrupted) => interrupted(),
            Err(error) => Err(run_error(error, exit::NOTHING_RAN)),
        };
    }
    let shown = report::show(path, "table", false);
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
        error => CliError { message: error.to_string(), code },
    }
}

fn measure(
    resolved: Resolved,
    interrupt: &Interrupt,
    file: File,
    resume: Option<Record>,
    share: bool,
) -> Result<RunEnd, RunError> {
    let Resolved { planned: Planned { plan, notes }, directory, command, .. } = resolved;
    let mut recorder = Recorder::new(file);
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
        beat: &interrupt.beat,
        worker: super::worker::command(),
        program: program(),
    };
    megadir_bench::run(request, &mut listeners)
}

/// Returns what the program was built from and with, as the build found it out.
fn program() -> Program {
    let known = |text: Option<&'static str>| text.map(str::to_owned);
    Program { commit: known(option_env!("MEGADIR_COMMIT")), by: known(option_env!("MEGADIR_BUILD")) }
}

/// Returns names and paths that tell whose machine it is: home, user, and where the run works.
fn private(directory: &Path) -> Vec<String> {
    let set = ["HOME", "USER", "LOGNAME"].into_iter().filter_map(std::env::var_os);
    let known = set.map(|value| value.to_string_lossy().into_owned()).filter(|name| name != "root");
    let paths = [directory.canonicalize(), std::env::current_dir(), Ok(directory.to_owned())];
    let paths = paths.into_iter().flatten();
    known.chain(paths.map(|path| path.to_string_lossy().into_owned())).collect()
}

/// Makes the record's file, which must be new.
fn create_record(args: &Args, plan: &Plan) -> Result<(PathBuf, File), CliError> {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let failed = |path: &Path, error: &io::Error| {
        CliError::nothing_ran(format!("cannot make the record '{}': {error}", path.display()))
    };
    if let Some(path) = &args.output {
        return match create_locked(path) {
            Ok(file) => Ok((path.clone(), file)),
            Err(error) => Err(failed(path, &error)),
        };
    }
    // Two runs may start in the same second.
    for second in now_s..now_s + 60 {
        let path = PathBuf::from(record_file_name(&plan.study, second));
        match create_locked(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, &error)),
        }
    }
    Err(CliError::nothing_ran("no free name for the record; give one with --output"))
}

/// Makes a record that nobody else goes on with while it is written.
fn create_locked(path: &Path) -> io::Result<File> {
    let file = File::create_new(path)?;
    resume::lock(&file)?;
    Ok(file)
}

/// Says what will be listed, and about how long it takes.
fn say_what_runs(resolved: &Resolved) {
    let plan = &resolved.planned.plan;
    let needs = estimate(plan);
    let about = seconds(needs.elapsed_ns);
    match &plan.data[0].source {
        DataSource::Existing { path } => {
            let entries = plan.data[0].entries;
            eprintln!(
                "megadir: working on '{path}' itself ({entries} entries), which is only read; about {about}"
            );
        }
        DataSource::Made { .. } => eprintln!(
            "megadir: making {} files below '{}' in a directory of their own, removed after the run; about {about}",
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

/// Returns the plan in words, with what it needs.
fn describe(resolved: &Resolved) -> String {
    let plan = &resolved.planned.plan;
    let Estimate { files, inodes, space_bytes, blocks, elapsed_ns, .. } = estimate(plan);
    let preset = match plan.preset {
        Preset::Quick => "quick",
        Preset::Default => "default",
        Preset::Published => "published",
    };
    let mut text = format!("study {} (size {preset}), seed {}\n", plan.study, plan.seed);
    text.push_str(&format!("directory: {}\n", resolved.directory.display()));
    for data in &plan.data {
        match &data.source {
            DataSource::Existing { .. } => {
                text.push_str(&format!("data: the directory itself, {} entries, only read\n", data.entries));
            }
            DataSource::Made(Made { names, .. }) if data.entries == 0 => {
                text.push_str(&format!(
                    "data: directories filled until one file is refused, names {names:?}\n"
                ));
            }
            DataSource::Made(made) => text.push_str(&format!("data: {}\n", described(made, data.entries))),
        }
    }
    text.push_str(&format!(
        "needs: {files} files, {inodes} inodes, {:.1} MiB of space, about {}\n",
        space_bytes as f64 / f64::from(1 << 20),
        seconds(elapsed_ns),
    ));
    let rules = &plan.rules;
    let most = if rules.stop == Stop::Rounds { "" } else { "at most " };
    text.push_str(&format!(
        "rounds: at least {} to warm up, {most}{} measured; {} arms, {most}{blocks} blocks\n",
        rules.warm_up_rounds_min,
        rules.rounds,
        plan.cells.len(),
    ));
    if rules.epochs > 1 {
        let epochs = rules.epochs;
        text.push_str(&format!(
            "epochs: {epochs}; data and warm-up are made anew in each, the rounds split over them\n"
        ));
    }
    text.push_str(&staying(plan));
    text.push_str(&stopping(plan));
    for cell in &plan.cells {
        text.push_str(&format!("  {:3}  {:44} {}\n", cell.id.0, cell.name, cell.groups.join(", ")));
    }
    for fact in &resolved.caches {
        let how = match &fact.unavailable {
            Some(reason) => format!("cannot be had here: {reason}"),
            None if fact.state == CacheState::VfsCold => "can be had, with --drop-caches".to_owned(),
            None => "can be had".to_owned(),
        };
        text.push_str(&format!("cache {}: {how}\n", fact.name));
    }
    for note in &resolved.planned.notes {
        text.push_str(&format!("not in the plan: {}\n", note.text));
    }
    text
}

/// Returns what becomes of what arms make as a line, where they make anything.
fn staying(plan: &Plan) -> String {
    let Estimate { kept_inodes, kept_space_bytes, .. } = estimate(plan);
    if kept_inodes == 0 {
        return String::new();
    }
    let rounds = plan.rules.rounds;
    format!(
        "room: what the arms make stays to the end, up to {kept_inodes} inodes and {:.1} MiB after {rounds} rounds, where that is at most three quarters \
         of the free inodes and half of the free space; else it is removed after each round\n",
        kept_space_bytes as f64 / f64::from(1 << 20),
    )
}

/// Returns the stopping rule as a line, where there is one.
fn stopping(plan: &Plan) -> String {
    let Some(looks) = next::looks(&plan.rules) else { return String::new() };
    let width = match plan.rules.stop {
        Stop::Rounds => return String::new(),
        Stop::Ratio { half_width, .. } => format!("each ratio is known to {} %", 100.0 * half_width),
        Stop::Difference { half_width_ns, .. } => format!("each difference is known to {half_width_ns} ns"),
    };
    let rounds: Vec<String> = looks.rounds().iter().map(u32::to_string).collect();
    format!(
        "stops: once {width} ({} comparisons); looks after {} rounds, intervals corrected for {} looks\n",
        plan.contrasts().len(),
        rounds.join(", "),
        looks.count()
    )
}

/// Returns what is made in words.
fn described(made: &Made, entries: u64) -> String {
    let sizes = Sizes { size_bytes: made.size_bytes, law: made.sizes.clone() };
    let mut text = match sizes.law {
        SizeLaw::Fixed => format!("{entries} files of {} bytes made", made.size_bytes),
        _ => {
            format!("{entries} files of {} bytes on average made ({})", made.size_bytes, write_sizes(&sizes))
        }
    };
    match made.names {
        NameScheme::Lengths { bytes } => {
            text.push_str(&format!(", names of {} to {} bytes", bytes[0], bytes[bytes.len() - 1]));
        }
        names => text.push_str(&format!(", names {names:?}")),
    }
    if made.content != ContentKind::Pseudorandom {
        text.push_str(&format!(", content {}", write_content(made.content)));
    }
    if !made.spread.is_flat() {
        text.push_str(&format!(", spread {}", write_spread(&made.spread)));
        if made.directories == MakeDirectories::Before {
            text.push_str(", directories made before");
        }
    }
    if made.when == When::ByArms {
        text.push_str(", by the arms");
    }
    if made.aged_files > 0 {
        text.push_str(&format!(", aged by {} that are made among them and removed", made.aged_files));
    }
    text
}

/// Returns a time as a person says it.
fn seconds(ns: u64) -> String {
    match ns.div_ceil(1_000_000_000) {
        s @ 0..100 => format!("{s} s"),
        s => format!("{} min", s.div_ceil(60)),
    }
}
