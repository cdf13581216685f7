//! `--watch`: output over time, the condition, Ctrl-C.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use megadir_testkit::mount::Mount;
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};
use rustix::process::{Pid, Signal, kill_process};

use super::golden::SEEDED;
use crate::support::{megadir, run, scratch};

#[test]
fn a_condition_that_is_met_gives_exit_code_10() {
    let mount = require!(Mount::make(&SEEDED));
    let flat = Flat { entries: 17_500, names: Names::Longest, kinds: Kinds::Files, seed: 1 };
    flat.build(&mount.path().join("d"));
    std::fs::create_dir(mount.path().join("other")).unwrap();
    let ran = run(&mount.path(), &["limits", "--warn-at", "80%", "other", "d"]);
    ran.complains(10, &["'d'", "of directory index used (--warn-at 80%)"]);
    let ran = run(&mount.path(), &["limits", "--warn-at", "99%", "other", "d"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let ran = run(&mount.path(), &["limits", "--quiet", "--warn-at", "99%", "other", "d"]);
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_slice()), (Some(0), "", &b""[..]));
    let ran = run(&mount.path(), &["limits", "-q", "--warn-at", "80%", "other", "d"]);
    ran.complains(10, &["'d'", "of directory index used (--warn-at 80%)"]);
    assert!(ran.out.is_empty());
    run(&mount.path(), &["limits", "--quiet", "d"]).complains(2, &["--warn-at"]);
    // The warning takes precedence over a missing directory.
    assert_eq!(run(&mount.path(), &["limits", "--warn-at", "80%", "missing", "d"]).code, Some(10));
    let ran = run(&mount.path(), &["limits", "--watch", "--warn-at", "80%", "d"]);
    ran.complains(10, &["'d'"]);
    let line = String::from_utf8(ran.out).unwrap();
    assert!(
        line.lines().count() == 1 && line.contains("Z  'd'  8") && line.contains("more entries, then "),
        "{line}"
    );
}

#[test]
fn watch_lasts_until_its_condition_holds() {
    let mount = require!(Mount::make(&SEEDED));
    let arguments = ["limits", "--watch=1s", "--warn-at", "40%", "--json", "."];
    let mut child = megadir(mount.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let look = |line: String| serde_json::from_str::<serde_json::Value>(&line).unwrap();
    let first = look(lines.next().unwrap().unwrap());
    assert_eq!(first["v"], 1);
    assert!(first["time"].as_str().unwrap().ends_with('Z'));
    let flat = Flat { entries: 20_000, names: Names::Plain, kinds: Kinds::Files, seed: 1 };
    flat.build(&mount.path().join("d"));
    let last = look(lines.map(Result::unwrap).last().unwrap());
    assert!(last["limits"].as_array().unwrap().iter().any(|limit| limit["used"].as_f64().unwrap() >= 0.4));
    assert_eq!(child.wait().unwrap().code(), Some(10));
}

#[test]
fn the_metrics_have_the_time_of_the_last_check() {
    let scratch = scratch();
    let arguments = ["limits", "--watch=1s", ".", "--prometheus", "m.prom"];
    let mut child = megadir(scratch.path(), &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Metrics are written after the line of their check.
    let mut checked_s = |checks: usize| {
        assert_eq!(lines.by_ref().take(checks + 1).map(Result::unwrap).count(), checks + 1);
        let metrics = std::fs::read_to_string(scratch.path().join("m.prom")).unwrap();
        let name = "megadir_limits_check_timestamp_seconds";
        let sample = metrics.lines().find(|line| line.starts_with(name)).unwrap();
        sample.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let (first, later) = (checked_s(1), checked_s(2));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
    assert!(later > first, "{first} and {later}");
}

#[test]
fn ctrl_c_ends_watching_at_once() {
    let scratch = scratch();
    let mut child =
        megadir(scratch.path(), &["limits", "--watch=1h", "."]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("'.'"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
