//! The command on Windows: what it lists and scans, and what it says of what is not there yet.
#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::path::Path;
use std::process::{Command, Stdio};

use megadir_testkit::require;

/// Runs the command; returns its exit code, what it printed and what it complained about.
fn megadir(directory: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megadir"));
    let output = command.args(words).current_dir(directory).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Makes a tree and returns the directory that it lies in.
fn tree() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    std::fs::create_dir_all(tree.join("below").join("empty")).unwrap();
    for index in 0..50 {
        std::fs::write(tree.join(format!("file {index}")), "x".repeat(index)).unwrap();
    }
    std::fs::write(tree.join("below").join("é漢😀"), "text").unwrap();
    scratch
}

#[test]
fn every_backend_lists_the_same_with_sizes_and_times() {
    let scratch = tree();
    let sorted = |words: &[&str]| {
        let (code, text, complaint) = megadir(scratch.path(), words);
        assert_eq!((code, complaint.as_str()), (Some(0), ""), "{words:?}");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let names = sorted(&["list", "tree"]);
    assert_eq!(names.len(), 51);
    assert!(names.contains(&"below".to_owned()) && names.contains(&"file 49".to_owned()), "{names:?}");
    let long = sorted(&["list", "--fields=type,size,mtime,name", "tree"]);
    assert!(
        long.iter().any(|line| line.starts_with("file\t49\t20") && line.ends_with("\tfile 49")),
        "{long:?}"
    );
    for backend in megadir::BACKENDS {
        if let Err(refusal) = backend.probe(&megadir::Dir::open(scratch.path()).unwrap()) {
            require::unavailable(&format!("list --backend {}", backend.name()), &refusal.reason());
            continue;
        }
        assert_eq!(sorted(&["list", "--backend", backend.name(), "tree"]), names, "{}", backend.name());
        let words = ["list", "--fields=type,size,mtime,name", "--backend", backend.name(), "tree"];
        assert_eq!(sorted(&words), long, "{}", backend.name());
    }
    let below = sorted(&["list", "--recursive", "-0", "tree"]).concat();
    assert!(below.contains("tree\\below\\é漢😀\0"), "{below:?}");
}

#[test]
fn what_is_scanned_has_not_changed() {
    let scratch = tree();
    let (code, _, complaint) = megadir(scratch.path(), &["scan", "tree", "--output", "inventory"]);
    assert_eq!(code, Some(0), "{complaint}");
    let mut rows = 0;
    let mut inventory = megadir_inventory::Inventory::open(&scratch.path().join("inventory")).unwrap();
    while let Some(row) = megadir_inventory::Rows::next_row(&mut inventory).unwrap() {
        assert!(
            row.facts.inode.is_some() && row.facts.modified_ns.is_some() && row.facts.changed_ns.is_some()
        );
        rows += 1;
    }
    assert_eq!(rows, 1 + 51 + 2, "the root, what is in it, and below");
    let (code, text, complaint) = megadir(scratch.path(), &["changes", "inventory", "tree"]);
    assert_eq!(code, Some(0), "{complaint}");
    // All is younger than the scan's clock can tell apart.
    assert!(text.lines().all(|line| line.starts_with("suspect")), "{text}");
}

#[test]
fn what_is_not_there_yet_is_refused_in_one_line() {
    let scratch = tree();
    for words in [
        &["remove", "--yes", "tree"][..],
        &["limits", "tree"],
        &["make", "tree", "--entries", "40"],
        &["bench", "run", "listing", "--quick"],
        &["list", "--estimate", "tree"],
    ] {
        let (code, text, complaint) = megadir(scratch.path(), words);
        assert_eq!((code, text.as_str()), (Some(3), ""), "{words:?}: {complaint}");
        assert!(complaint.contains("not on Windows yet"), "{words:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
    assert_eq!(std::fs::read_dir(scratch.path().join("tree")).unwrap().count(), 51, "nothing went");
}
