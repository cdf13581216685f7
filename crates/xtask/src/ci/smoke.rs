//! Runs every study at its quick size, two at a time, which must leave only record and report: whether it works, not how long it takes. Records stay in `target/xtask/records` for the stage `browser`.

use super::instructions::has_command;
use crate::ci::stage::{Context, Report};
use crate::{files, process};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A study at its quick size takes seconds; at full size hours. The limits only end runs that hang.
const QUICK: Duration = Duration::from_secs(180);
const WHOLE: Duration = Duration::from_secs(4 * 3600);
/// Exit code of a run whose parts all lack something.
const NOTHING_COULD_RUN: i32 = 3;

/// The study that needs a file system whose directories are soon full.
const FULL_SOON: &str = "limits";

/// A file system of the study's own, if root may mount one. ext4 creates files slowly if many were removed recently, and builds remove thousands.
fn own_file_system(study: &str) -> Option<&'static str> {
    match study {
        FULL_SOON => Some("ext4:block=1k:^has_journal"),
        "container" | "fill" | "layout" | "peers" | "smallfile" | "remove" => Some("ext4"),
        _ => None,
    }
}

/// Name of the run of [`SIDE_BY_SIDE`], which is no study of its own.
const FILE_SYSTEMS: &str = "file-systems";

/// Few rounds: the stage is no measurement.
const FEW_ROUNDS: &str = "--rounds=6";
/// The fewest for caches that are dropped, which give one sample a round.
const FEW_COLD_ROUNDS: &str = "--rounds=11";

/// Study with cold caches.
const COLD: &str = "smallfile";

/// In the folder of the run: without it, a run in a checkout of megadir writes its record elsewhere.
const RECORD: &str = "--output=record.jsonl";

/// Studies that warm up, for up to ten seconds if they may.
const WARMED: [&str; 6] = ["attributes", "container", "listing", "lookup", "peers", "stat-or-list"];

/// Several file systems side by side, one of them served by another's driver and one in memory.
const SIDE_BY_SIDE: [&str; 4] = [COLD, "--quick", "--fs", "ext2,ext4,tmpfs"];

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    let studies = studies(&context.root("crates/megadir-bench/studies"))?;
    if studies.is_empty() {
        return Err("no study in crates/megadir-bench/studies/".into());
    }
    let binary = context.program()?;
    if !has_command(&binary, &["bench", "run", "--help"]) {
        return Err("megadir has no `bench run`".into());
    }
    // The longest run begins first.
    let names = std::iter::once(FILE_SYSTEMS).chain(studies.iter().map(String::as_str));
    // A shared iterator divides the work: each thread takes the next study when it is done.
    let waiting = Mutex::new(names);
    let report = Mutex::new(Report::default());
    let work = || {
        while let Some(name) = lock(&waiting).next() {
            let started = Instant::now();
            let tried = match name {
                FILE_SYSTEMS => try_side_by_side(&binary, name, context),
                study => try_study(&binary, study, context),
            };
            add_result(&mut lock(&report), name, started, tried);
        }
    };
    // Studies at full size are measurements and run alone.
    let at_once = if context.full { 1 } else { process::processors() };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add_result(report: &mut Report, name: &str, started: Instant, tried: Result<Option<String>, String>) {
    match tried {
        Ok(None) => {
            let elapsed_s = started.elapsed().as_secs_f64();
            report.lines.push(format!("smoke: {name} ok, {elapsed_s:.1} s"));
        }
        Ok(Some(why)) => report.not_run.push(format!("study {name}: {why}")),
        Err(message) => report.failures.push(format!("study {name}: {message}")),
    }
}

fn try_side_by_side(binary: &Path, name: &str, context: &Context) -> Result<Option<String>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Some("it mounts file systems, which needs root".to_owned()));
    }
    let folder = files::temporary_folder(&context.scratch()?)?;
    let mut command = Command::new(binary);
    command
        .args(["bench", "run"])
        .args(SIDE_BY_SIDE)
        .args([FEW_COLD_ROUNDS, RECORD])
        .current_dir(folder.path());
    finish(&mut command, QUICK, folder.path(), name, context)
}

fn studies(folder: &Path) -> Result<Vec<String>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let names = names(folder)?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(".toml")).map(str::to_owned).collect())
}

fn try_study(binary: &Path, study: &str, context: &Context) -> Result<Option<String>, String> {
    let folder = files::temporary_folder(&context.scratch()?)?;
    let mut command = Command::new(binary);
    command.args(["bench", "run", study, RECORD]).current_dir(folder.path());
    let root = rustix::process::geteuid().is_root();
    if study == FULL_SOON && !root {
        return Ok(Some("it mounts a file system, which needs root".to_owned()));
    }
    if let Some(own) = own_file_system(study).filter(|_| root) {
        command.args(["--fs", own]);
    }
    if !context.full {
        command.args(["--quick", if study == COLD { FEW_COLD_ROUNDS } else { FEW_ROUNDS }]);
        command.args(WARMED.contains(&study).then_some("--warm-up=1"));
    }
    let limit = if context.full { WHOLE } else { QUICK };
    finish(&mut command, limit, folder.path(), study, context)
}

fn finish(
    command: &mut Command,
    limit: Duration,
    folder: &Path,
    name: &str,
    context: &Context,
) -> Result<Option<String>, String> {
    let (status, printed) = process::run_at_most(command, limit)?;
    // The last line has the reason.
    if status.code() == Some(NOTHING_COULD_RUN) {
        return Ok(Some(printed.lines().last().unwrap_or("no part of it could run").to_owned()));
    }
    process::judge_printed(command, status, &printed)?;
    let names = names(folder)?;
    // A run may leave its record and its report, and nothing else.
    left_behind(&names)?;
    keep(folder, &names, name, context).map(|()| None)
}

fn keep(folder: &Path, names: &[String], study: &str, context: &Context) -> Result<(), String> {
    let record = names.iter().find(|name| name.ends_with(".jsonl")).ok_or("wrote no record")?;
    let kept = context.scratch()?.join("records").join(format!("{study}.jsonl"));
    files::copy(&folder.join(record), &kept)
}

fn left_behind(names: &[String]) -> Result<(), String> {
    match names {
        [report, record]
            if record
                .strip_suffix(".jsonl")
                .is_some_and(|stem| report.strip_suffix(".html") == Some(stem)) =>
        {
            Ok(())
        }
        [] => Err("wrote no record".to_owned()),
        _ => {
            let there = names.join(", ");
            Err(format!("expected one record (*.jsonl) and its report (*.html), found: {there}"))
        }
    }
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    let paths = files::list(folder)?;
    Ok(paths.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_record_and_nothing_else_may_stay() {
        let judge =
            |names: &[&str]| left_behind(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert!(judge(&["listing.html", "listing.jsonl"]).is_ok());
        assert!(judge(&["listing.jsonl"]).is_err());
        assert!(judge(&["listing.jsonl", "report.html"]).is_err());
        assert!(judge(&[]).is_err());
        assert!(judge(&["megadir-bench-1"]).is_err());
        assert!(judge(&["a.jsonl", "data"]).is_err_and(|message| message.contains("data")));
    }

    #[test]
    fn studies_are_the_toml_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["removal.toml", "listing.toml", "README.md"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(studies(folder.path()).unwrap(), ["listing", "removal"]);
        assert!(studies(&folder.path().join("none")).unwrap().is_empty());
    }
}
