//! Runs that are interrupted or killed at any point.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::mount::Hanging;
use megadir_testkit::output::assert_output;
use megadir_testkit::require;
use megadir_testkit::tree::names;

use super::support::{SMALL, only_record};
use crate::support::{megadir, output_of};

/// Starts a run and waits until its record holds `blocks` measured blocks.
fn start_and_wait_for_blocks(directory: &Path, arguments: &[&str], blocks: usize) -> Child {
    let mut command = megadir(directory, arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let record = names(directory).into_iter().find(|name| name.ends_with(".jsonl"));
        let text =
            record.and_then(|name| std::fs::read_to_string(directory.join(name)).ok()).unwrap_or_default();
        if text.matches("\"phase\":\"measure\"").count() >= blocks {
            return child;
        }
        assert!(child.try_wait().expect("waitable").is_none(), "the run ended early");
        assert!(Instant::now() < deadline, "the run does not come on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// `--verbose`: the first screen has no table if too few rounds count, as on a busy machine.
#[track_caller]
fn assert_progress_reported(directory: &Path, record: &str) {
    let report = output_of(directory, &["bench", "report", record, "--verbose"]);
    assert_output(&report, 0, "of 5 000 rounds measured");
    assert_output(&report, 0, "getdents 128 KiB");
}

/// Interrupts a run that would take minutes; returns its messages.
fn interrupted() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = [&SMALL[..], &["--rounds", "5000"]].concat();
    let child = start_and_wait_for_blocks(directory.path(), &arguments, 150);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let ended = child.wait_with_output().expect("waitable");
    assert_eq!(ended.status.code(), Some(130));
    (directory, String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn ctrl_c_ends_the_run_with_a_valid_partial_report_and_nothing_left() {
    // A busy machine can stall a run for a second, which then counts as hung and is given up.
    let (directory, messages) = (0..100)
        .map(|_| interrupted())
        .find(|(_, messages)| !messages.contains("gave up waiting"))
        .expect("one that is not given up");
    assert!(!messages.contains("panicked"), "{messages}");
    let record = only_record(directory.path());
    assert_progress_reported(directory.path(), record.to_str().expect("UTF-8"));
    let lines = std::fs::read_to_string(record).expect("readable");
    assert!(lines.lines().last().expect("lines").contains("\"complete\":false,\"reason\":\"interrupted\""));
}

#[test]
fn next_run_removes_leftovers_of_a_kill_and_the_record_stays_readable() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = [&SMALL[..], &["--rounds", "5000"]].concat();
    let mut child = start_and_wait_for_blocks(directory.path(), &arguments, 150);
    child.kill().expect("killable");
    child.wait().expect("waitable");
    assert_eq!(names(directory.path()).iter().filter(|name| name.starts_with("megadir-bench-")).count(), 1);
    let record = names(directory.path()).into_iter().find(|name| name.ends_with(".jsonl")).expect("a record");
    assert_progress_reported(directory.path(), &record);
    let arguments =
        ["bench", "run", "listing", "--quick", "--entries", "50", "--rounds", "2", "--buffer", "8KiB"];
    assert_output(&output_of(directory.path(), &arguments), 0, "a leftover of a killed run");
    assert!(names(directory.path()).iter().all(|name| name.ends_with(".jsonl") || name.ends_with(".html")));
}

/// Waits until a program that handles Ctrl-C is idle.
fn wait_until_it_hangs(child: &mut Child) {
    let status = format!("/proc/{}/status", child.id());
    let deadline = Instant::now() + PATIENCE;
    let mut asleep = 0;
    while asleep < 20 {
        assert!(child.try_wait().expect("waitable").is_none(), "it did not hang");
        assert!(Instant::now() < deadline, "it does not come to rest");
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let of =
            |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim();
        let caught = u64::from_str_radix(of("SigCgt:"), 16).unwrap_or(0);
        let rests = of("State:").starts_with(['S', 'D']) && caught & (1 << 1) != 0;
        asleep = if rests { asleep + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_ends_the_program_while_a_mount_hangs() {
    let hanging = require!(Hanging::make());
    let at = hanging.path().to_str().expect("UTF-8");
    let directory = tempfile::tempdir().expect("a directory");
    let below = format!("{at}/below");
    for arguments in [
        &["bench", "run", "listing", "--dir", at][..],
        &["bench", "clean", at],
        &["make", &below, "--entries", "1"],
    ] {
        let mut child = megadir(directory.path(), arguments).stderr(Stdio::piped()).spawn().expect("starts");
        wait_until_it_hangs(&mut child);
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(killed.expect("kill runs").success());
        let deadline = Instant::now() + PATIENCE;
        while child.try_wait().expect("waitable").is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Check whether it ended by itself before the mount is removed.
        let ended = child.try_wait().expect("waitable");
        let _ = child.kill();
        assert_eq!(ended.and_then(|status| status.code()), Some(130), "{arguments:?}");
    }
    assert!(names(directory.path()).is_empty());
}
