//! `megadir scan --lists` and the recipes of docs/parallel.md; `--rate` and `--idle`.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::require;
use tempfile::TempDir;

use crate::support::{have, megadir, path, run, scratch, shell, split};

/// A tree `project` with names that need care, links, empty directories and files of several sizes.
fn tree() -> TempDir {
    let scratch = scratch();
    let project = scratch.path().join("project");
    for directory in ["a/deep/er", "empty", "new\nline", "-d", "#c"] {
        fs::create_dir_all(project.join(directory)).unwrap();
    }
    for number in 0..40 {
        let directory = ["", "a", "a/deep", "a/deep/er", "new\nline", "-d"][number % 6];
        fs::write(project.join(directory).join(format!("f {number}")), vec![b'x'; number * 100]).unwrap();
    }
    fs::write(project.join("-d/-T"), "dash").unwrap();
    fs::write(project.join(";b"), "no comment").unwrap();
    fs::write(project.join("#c/;d"), "no comment").unwrap();
    fs::hard_link(project.join("f 0"), project.join("a/linked")).unwrap();
    std::os::unix::fs::symlink("nowhere", project.join("link")).unwrap();
    fs::create_dir(scratch.path().join("uploads")).unwrap();
    scratch
}

fn found(at: &Path, expression: &str) -> BTreeSet<Vec<u8>> {
    let ran = shell(at, &format!("cd project && find . -mindepth 1 {expression} -printf '%P\\0'"));
    split(&ran.quiet(), 0).into_iter().collect()
}

/// Paths of a list, without the prefix that keeps rsync from taking a name for a comment.
fn listed(list: &Path) -> Vec<Vec<u8>> {
    let paths = split(&fs::read(list).unwrap(), 0);
    paths.into_iter().map(|path| path.strip_prefix(b"./").map(<[u8]>::to_vec).unwrap_or(path)).collect()
}

#[test]
fn every_entry_is_in_one_list_in_the_order_of_inodes() {
    let scratch = tree();
    let at = scratch.path();
    for (limits, most) in [("10", 10), ("10,1MB", 10), ("100", 100)] {
        run(at, &["scan", "-q", "project", "--split", limits, "--lists", "lists"]).quiet();
        let (mut all, mut inodes) = (Vec::new(), Vec::new());
        let mut names: Vec<_> =
            fs::read_dir(at.join("lists")).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        assert_eq!(names.remove(0).file_name().unwrap(), "directories");
        for list in &names {
            let paths = listed(list);
            // The two names of one file stay together.
            assert!(paths.len() <= most + 1 && !paths.is_empty(), "{limits}: {}", paths.len());
            inodes.extend(
                paths
                    .iter()
                    .map(|name| at.join("project").join(path(name)).symlink_metadata().unwrap().ino()),
            );
            all.extend(paths);
        }
        assert!(inodes.is_sorted(), "{inodes:?}");
        let count = all.len();
        assert_eq!(names.len() > 1, most == 10);
        assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), found(at, "! -type d"));
        assert_eq!(count, found(at, "! -type d").len(), "none is there twice");
        let directories = listed(&at.join("lists/directories"));
        for (index, directory) in directories.iter().enumerate() {
            let above = directory.iter().rposition(|byte| *byte == b'/').map(|end| &directory[..end]);
            assert!(above.is_none_or(|above| directories[..index].iter().any(|before| before == above)));
        }
        assert_eq!(directories.into_iter().collect::<BTreeSet<_>>(), found(at, "-type d"));
        fs::remove_dir_all(at.join("lists")).unwrap();
    }
}

#[test]
fn lists_replace_nothing() {
    let scratch = tree();
    let at = scratch.path();
    let lists = |rest: &[&str]| run(at, &[&["scan", "-q", "--split", "10"], rest].concat());
    fs::create_dir(at.join("empty")).unwrap();
    lists(&["project", "--lists", "empty"]).quiet();
    lists(&["project", "--lists", "empty"]).complains(2, &["'empty'", "not empty", "name a new one"]);
    fs::write(at.join("file"), "").unwrap();
    lists(&["project", "--lists", "file"]).complains(2, &["'file'", "not a directory"]);
    std::os::unix::fs::symlink("uploads", at.join("symlink")).unwrap();
    lists(&["project", "--lists", "symlink"]).complains(2, &["'symlink'", "not a directory"]);
    lists(&["project", "--lists", "project/lists"]).complains(2, &["whose entries it would list"]);
    lists(&["project", "uploads", "--lists", "lists"]).complains(2, &["single PATH"]);
    lists(&["project", "--lists", "no/lists"]).complains(3, &["no/lists"]);
    for bad in ["", "0", "1GB,2GB", "1k,2k", "x", "1k,0B"] {
        let ran = run(at, &["scan", "project", &format!("--split={bad}"), "--lists", "lists"]);
        ran.complains(2, &["--split"]);
    }
    run(at, &["scan", "project", "--split", "10"]).complains(2, &["--lists"]);
    run(at, &["scan", "project", "--lists", "lists"]).complains(2, &["--split"]);
    // Another program's directory of the temporary name stays.
    fs::create_dir(at.join(".lists.megadir-partial")).unwrap();
    fs::write(at.join(".lists.megadir-partial/precious"), "").unwrap();
    lists(&["project", "--lists", "lists"]).complains(3, &["move '.lists.megadir-partial' away"]);
    assert!(at.join(".lists.megadir-partial/precious").exists() && !at.join("lists").exists());
}

#[test]
fn a_killed_scan_leaves_no_lists() {
    require!(have("strace"));
    let scratch = tree();
    let at = scratch.path();
    let command = || {
        // A run that was not killed is the last one for its call.
        let _ = fs::remove_dir_all(at.join("lists"));
        megadir(at, &["scan", "-q", "-j1", "project", "--split", "10", "--lists", "lists"])
    };
    let (mut without, mut complete) = (0, 0);
    let killed = before_each_call(CHANGING_CALLS, 1, command, |call| match at.join("lists").exists() {
        true => {
            assert_eq!(fs::read_dir(at.join("lists")).unwrap().count(), 6, "before {call}");
            complete += 1;
        }
        false => without += 1,
    });
    assert!(
        killed > 15 && without > 10 && complete >= 1,
        "{killed} kills, {without} without lists, {complete} complete"
    );
    let left: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_str().unwrap().contains("partial")), "{left:?}");
}

/// The lines of the page's block that contain `words`.
fn on_page(words: &str) -> String {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/parallel.md")).unwrap();
    let block =
        page.split("```").find(|block| block.starts_with("console") && block.contains(words)).unwrap();
    let lines: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    lines.join("\n").replace("megadir", "\"$M\" --quiet").replace("--quiet scan", "scan --quiet")
}

#[track_caller]
fn copies(line: &str) {
    let scratch = tree();
    let at = scratch.path();
    let made = shell(at, "mkdir parts && \"$M\" scan -q project --split 10,100GB --lists lists");
    assert_eq!(made.code, Some(0), "{made:?}");
    let line = line.lines().filter(|line| !line.contains("scan")).collect::<Vec<_>>().join("\n");
    let ran = shell(at, &format!("set -euo pipefail\n{line}"));
    assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    let differences = shell(at, "diff -r --no-dereference project uploads");
    assert_eq!(differences.code, Some(0), "{differences:?}");
}

#[test]
fn rsync_copies_by_lists() {
    require!(have("rsync"));
    copies(&on_page("rsync"));
}

#[test]
fn tar_archives_by_lists() {
    require!(have("tar"));
    let directories = "tar -c -C project --null --verbatim-files-from --no-recursion -T lists/directories | tar -x -C uploads";
    copies(&format!(
        "{}\nfor part in parts/*; do tar -x -C uploads -f $part; done\n{directories}",
        on_page("tar -cf")
    ));
}

#[test]
fn cp_copies_by_lists() {
    require!(have("cp"));
    copies(&on_page("cp -a"));
}

#[test]
fn rate_limit_holds_and_the_output_is_equal() {
    let scratch = tree();
    let at = scratch.path();
    let entries = found(at, "").len() as u64 + 1;
    let plain = run(at, &["scan", "-q", "--jsonl", "project"]).quiet();
    for threads in ["1", "2"] {
        let started = Instant::now();
        let ran = run(at, &["scan", "-q", "--jsonl", "project", "--rate", "100/s", "-j", threads]).quiet();
        assert!(
            started.elapsed() >= Duration::from_millis((entries - 2) * 10 - 20),
            "{:?}",
            started.elapsed()
        );
        assert!(ran == plain, "the rows are the same");
    }
    run(at, &["scan", "-q", "--idle", "project", "-o", "x.parquet"]).quiet();
    run(at, &["scan", "project", "-o", "x.parquet", "--rate", "0"]).complains(2, &["--rate", "500/s"]);
}

#[test]
fn a_slow_scan_can_be_interrupted() {
    let scratch = tree();
    let mut command =
        megadir(scratch.path(), &["scan", "-q", "-j1", "project", "--rate", "1/s", "-o", "x.parquet"]);
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let started = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let left: Vec<_> =
        fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the tree and its neighbour: {left:?}");
}
