//! System calls of a removal, seen by strace: one per file.

use std::fs;
use std::process::Command;

use megadir_testkit::mount::run;
use megadir_testkit::require;
use megadir_testkit::tree::Flat;

use crate::support::{options, remove};

const VARIABLE: &str = "MEGADIR_TEST_TREE";
const DIRECTORIES: u64 = 20;
const FILES: u64 = 500;

#[test]
fn a_file_costs_one_call_and_a_directory_few() {
    if let Some(tree) = std::env::var_os(VARIABLE) {
        // Calls before and after are the test harness's.
        let _ = fs::remove_file("/megadir-begins");
        let removed = remove(tree.as_ref(), &options(2)).unwrap();
        let _ = fs::remove_file("/megadir-ends");
        assert_eq!(removed.counts.entries, DIRECTORIES * FILES);
        return;
    }
    require!(run(Command::new("strace").arg("-V")));
    let scratch = tempfile::tempdir().unwrap();
    let (tree, log) = (scratch.path().join("tree"), scratch.path().join("log"));
    fs::create_dir(&tree).unwrap();
    for index in 0..DIRECTORIES {
        Flat::plain(FILES).build(&tree.join(format!("d{index}")));
    }
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&log)
        .arg("--trace=file,desc,%stat")
        .arg(std::env::current_exe().unwrap())
        .args(["calls::a_file_costs_one_call_and_a_directory_few", "--exact"])
        .env(VARIABLE, &tree)
        .output()
        .unwrap();
    assert!(traced.status.success(), "{}", String::from_utf8_lossy(&traced.stderr));
    assert!(!tree.exists());
    let log = fs::read_to_string(&log).unwrap();
    let from = log.find("/megadir-begins").unwrap();
    let (lines, _) = log[from..].split_once("/megadir-ends").unwrap();
    let count = |call: &str| lines.matches(&format!(" {call}(")).count() as u64;
    assert_eq!(count("unlinkat"), DIRECTORIES * FILES + DIRECTORIES + 1, "one each");
    let stats = ["statx", "newfstatat", "fstat", "stat", "lstat"].iter().map(|call| count(call)).sum::<u64>();
    assert!(stats <= 12, "{stats} calls that look at inodes, {lines}");
    let reads = count("getdents64");
    assert!(reads <= 2 * (DIRECTORIES + 1), "{reads} reads");
    let opens = count("openat2") + count("openat");
    assert!(opens <= DIRECTORIES + 16, "{opens} directories opened");
}
