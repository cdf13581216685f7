//! Runs every study at its quick size: it must succeed, and leave nothing but its record and its report.
//!
//! The records stay in `target/ci/records`, for the stage `browser` to look at their reports.

use super::instructions::{knows, optimised_binary};
use super::stage::{Context, Report};
use crate::process;
use crate::speed::lab::{Kind, Lab};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A study may take this long at its quick size.
const QUICK: Duration = Duration::from_secs(180);
/// A study may take this long at its own size, in the full tier.
const WHOLE: Duration = Duration::from_secs(4 * 3600);
/// The exit code for a study that cannot run on this machine.
const NOTHING_COULD_RUN: i32 = 3;

/// A file system of a study's own.
struct Own {
    study: &'static str,
    kind: Kind,
    /// Whether the study cannot run without it.
    needed: bool,
}

/// ext4 where nothing was removed a moment ago, which is slow to create on: builds remove thousands of files.
const FRESH: Kind = Kind { name: "ext4", mkfs: &["mkfs.ext4", "-q", "-F", "-N", "400000"] };

/// Studies that run on a file system of their own, and which; directories are full soon where `limits` runs.
static FILE_SYSTEMS: &[Own] = &[
    Own {
        study: "limits",
        kind: Kind { name: "ext4", mkfs: &["mkfs.ext4", "-q", "-F", "-b", "1024", "-O", "^has_journal"] },
        needed: true,
    },
    Own { study: "fill", kind: FRESH, needed: false },
    Own { study: "layout", kind: FRESH, needed: false },
    Own { study: "smallfile", kind: FRESH, needed: false },
    Own { study: "remove", kind: FRESH, needed: false },
];

/// A run beside those of the studies, for a report that only it has.
struct More {
    /// What its record is called.
    name: &'static str,
    words: &'static [&'static str],
}

/// Several file systems side by side, one of them served by another's driver and one in memory.
static MORE: &[More] = &[More {
    name: "file-systems",
    words: &["smallfile", "--quick", "--rounds", "11", "--fs", "ext2,ext4,tmpfs"],
}];

/// Runs each study of `studies/` in an empty folder of its own.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    let studies = studies(&context.root("studies"))?;
    if studies.is_empty() {
        return Err("no study in studies/".into());
    }
    let binary = optimised_binary(context)?;
    if !knows(&binary, &["bench", "run", "--help"]) {
        return Err("megadir has no `bench run`".into());
    }
    let mut report = Report::default();
    for study in &studies {
        let started = Instant::now();
        tell(&mut report, study, started, try_study(&binary, study, context));
    }
    for more in MORE {
        let started = Instant::now();
        tell(&mut report, more.name, started, try_more(&binary, more, context));
    }
    Ok(report)
}

/// Adds what became of a run: `None` if all went well, else why it could not run here.
fn tell(report: &mut Report, name: &str, started: Instant, tried: Result<Option<String>, String>) {
    match tried {
        Ok(None) => {
            let elapsed_s = started.elapsed().as_secs_f64();
            report.lines.push(format!("smoke: {name} ok, {elapsed_s:.1} s"));
        }
        Ok(Some(why)) => report.not_run.push(format!("study {name}: {why}")),
        Err(message) => report.failures.push(format!("study {name}: {message}")),
    }
}

/// Runs what is beside the studies; returns why it could not run here, if so.
fn try_more(binary: &Path, more: &More, context: &Context) -> Result<Option<String>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Some("it makes file systems, which only root can mount".to_owned()));
    }
    let folder =
        tempfile::tempdir_in(context.scratch()?).map_err(|error| format!("cannot make a folder: {error}"))?;
    let mut command = Command::new(binary);
    command.args(["bench", "run"]).args(more.words).current_dir(folder.path());
    finish(&mut command, QUICK, folder.path(), more.name, context)
}

/// Returns the names of the studies, sorted.
fn studies(folder: &Path) -> Result<Vec<String>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let names = names(folder)?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(".toml")).map(str::to_owned).collect())
}

/// Runs one study; returns why it could not run here, if so.
fn try_study(binary: &Path, study: &str, context: &Context) -> Result<Option<String>, String> {
    let folder =
        tempfile::tempdir_in(context.scratch()?).map_err(|error| format!("cannot make a folder: {error}"))?;
    let mut command = Command::new(binary);
    command.args(["bench", "run", study]).current_dir(folder.path());
    let own = FILE_SYSTEMS.iter().find(|own| own.study == study);
    let root = rustix::process::geteuid().is_root();
    if own.is_some_and(|own| own.needed) && !root {
        return Ok(Some("it needs a file system of its own, which only root can mount".to_owned()));
    }
    let kind = own.filter(|_| root).map(|own| &own.kind);
    // Unmounted when this function ends, before the folder of the image goes.
    let image =
        tempfile::tempdir_in(context.scratch()?).map_err(|error| format!("cannot make a folder: {error}"))?;
    let lab = kind.map(|kind| Lab::make(kind, image.path(), 0)).transpose()?;
    if let Some(lab) = &lab {
        command.arg("--dir").arg(lab.path());
    }
    if !context.full {
        command.arg("--quick");
    }
    let limit = if context.full { WHOLE } else { QUICK };
    finish(&mut command, limit, folder.path(), study, context)
}

/// Carries a run out, looks at what it leaves in its folder, and keeps its record; returns why it could not run here, if so.
fn finish(
    command: &mut Command,
    limit: Duration,
    folder: &Path,
    name: &str,
    context: &Context,
) -> Result<Option<String>, String> {
    let (status, printed) = process::run_at_most(command, limit)?;
    if status.code() == Some(NOTHING_COULD_RUN) {
        return Ok(Some(printed.lines().last().unwrap_or("it says that nothing could run").to_owned()));
    }
    if !status.success() {
        return Err(format!("{status}\n{printed}"));
    }
    let names = names(folder)?;
    left_behind(&names)?;
    keep(folder, &names, name, context).map(|()| None)
}

/// Keeps the record of a study.
fn keep(folder: &Path, names: &[String], study: &str, context: &Context) -> Result<(), String> {
    let kept = context.scratch()?.join("records");
    let cannot = |error: std::io::Error| format!("cannot keep the record in {}: {error}", kept.display());
    std::fs::create_dir_all(&kept).map_err(cannot)?;
    let record = names.iter().find(|name| name.ends_with(".jsonl")).ok_or("wrote no record")?;
    std::fs::copy(folder.join(record), kept.join(format!("{study}.jsonl"))).map(|_| ()).map_err(cannot)
}

/// Judges what is in the folder afterwards: one record and its report, nothing else.
fn left_behind(names: &[String]) -> Result<(), String> {
    match names {
        [record, report] if record.ends_with(".jsonl") && report == "report.html" => Ok(()),
        [] => Err("wrote no record".to_owned()),
        _ => {
            let there = names.join(", ");
            Err(format!("left behind, where one record (*.jsonl) and report.html were to be: {there}"))
        }
    }
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        names.push(entry.map_err(cannot)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_record_and_nothing_else_may_stay() {
        let judge =
            |names: &[&str]| left_behind(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert!(judge(&["listing.jsonl", "report.html"]).is_ok());
        assert!(judge(&["listing.jsonl"]).is_err());
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
