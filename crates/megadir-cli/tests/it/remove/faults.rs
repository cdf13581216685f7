//! Makes the n-th system call fail, for every n: the program ends in order, claims nothing wrong, and a second
//! run finishes.
//!
//! strace injects the error into the real call, so that calls of all libraries are covered.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::require;
use megadir_testkit::require::full;

use super::witness::{Witness, scratch_in_memory};
use crate::support::{fill, have, program, run};

/// System calls of a removal, except memory management, without which no program runs, and `prlimit64`, which
/// cannot fail for the calling process.
const CALLS: &[&str] = &[
    "unlinkat",
    "openat2",
    "openat",
    "getdents64",
    "statx",
    "newfstatat",
    "fstat",
    "fstatfs",
    "close",
    "clone3",
    "lseek",
    "fcntl",
    "ioctl",
    "sched_getaffinity",
    "write",
    "read",
    "dup",
];
/// Most calls of one kind.
const CALLS_MAX: u32 = 400;

fn tree(at: &Path) {
    fill(at, &["t/a/b/c/", "t/a/f", "t/a/b/g", "t/a/b/c/h", "t/d/", "t/d/i", "t/j"]);
    let _ = std::os::unix::fs::symlink("../outside", at.join("t/link"));
}

/// Removes with an error injected at a call (`7`) or from it on (`7+`); returns `true` if it was injected, the
/// exit code and the messages.
fn with_error(at: &Path, call: &str, error: &str, when: &str) -> (bool, Option<i32>, String) {
    with_error_and(at, &[], call, error, when)
}

fn with_error_and(
    at: &Path,
    options: &[&str],
    call: &str,
    error: &str,
    when: &str,
) -> (bool, Option<i32>, String) {
    let log = at.join("log");
    let err = at.join("err");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", &format!("trace={call}"), "-e"]);
    command.arg(format!("inject={call}:error={error}:when={when}")).arg("-o").arg(&log);
    command
        .arg(program())
        .args(["remove", "--yes", "--json", "--threads", "2", "t"])
        .args(options)
        .current_dir(at);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{call} {when} {error}: it hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let injected = std::fs::read_to_string(&log).unwrap_or_default().contains("(INJECTED)");
    (injected, status.code(), std::fs::read_to_string(&err).unwrap())
}

#[track_caller]
fn every_call_fails_once(at: &Path, error: &str) -> u32 {
    let mut injected_in_all = 0;
    for call in CALLS {
        for when in 1..=CALLS_MAX {
            tree(at);
            let (injected, code, err) = with_error(at, call, error, &when.to_string());
            let context = format!("{call} {when} {error}: {code:?} {err}");
            assert!(!err.contains("panicked"), "{context}");
            // 127: the program could not even be loaded.
            assert!(matches!(code, Some(0 | 1 | 2 | 3 | 127)), "{context}");
            let is_there = at.join("t").symlink_metadata().is_ok();
            assert!(code != Some(0) || !is_there, "claims success: {context}");
            assert!(code != Some(127) || is_there, "{context}");
            if is_there {
                let again = run(at, &["remove", "--yes", "t"]);
                assert_eq!(again.code, Some(0), "{context}, then {again:?}");
            }
            assert!(at.join("t").symlink_metadata().is_err(), "{context}");
            if !injected {
                assert_eq!(code, Some(0), "{context}");
                break;
            }
            assert!(when < CALLS_MAX, "{context}");
            injected_in_all += 1;
        }
    }
    injected_in_all
}

#[test]
fn whichever_call_fails_the_end_is_in_order() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let witness = Witness::make(&at.join("outside"));
    // Not ENOENT: the program trusts it to mean that the entry is gone.
    let every = ["EIO", "EINTR", "EMFILE", "EACCES", "ENOSYS", "EPERM", "ENOTEMPTY", "ENOMEM", "EBUSY"];
    let errors = if full() { &every[..] } else { &every[..1] };
    for error in errors {
        let injected = every_call_fails_once(at, error);
        assert!(injected > 60, "{error}: only {injected}");
    }
    witness.is_untouched();
}

#[test]
fn only_an_interrupted_call_is_repeated() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    tree(at);
    let (injected, code, err) = with_error(at, "openat2", "EAGAIN", "1+");
    assert!(injected && code == Some(1), "{code:?} {err}");
    assert!(err.contains("Resource temporarily unavailable") && at.join("t").exists(), "{err}");
    std::fs::remove_dir_all(at.join("t")).unwrap();
    // Types are examined, and directories are compared with those that were examined.
    for (call, options) in [("openat2", &[][..]), ("statx", &["--type", "f,d,l"])] {
        let mut injected_in_all = 0;
        for when in 1..=CALLS_MAX {
            tree(at);
            let (injected, code, err) = with_error_and(at, options, call, "EINTR", &when.to_string());
            assert_eq!(code, Some(0), "{call} {when}: {err}");
            if !injected {
                break;
            }
            injected_in_all += 1;
        }
        assert!(injected_in_all > 3, "{call}: {injected_in_all}");
    }
}

#[test]
fn directories_that_become_unreadable_do_not_hang() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for when in 1..=CALLS_MAX {
        tree(at);
        let (injected, code, err) = with_error(at, "getdents64", "EIO", &format!("{when}+"));
        if !injected {
            assert_eq!(code, Some(0), "{err}");
            // A directory takes two calls and strace counts per thread: of ten calls, one thread makes at least
            // five.
            assert!(when > 5, "only {when} calls");
            return;
        }
        // Directories below a listed one are tried too, and each failure is reported.
        assert_eq!(code, Some(1), "{when}: {err}");
        assert!(err.contains("Input/output error") && at.join("t").exists(), "{when}: {err}");
        let again = run(at, &["remove", "--yes", "t"]);
        assert_eq!(again.code, Some(0), "{when}: {again:?}");
    }
    panic!("more than {CALLS_MAX} calls for a small tree");
}

#[test]
fn entries_read_before_an_error_are_removed() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    // Several calls; the fourth and all later calls fail: 128 KiB hold about 4000 names.
    std::fs::create_dir(at.join("t")).unwrap();
    megadir_testkit::tree::Flat::plain(20_000).build(&at.join("t/d"));
    let (injected, code, err) = with_error(at, "getdents64", "EIO", "4+");
    assert!(injected && code == Some(1) && err.contains("Input/output error"), "{code:?} {err}");
    let left = std::fs::read_dir(at.join("t/d")).unwrap().count();
    assert!(left < 20_000, "{left} are left");
    let again = run(at, &["remove", "--yes", "t"]);
    assert_eq!(again.code, Some(0), "{again:?}");
}
