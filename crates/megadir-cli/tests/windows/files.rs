//! Studies of file operations: `fill`, `layout`, and `smallfile` with processes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::megadir;

/// Runs a study; asserts that only the record is left; returns the report.
fn study(at: &Path, words: &[&str]) -> Value {
    let (code, _, messages) = megadir(at, &[&["bench", "run"], words, &["-o", "record"]].concat());
    assert_eq!(code, Some(0), "{words:?}: {messages}");
    let left: Vec<_> = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.is_file()), "{words:?}: {left:?}");
    let (code, text, messages) = megadir(at, &["bench", "report", "record", "--format", "json"]);
    assert_eq!(code, Some(0), "{words:?}: {messages}");
    serde_json::from_str(&text).unwrap()
}

/// Operation and number of workers of each arm; asserts that every arm processed its expected entries.
fn arms(report: &Value) -> Vec<(String, u64)> {
    let arms = report["arms"].as_array().unwrap();
    let of_arm = |arm: &Value| {
        let work = &arm["cell"]["work"];
        let workers = work["workers"]["count"].as_u64().unwrap();
        let of = |name: &str| work[name].as_u64().unwrap();
        assert_eq!(arm["work"]["is"], "equal", "{arm}");
        let files = (of("to") - of("from")) * workers;
        assert_eq!(arm["timing"]["entries"].as_u64(), Some(files), "{arm}");
        (work["operation"].as_str().unwrap().to_owned(), workers)
    };
    arms.iter().map(of_arm).collect()
}

#[test]
fn small_files_are_worked_on_by_processes() {
    let scratch = tempfile::tempdir().unwrap();
    let words = ["smallfile", "--quick", "--entries", "10", "--rounds", "1", "--workers", "1,2"];
    let report = study(scratch.path(), &[&words[..], &["--access", "directory"]].concat());
    let arms = arms(&report);
    for operation in ["create", "stat", "read", "rewrite", "unlink"] {
        for workers in [1, 2] {
            assert!(arms.contains(&(operation.to_owned(), workers)), "{operation} {workers}: {arms:?}");
        }
    }
    // Without administrator rights the volume cannot be flushed, and the report says so.
    let text = report.to_string();
    let at_end = text.contains("\"sync\":\"at-end\"");
    assert!(at_end || text.contains("flushing a whole volume needs an administrator"), "{text}");
    assert!(!text.contains("\"owner_and_mode\":true"));
}

#[test]
fn directories_are_filled_and_layouts_written() {
    let scratch = tempfile::tempdir().unwrap();
    let report = study(scratch.path(), &["fill", "--quick", "--entries", "40", "--rounds", "1"]);
    assert!(arms(&report).len() >= 20);
    let scratch = tempfile::tempdir().unwrap();
    let layouts = ["--layout", "flat,prefix:1/1"];
    let words = [&["layout", "--quick", "--entries", "20", "--rounds", "1"][..], &layouts].concat();
    let arms = arms(&study(scratch.path(), &words));
    for operation in ["create", "read"] {
        assert!(arms.iter().filter(|(done, _)| done == operation).count() >= 3, "{operation}: {arms:?}");
    }
}

/// Number of files below a directory, without files that vanish meanwhile.
fn files_below(path: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    let count = |path: &Path| if path.is_dir() { files_below(path) } else { 1 };
    entries.flatten().map(|entry| count(&entry.path())).sum()
}

#[test]
fn leftovers_of_a_killed_run_and_its_processes_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_megadir"))
        .args(["bench", "run", "smallfile", "--entries", "3000", "--workers", "2", "-o", "record"])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while files_below(scratch.path()) < 100 {
        assert!(run.try_wait().unwrap().is_none(), "it has ended by itself");
        assert!(start.elapsed() < megadir_testkit::PATIENCE, "nothing is made");
        std::thread::sleep(Duration::from_millis(20));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    // The system ends the workers when the run has ended.
    let mut before = usize::MAX;
    while files_below(scratch.path()) != before {
        assert!(start.elapsed() < megadir_testkit::PATIENCE, "the workers go on");
        before = files_below(scratch.path());
        std::thread::sleep(Duration::from_millis(300));
    }
    let (code, text, complaint) = megadir(scratch.path(), &["bench", "clean", "."]);
    assert_eq!(code, Some(0), "{text}{complaint}");
    let left: Vec<_> =
        std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.is_file()), "{text}{complaint}: {left:?}");
}
