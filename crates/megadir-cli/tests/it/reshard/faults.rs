//! Makes the n-th system call fail, for every n: every file stays at one of its paths, success is not claimed for a file
//! that was not moved, and a second run finishes.

use std::path::Path;
use std::process::{Command, Stdio};

use megadir_testkit::require;
use megadir_testkit::require::full;

use super::support::{files, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{have, program, run, shell};

/// Calls that a run makes on directories and files.
const CALLS: &[&str] =
    &["renameat2", "mkdirat", "unlinkat", "openat2", "getdents64", "flock", "fchmod", "statx", "write"];
const CALLS_MAX: u32 = 200;
const FILES: usize = 12;
const WORDS: [&str; 6] = ["reshard", "--yes", "--from", "flat", "--to", "digest:1/1"];

/// Calls that differ with `--offline`.
const OFFLINE_CALLS: &[&str] = &["linkat", "unlinkat"];

/// Runs with an error injected at the n-th call; returns if that was reached, the exit code and the messages.
fn with_error(at: &Path, way: &[&str], call: &str, error: &str, when: u32) -> (bool, Option<i32>, String) {
    let log = at.join("log");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", &format!("trace={call}"), "-e"]);
    command.arg(format!("inject={call}:error={error}:when={when}")).arg("-o").arg(&log);
    command.arg(program()).args(WORDS).args(way).arg("t").current_dir(at).stdin(Stdio::null());
    let output = command.output().unwrap();
    let injected = std::fs::read_to_string(&log).unwrap_or_default().contains("(INJECTED)");
    (injected, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn whichever_call_fails_every_file_is_kept() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let layout: megadir::layout::Layout = "digest:1/1".parse().unwrap();
    let is_moved =
        |(name, path): &(String, String)| layout.path_for(name.as_bytes()).unwrap() == Path::new(path);
    let every = [
        "EIO", "ENOSPC", "EDQUOT", "EMFILE", "EACCES", "EPERM", "EXDEV", "ENOMEM", "EROFS", "EMLINK", "EINTR",
    ];
    let mut injected_in_all = 0;
    for error in if full() { &every[..] } else { &every[..2] } {
        let offline = OFFLINE_CALLS.iter().map(|call| (&["--offline"][..], call));
        for (way, call) in CALLS.iter().map(|call| (&[][..], call)).chain(offline) {
            for when in 1..=CALLS_MAX {
                let _ = std::fs::remove_dir_all(at.join("t"));
                make(at, FILES as u32, "flat");
                let (injected, code, messages) = with_error(at, way, call, error, when);
                let label = format!("{way:?} {call} {when} {error}: {code:?} {messages}");
                assert!(!messages.contains("panicked") && matches!(code, Some(0..=3)), "{label}");
                let found = files(&at.join("t"));
                assert_eq!(found.len(), FILES, "{label}");
                assert!(found.values().all(|file| is_moved(file) || file.0 == file.1), "{label}");
                assert!(code != Some(0) || found.values().all(is_moved), "claims success: {label}");
                let again = run(at, &[&WORDS[..], &["t"]].concat());
                assert_eq!(again.code, Some(0), "{label}, then {again:?}");
                assert!(files(&at.join("t")).values().all(is_moved), "{label}");
                if !injected {
                    break;
                }
                assert!(when < CALLS_MAX, "{label}");
                injected_in_all += 1;
            }
        }
    }
    assert!(injected_in_all > 100, "{injected_in_all}");
}

#[test]
fn run_ended_by_an_error_counts_moved_files() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let layout: megadir::layout::Layout = "next-to-last:1/1/1".parse().unwrap();
    let is_moved =
        |(name, path): &(String, String)| layout.path_for(name.as_bytes()).unwrap() == Path::new(path);
    for (call, error, ends) in [
        ("renameat2", "EINVAL", "cannot rename without replacing"),
        ("getdents64", "EIO", "'t': Input/output error"),
    ] {
        let mut ended_midway = 0;
        for when in 1..=CALLS_MAX {
            let _ = std::fs::remove_dir_all(at.join("t"));
            make(at, FILES as u32, "digest:1/1");
            // With few descriptors, files are moved while others are read.
            let inject =
                format!("strace -f -qq -o log -e trace={call} -e inject={call}:error={error}:when={when}");
            let reshard = "$M reshard --json --yes --from digest:1/1 --to next-to-last:1/1/1 t";
            let ran = shell(at, &format!("ulimit -n 80; {inject} {reshard}"));
            let moved = files(&at.join("t")).values().filter(|file| is_moved(file)).count();
            if !std::fs::read_to_string(at.join("log")).unwrap().contains("(INJECTED)") {
                assert_eq!((ran.code, moved), (Some(0), FILES), "{ran:?}");
                break;
            }
            let label = format!("{call} {when}: {moved} moved, {ran:?}");
            if ran.out.is_empty() {
                assert!(ran.code == Some(3) && moved == 0, "{label}");
                continue;
            }
            let counted: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
            assert_eq!((counted["moved"].as_u64(), ran.code), (Some(moved as u64), Some(1)), "{label}");
            ended_midway += usize::from(moved > 0 && ran.err.contains(ends));
        }
        assert!(ended_midway > 0, "{call}");
    }
}

#[test]
fn few_descriptors_are_enough() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for way in ["", "--offline"] {
        few_descriptors(at, way);
    }
}

fn few_descriptors(at: &Path, way: &str) {
    let _ = std::fs::remove_dir_all(at.join("t"));
    make(at, 600, "digest:1/1");
    // A test that runs at the same time may pass on descriptors of its own.
    let only_three = "for of in /proc/$$/fd/*; do of=${of##*/}; [ $of -le 2 ] || eval \"exec $of>&-\"; done";
    let reshard = format!("$M reshard {way} --quiet --yes --from digest:1/1 --to next-to-last:1/1/1 t");
    let ran = shell(at, &format!("{only_three}; ulimit -n 24; {reshard}"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let layout: megadir::layout::Layout = "next-to-last:1/1/1".parse().unwrap();
    let found = files(&at.join("t"));
    let is_moved =
        |(name, path): &(String, String)| layout.path_for(name.as_bytes()).unwrap() == Path::new(path);
    assert!(found.len() == 600 && found.values().all(is_moved));
}
