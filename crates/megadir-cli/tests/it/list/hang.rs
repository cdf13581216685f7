//! Ctrl-C ends the program at once even if a mount does not respond.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::mount::Hanging;
use megadir_testkit::require;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{fill, program, scratch};

/// Kills the program if a test fails before it has ended.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the program sleeps in a system call on the mount.
fn wait_until_asleep(child: &Child) {
    let stat = format!("/proc/{}/stat", child.id());
    let deadline = Instant::now() + PATIENCE;
    let mut asleep = 0;
    while asleep < 20 {
        assert!(Instant::now() < deadline, "the program does not come to rest");
        let state = std::fs::read_to_string(&stat).unwrap();
        let state = state.rsplit(") ").next().unwrap().chars().next();
        asleep = if matches!(state, Some('S' | 'D')) { asleep + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn interrupted(directory: &Path, options: &[&str], signal: Signal) {
    // A shell ignores the interrupt for background jobs, perhaps for these tests too.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(program()).args(options);
    command.current_dir(directory).stdin(Stdio::null());
    let mut started = Started(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    wait_until_asleep(&started.0);
    let from = Instant::now();
    kill_process(Pid::from_child(&started.0), signal).unwrap();
    let status = loop {
        if let Some(status) = started.0.try_wait().unwrap() {
            break status;
        }
        // Without the fix it would hang forever; otherwise the time depends on the machine's load.
        assert!(from.elapsed() < PATIENCE, "{options:?} does not end");
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.signal() == Some(signal.as_raw()) || status.code() == Some(130), "{options:?}: {status}");
    let mut messages = String::new();
    started.0.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
    assert_eq!(messages, "", "{options:?}");
}

#[test]
fn an_interrupt_ends_a_listing_that_hangs() {
    let hanging = require!(Hanging::make());
    let above = hanging.path().parent().unwrap();
    for options in [
        &["list", "hanging"][..],
        &["list", "--threads", "2", "hanging"],
        &["list", "-r", "-j1", "hanging"],
        &["list", "-r", "-j2", "--cross-mounts", "."],
        &["list", "--sort", "name", "hanging"],
        &["list", "--count", "hanging"],
        &["list", "--estimate", "hanging"],
        &["list", "--backend", "std", "hanging"],
        &["backends", "hanging"],
    ] {
        interrupted(above, options, Signal::INT);
    }
    interrupted(above, &["list", "hanging"], Signal::TERM);
}

#[test]
fn interrupt_ends_a_listing_blocked_on_its_reader() {
    let scratch = scratch();
    for index in 0..400 {
        fill(scratch.path(), &[&format!("t/{index}/"), &format!("t/{index}/{}", "x".repeat(250))]);
    }
    for options in [&["list", "-r", "-j1", "t"][..], &["list", "-r", "-j2", "t"]] {
        interrupted(scratch.path(), options, Signal::INT);
    }
}
