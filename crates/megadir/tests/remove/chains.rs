//! Chains of directories: the worker that finds a level removes it, so the cost is linear in the depth.

use std::fs;
use std::path::Path;
use std::process::Command;

use megadir::remove::RemoveOptions;
use megadir::{Dir, Walk, WalkItem, WalkOptions};
use megadir_testkit::mount::run;
use megadir_testkit::require;
use rustix::fs::{CWD, Mode, OFlags};

use crate::support::{options, remove};

const VARIABLE: &str = "MEGADIR_TEST_CHAIN";
const OPERATION: &str = "MEGADIR_TEST_OPERATION";
/// Calls that open, examine and read. No `fcntl`: the standard library of debug builds checks each descriptor by it.
const OTHERS: &[&str] =
    &["openat", "openat2", "statx", "newfstatat", "fstat", "getdents64", "close", "lseek"];
/// Calls of the test harness itself.
const HARNESS_CALLS: u64 = 400;

/// Creates nested directories with this many files in each.
fn chain(path: &Path, depth: u64, files: u64) {
    let make = |at: &rustix::fd::OwnedFd, name: &str| {
        rustix::fs::mkdirat(at, name, Mode::RWXU).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        rustix::fs::openat(at, name, flags, Mode::empty()).unwrap()
    };
    let parent = path.parent().unwrap();
    let mut at = rustix::fs::openat(CWD, parent, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    for level in 0..=depth {
        at = make(&at, if level == 0 { "tree" } else { "d" });
        for index in 0..files {
            let flags = OFlags::CREATE | OFlags::WRONLY;
            rustix::fs::openat(&at, format!("f{index}"), flags, Mode::RUSR).unwrap();
        }
    }
}

fn walked(tree: &Path) -> u64 {
    let options = WalkOptions {
        buffer_bytes: 32 << 10,
        threads: 2,
        threads_max: 2,
        read_ahead: megadir::ReadAhead::Auto,
        queue_directories_max: 256,
        cross_mounts: false,
        examine: None,
        report_ends: false,
        looks_again: false,
        conditions: None,
    };
    let mut walk = Walk::new(Dir::open(tree).unwrap(), &options).unwrap();
    let mut entries = 0;
    while let Some(item) = walk.next_item() {
        if let WalkItem::Batch { batch, .. } = item {
            entries += batch.entries().count() as u64;
        }
    }
    entries
}

/// Calls of a trace of all threads on a chain, and how often a level was opened by another thread than the
/// level above it.
struct Calls {
    all: u64,
    handed_over: u64,
}

fn calls(trace: &str) -> Calls {
    let begun: Vec<(&str, &str)> = trace
        .lines()
        .filter_map(|line| line.split_once(' ').map(|(thread, call)| (thread, call.trim_start())))
        .filter(|(_, call)| {
            OTHERS.iter().any(|name| call.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
        })
        .collect();
    let levels: Vec<&str> = begun
        .iter()
        .filter(|(_, call)| call.starts_with("open") && call.contains(", \"d\""))
        .map(|(thread, _)| *thread)
        .collect();
    let handed_over = levels.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(!levels.is_empty(), "no level is opened:\n{trace}");
    Calls { all: begun.len() as u64, handed_over: handed_over as u64 }
}

/// Runs one operation on a chain in a child process. Returns its calls that open or look up.
fn traced(test: &str, operation: &str, depth: u64, files: u64) -> Calls {
    let scratch = tempfile::tempdir().unwrap();
    let (tree, log) = (scratch.path().join("tree"), scratch.path().join("log"));
    chain(&tree, depth, files);
    let done = Command::new("strace")
        .args(["-f", "--seccomp-bpf", "-e"])
        .arg(format!("trace={}", OTHERS.join(",")))
        .arg("-o")
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact"])
        .env(VARIABLE, &tree)
        .env(OPERATION, operation)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(tree.exists(), operation != "remove", "{operation}");
    if operation != "remove" {
        remove(&tree, &options(1)).unwrap();
    }
    calls(&fs::read_to_string(&log).unwrap())
}

#[test]
fn no_level_is_handed_to_another_thread() {
    let test = "chains::no_level_is_handed_to_another_thread";
    if let Some(tree) = std::env::var_os(VARIABLE) {
        let tree: &Path = tree.as_ref();
        match std::env::var(OPERATION).unwrap().as_str() {
            "remove" => assert!(remove(tree, &options(2)).unwrap().complete),
            "dry run" => {
                let dry = RemoveOptions { dry_run: true, ..options(4) };
                assert!(remove(tree, &dry).unwrap().complete);
            }
            _ => assert!(walked(tree) >= 300),
        }
        return;
    }
    require!(run(Command::new("strace").arg("-V")));
    for operation in ["remove", "dry run", "walk"] {
        for files in [0, 3] {
            let mut before: Option<u64> = None;
            for depth in [300, 1200] {
                let Calls { all: others, handed_over } = traced(test, operation, depth, files);
                let summary = format!(
                    "{operation}, {depth} deep, {files} files each: {others} calls, {handed_over} handed over"
                );
                println!("{summary}");
                assert!(handed_over < 20, "{summary}");
                assert!(others < (12 + 2 * files) * depth + HARNESS_CALLS, "{summary}");
                assert!(
                    before.is_none_or(|before| others < before * 44 / 10 + HARNESS_CALLS),
                    "{summary}, {before:?}"
                );
                before = Some(others);
            }
        }
    }
}
