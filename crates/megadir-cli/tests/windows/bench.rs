//! `megadir bench`: runs, the files they leave and remove, resuming, reports.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::tree::names;

use crate::support::megadir;

/// A record made on Linux.
const OF_LINUX: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/2026-11-21-listing-ext4/record.jsonl");

/// Creates a directory with a study that warms up briefly.
fn scratch(study: &str) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let text = study.replace("warm_up_s_max = 10", "warm_up_s_max = 0");
    assert_ne!(text, study);
    std::fs::write(scratch.path().join("study.toml"), text).unwrap();
    scratch
}

const LISTING: &str = include_str!("../../../megadir-bench/studies/listing.toml");
const LOOKUP: &str = include_str!("../../../megadir-bench/studies/lookup.toml");

fn runs(directory: &Path, words: &[&str], expected: i32) -> (String, String) {
    let (code, text, complaint) = megadir(directory, words);
    assert_eq!(code, Some(expected), "{words:?}: {text}{complaint}");
    (text, complaint)
}

/// Starts a run that does not end by itself; waits until its record holds measured blocks.
fn start(directory: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megadir"));
    command.args(words).current_dir(directory).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(directory.join("record")).unwrap_or_default();
        if text.contains("\"phase\":\"measure\"") {
            return child;
        }
        assert!(child.try_wait().unwrap().is_none(), "the run ended early: {text}");
        assert!(begun.elapsed() < megadir_testkit::PATIENCE, "the run does not come on: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_study_of_listings_runs_on_all_backends_and_is_reported() {
    let scratch = scratch(LISTING);
    let small = ["--quick", "--entries", "40", "--rounds", "1", "--seed", "1", "-o", "record"];
    let (text, _) = runs(scratch.path(), &[&["bench", "run", "study.toml", "-v"], &small[..]].concat(), 0);
    assert_eq!(names(scratch.path()), ["record", "record.html", "study.toml"]);
    let record = std::fs::read_to_string(scratch.path().join("record")).unwrap();
    for backend in [
        "std",
        "find-first-file",
        "find-first-file-basic",
        "find-first-file-large",
        "find-first-file-basic-large",
        "by-handle",
        "by-handle-full",
        "nt-query",
        "nt-query-extended",
        "nt-query-ex",
    ] {
        // An arm, or a note with the reason why there is none.
        let known = [format!("\"backend\":\"{backend}\""), format!("{backend} is unavailable here")];
        assert!(known.iter().any(|words| record.contains(words)), "{backend}");
    }
    assert!(record.contains("\"decomposition\"") && text.contains("Machine:"), "{text}");
    for (format, expected) in [
        (&["markdown"][..], "| "),
        (&["html"], "<svg"),
        (&["json"], "\"arms\""),
        (&["csv"], "elapsed_ns"),
        (&["svg", "--chart", "run-order"], "<svg"),
    ] {
        let (text, _) =
            runs(scratch.path(), &[&["bench", "report", "record", "--format"], format].concat(), 0);
        assert!(text.contains(expected), "{format:?}: {text}");
    }
}

#[test]
fn only_leftovers_of_a_killed_run_are_removed() {
    let scratch = scratch(LOOKUP);
    let endless =
        ["bench", "run", "study.toml", "--quick", "--entries", "30", "--rounds", "100000", "-o", "record"];
    let mut child = start(scratch.path(), &endless);
    // The run is alive: `bench clean` skips it, its record is readable, and no other process can write to it.
    let (_, complaint) = runs(scratch.path(), &["bench", "clean"], 0);
    assert!(complaint.contains("no leftovers of killed runs"), "{complaint}");
    runs(scratch.path(), &["bench", "report", "record"], 0);
    let (_, complaint) = runs(scratch.path(), &["bench", "run", "--resume", "record"], 3);
    assert!(complaint.contains("another run is writing it"), "{complaint}");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::create_dir(scratch.path().join("megadir-bench-abcdef0123456789")).unwrap();
    std::fs::write(scratch.path().join("megadir-bench-abcdef0123456789").join("precious"), "x").unwrap();
    let before = names(scratch.path());
    assert_eq!(before.len(), 4, "{before:?}");
    let (text, complaint) = runs(scratch.path(), &["bench", "clean", "--dry-run"], 1);
    assert!(text.contains("would remove") && complaint.contains("it has no marker"), "{text}{complaint}");
    assert_eq!(names(scratch.path()), before);
    let (_, complaint) = runs(scratch.path(), &["bench", "clean"], 1);
    assert!(complaint.contains("removed") && complaint.contains("it has no marker"), "{complaint}");
    assert_eq!(names(scratch.path()), ["megadir-bench-abcdef0123456789", "record", "study.toml"]);
    let (_, complaint) = runs(scratch.path(), &["bench", "report", "record"], 0);
    assert!(complaint.contains("the run was killed"), "{complaint}");
}

#[test]
fn truncated_run_resumes_in_its_record() {
    let scratch = scratch(LOOKUP);
    let run = [
        "bench",
        "run",
        "study.toml",
        "--quick",
        "--entries",
        "30",
        "--rounds",
        "6",
        "--seed",
        "7",
        "-o",
        "record",
    ];
    runs(scratch.path(), &run, 0);
    let path = scratch.path().join("record");
    let whole = std::fs::read_to_string(&path).unwrap();
    let measured = |text: &str| text.matches("\"phase\":\"measure\"").count();
    // In the middle of a block's line.
    let cut = whole.match_indices("\"phase\":\"measure\"").nth(measured(&whole) / 2).unwrap().0;
    std::fs::write(&path, &whole[..cut]).unwrap();
    let (_, complaint) = runs(scratch.path(), &["bench", "run", "--resume", "record"], 0);
    assert!(complaint.contains("resuming"), "{complaint}");
    let resumed = std::fs::read_to_string(&path).unwrap();
    assert_eq!(measured(&resumed), measured(&whole));
    assert!(resumed.contains("\"line\":\"resumed\"") && resumed.contains("\"complete\":true"));
    assert_eq!(names(scratch.path()), ["record", "record.html", "study.toml"]);
    let (_, complaint) = runs(scratch.path(), &["bench", "run", "--resume", "record"], 3);
    assert!(complaint.contains("it is complete"), "{complaint}");
}

#[test]
fn workers_are_processes_of_this_program() {
    let scratch = tempfile::tempdir().unwrap();
    let run = ["bench", "run", "smallfile", "--quick", "--entries", "8", "--rounds", "1", "--workers", "1,2"];
    let chosen = ["--worker-kind", "process", "--sync", "never", "--access", "name", "-o", "record"];
    runs(scratch.path(), &[&run[..], &chosen].concat(), 0);
    let record = std::fs::read_to_string(scratch.path().join("record")).unwrap();
    assert!(record.contains("\"kind\":\"process\"") && record.contains("\"complete\":true"));
    assert_eq!(names(scratch.path()), ["record", "record.html"]);
}

#[test]
fn linux_only_options_are_refused_in_one_line() {
    let scratch = tempfile::tempdir().unwrap();
    for (words, expected) in [
        (&["bench", "run", "listing", "--quick", "--fs", "ext4"][..], "on Linux only"),
        (&["bench", "filesystems"], "on Linux only"),
        (&["bench", "run", "limits", "--quick"], "have no index that fills up"),
        (&["bench", "worker"], "not by hand"),
    ] {
        let (text, complaint) = runs(scratch.path(), words, 3);
        assert!(text.is_empty() && complaint.contains(expected), "{words:?}: {text}{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{words:?}: {complaint}");
    }
    assert!(names(scratch.path()).is_empty());
}

#[test]
fn a_record_of_linux_is_reported() {
    let scratch = tempfile::tempdir().unwrap();
    let (text, _) = runs(scratch.path(), &["bench", "report", OF_LINUX, "--format", "markdown"], 0);
    assert!(text.contains("getdents") && text.contains("Linux"), "{text}");
    let (_, complaint) =
        runs(scratch.path(), &["bench", "report", OF_LINUX, "--format", "html", "--output", "page.html"], 0);
    assert!(
        std::fs::read_to_string(scratch.path().join("page.html")).unwrap().contains("<svg"),
        "{complaint}"
    );
}
