//! Kills a program by strace before each of its system calls in turn, so that no moment depends on a clock.
//! Calls are counted per thread: the first to reach the count ends the program.
//!
//! ```text
//! for each call:  number = 1, 1 + step, ...   strace kills before it -> look: is everything whole?   until the program ends by itself
//! ```
//!
//! The number of kills is returned, so that a test can require that there were any.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

/// Calls that change files or locks. Between two of them nothing changes, so a kill there shows nothing
/// new.
pub const CHANGING_CALLS: &[&str] = &[
    "write",
    "writev",
    "pwrite64",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "flock",
    "fchmod",
    "fchown",
    "utimensat",
];

const KILL: i32 = 9;
/// A program with more calls than this does not end, or is the wrong one to test.
const CALLS_MAX: u32 = 100_000;

/// Kills the command before every `step`-th of each of `calls`, until it succeeds; returns the number of kills. `look` gets
/// the call's name and number after each kill.
pub fn before_each_call(
    calls: &[&str],
    step: usize,
    mut command: impl FnMut() -> Command,
    mut look: impl FnMut(&str),
) -> u32 {
    let mut killed = 0;
    for call in calls {
        for number in (1..CALLS_MAX).step_by(step) {
            let status = before_call(&command(), call, number);
            let which = format!("{call} {number}");
            if !was_killed(status) {
                assert!(status.success(), "{which}: {status}");
                break;
            }
            killed += 1;
            look(&which);
        }
    }
    killed
}

/// strace ends by the signal of its program.
pub fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(KILL)
}

/// The whole command is rebuilt below strace, with its directory and environment. Its output is discarded,
/// because a killed program has none worth reading.
pub fn before_call(command: &Command, call: &str, number: u32) -> ExitStatus {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e"]).arg(format!("trace={call}"));
    traced.arg("-e").arg(format!("inject={call}:signal=KILL:when={number}"));
    traced.arg(command.get_program()).args(command.get_args());
    traced.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(directory) = command.get_current_dir() {
        traced.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    traced.status().expect("strace starts")
}
