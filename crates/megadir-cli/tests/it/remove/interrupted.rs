//! Ctrl-C and termination requests: the removal ends with a summary, and the same command continues it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::require;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{fill, have, program, run, scratch};

/// Starts a slow removal of `t`; returns once it has removed an entry.
fn started(at: &Path, options: &[&str]) -> Child {
    let mut command = Command::new("env");
    // A shell may have started these tests with the interrupt ignored.
    command.arg("--default-signal=INT").arg(program()).args(["remove", "--yes", "--rate", "2/s"]);
    command.args(options).arg("t").current_dir(at).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while left(at) == 500 {
        assert!(Instant::now() < deadline, "nothing is removed");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn left(at: &Path) -> usize {
    std::fs::read_dir(at.join("t")).unwrap().count()
}

#[test]
fn interrupted_removal_prints_a_summary_and_resumes() {
    let scratch = scratch();
    let at = scratch.path();
    for (signal, json) in [(Signal::INT, false), (Signal::TERM, false), (Signal::INT, true)] {
        let _ = std::fs::remove_dir_all(at.join("t"));
        fill(at, &["t/"]);
        (0..500).for_each(|index| fill(at, &[&format!("t/{index}")]));
        let mut child = started(at, if json { &["--json"] } else { &[] });
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130));
        let (mut out, mut err) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        // The whole removal would take four minutes.
        let removed = 500 - left(at);
        assert!(0 < removed && removed < 500, "{removed}");
        let end = "megadir: interrupted; run the same command to continue\n";
        if json {
            let result: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!((&result["removed"], &result["interrupted"]), (&removed.into(), &true.into()));
            assert_eq!(err, end);
        } else {
            let entries = if removed == 1 { "1 entry".to_owned() } else { format!("{removed} entries") };
            assert!(
                err.starts_with(&format!("megadir: removed {entries}, in ")) && err.ends_with(end),
                "{err}"
            );
        }
        let again = run(at, &["remove", "--yes", "t"]);
        assert_eq!(again.code, Some(0), "{again:?}");
        assert!(again.err.contains(&format!("removed {} entries (1 directory)", 501 - removed)), "{again:?}");
    }
}

/// The figures of the beginning would be no longer true.
#[test]
fn an_interrupted_removal_within_a_budget_has_no_figures_of_the_rest() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/"]);
    (0..500).for_each(|index| fill(at, &[&format!("t/{index}")]));
    let mut child = started(at, &["--json", "--keep-within", "1 file"]);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let result: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["removed"], 500 - left(at));
    assert!(result["interrupted"] == true && result["budget"].is_null(), "{result}");
}

#[test]
fn a_removal_that_hangs_is_not_waited_for() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/"]);
    (0..500).for_each(|index| fill(at, &[&format!("t/{index}")]));
    // The hundredth removal takes a minute.
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=unlinkat"]);
    command.args(["-e", "inject=unlinkat:delay_enter=60000000:when=100"]);
    command.args(["env", "--default-signal=INT"]).arg(program()).args(["remove", "--yes", "t"]);
    command.current_dir(at).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while left(at) > 401 {
        assert!(Instant::now() < deadline, "{} left", left(at));
        std::thread::sleep(Duration::from_millis(5));
    }
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let traced: i32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(traced).unwrap(), Signal::INT).unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let gave_up =
        err.any(|line| line.contains("gave up waiting for the file system to remove an entry after 3 s"));
    // Otherwise it would finish after that minute and print a summary.
    assert!(gave_up, "it waited until the file system had answered");
    // The call delayed by strace would delay the end of the process.
    child.kill().unwrap();
    child.wait().unwrap();
    let again = run(at, &["remove", "--yes", "t"]);
    assert_eq!(again.code, Some(0), "{again:?}");
}
