//! Purges: the newest entries stay, and what goes is listed or logged.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use megadir_testkit::killed::before_each_call;
use megadir_testkit::require;

use crate::support::{fill, have, megadir, named, run, scratch, set, shell, split};

/// Files of directories `t/0` to `t/2`, `f0` the newest, one day apart; `f3` and `f4` have the same time.
fn tree(at: &Path) {
    let now = SystemTime::now();
    for directory in ["t/0", "t/1", "t/2/deep"] {
        std::fs::create_dir_all(at.join(directory)).unwrap();
        for number in 0..8_u64 {
            let file = std::fs::File::create(at.join(format!("{directory}/f{number}"))).unwrap();
            let days = if number == 4 { 3 } else { number };
            file.set_modified(now - Duration::from_secs((days + 1) * 86_400)).unwrap();
        }
        std::fs::write(at.join(directory).join("other"), "").unwrap();
    }
}

fn files(at: &Path) -> crate::support::Names {
    set(run(at, &["list", "-r", "--type", "f", "t"]).lines())
}

/// Paths of the files with these numbers, and of the others that do not match.
fn expected(numbers: &[u32]) -> crate::support::Names {
    let names = numbers.iter().map(|number| format!("f{number}")).chain(["other".to_owned()]);
    let names: Vec<String> = names.collect();
    let directories = ["t/0", "t/1", "t/2/deep"].iter();
    directories
        .flat_map(|directory| names.iter().map(move |name| format!("{directory}/{name}").into_bytes()))
        .collect()
}

#[test]
fn the_newest_of_each_directory_stay() {
    for (options, left) in [
        (&["--keep-newest", "2"][..], &[0, 1][..]),
        // The fourth has the same time as the fifth.
        (&["--keep-newest", "4"], &[0, 1, 2, 3, 4]),
        (&["--keep-newest", "8"], &[0, 1, 2, 3, 4, 5, 6, 7]),
        (&["--keep-newest", "1M"], &[0, 1, 2, 3, 4, 5, 6, 7]),
        // Ages choose among the others: the newest are those of any age.
        (&["--keep-newest", "1", "--older-than", "50h"], &[0, 1]),
        (&["--keep-newest", "6", "--older-than", "50h"], &[0, 1, 2, 3, 4, 5]),
        (&["--keep-newest", "1", "--by", "ctime", "--exclude", "f*"], &[0, 1, 2, 3, 4, 5, 6, 7]),
    ] {
        for threads in ["1", "3"] {
            let scratch = scratch();
            let at = scratch.path();
            tree(at);
            let arguments =
                [&["remove", "--yes", "--quiet", "--match", "f*", "-j", threads], options, &["t"]].concat();
            let dry =
                run(at, &[&["remove", "--dry-run", "--list", "--match", "f*"], options, &["t"]].concat());
            let before = files(at);
            run(at, &arguments).quiet();
            assert_eq!(files(at), expected(left), "{arguments:?}");
            let removed: BTreeSet<_> = before.difference(&files(at)).cloned().collect();
            assert_eq!(set(split(&dry.out, b'\n')), removed, "a dry run lists the removals: {arguments:?}");
        }
    }
}

#[test]
fn a_dry_run_lists_every_entry_once_and_directories_after_their_entries() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a", "t/new\nline", "t/d/", "t/d/b", "t/d/e/"]);
    let dry = run(at, &["remove", "--dry-run", "--list", "-0", "t"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(dry.err.contains("would remove 6 entries (3 directories)"), "{dry:?}");
    let listed = split(&dry.out, 0);
    assert_eq!(set(listed.clone()), named(&["t", "t/a", "t/new\nline", "t/d", "t/d/b", "t/d/e"]));
    let place = |path: &str| listed.iter().position(|listed| listed == path.as_bytes()).unwrap();
    assert!(place("t/d/b") < place("t/d") && place("t/d/e") < place("t/d") && place("t/d") < place("t"));
    let dry = run(at, &["remove", "--dry-run", "--list", "t/a"]);
    assert_eq!(dry.out, b"t/a\n");
    run(at, &["remove", "--list", "t"]).complains(2, &["--dry-run"]);
    for excluding in [&["--quiet"][..], &["--log", "removed.jsonl"], &["--json"], &["--engine", "mpi"]] {
        run(at, &[&["remove", "--yes", "--list"], excluding, &["t"]].concat()).complains(2, &["--list"]);
        assert!(at.join("t/a").exists());
    }
    assert!(at.join("t/a").exists());
}

/// Paths in a log, and those that failed.
fn logged(log: &Path) -> (Vec<String>, Vec<String>) {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "whole lines: {text:?}");
    let (mut removed, mut failed) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["v"], 1);
        let path = line["path"].as_str().unwrap().to_owned();
        match line.get("failed") {
            Some(_) => failed.push(path),
            None => removed.push(path),
        }
    }
    (removed, failed)
}

#[test]
fn unread_log_has_no_checksums() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/"]);
    // More than a pipe holds.
    for index in 0..5000 {
        std::fs::write(at.join(format!("t/{index:030}")), "").unwrap();
    }
    let ran = shell(at, "set -o pipefail; $M remove --dry-run --list t | true");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let ran = shell(at, "$M remove --dry-run --list t | cat");
    assert!(ran.err.contains("would remove 5 001 entries"), "{ran:?}");
}

#[test]
fn log_has_removed_entries_and_continues() {
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    let before = set(run(at, &["list", "-r", "t"]).lines());
    for glob in ["f[0-3]", "f[4-7]"] {
        run(at, &["remove", "--yes", "--quiet", "--match", glob, "--log", "log", "t"]).quiet();
    }
    let left = set(run(at, &["list", "-r", "t"]).lines());
    let (removed, failed) = logged(&at.join("log"));
    let removed: Vec<_> = removed.into_iter().map(String::into_bytes).collect();
    assert_eq!(set(removed), before.difference(&left).cloned().collect());
    assert!(failed.is_empty());
    let text = std::fs::read_to_string(at.join("log")).unwrap();
    assert!(text.starts_with("{\"v\":1,\"path\":\"t/"), "{text}");
    run(at, &["remove", "--yes", "--log", "missing/log", "t"]).complains(3, &["--log 'missing/log'"]);
    assert!(at.join("t/0/other").exists(), "without a log nothing goes");
}

#[test]
fn a_log_that_would_be_removed_is_refused() {
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    fill(at, &["t/old", "outside/", "outside/old"]);
    symlink("t/0/dangling", at.join("link")).unwrap();
    symlink("../outside/log", at.join("t/out")).unwrap();
    let before = files(at);
    let absolute = at.join("t/log");
    for log in ["t/log", "t/0/../log", absolute.to_str().unwrap(), "link", "t/old"] {
        for options in [&[][..], &["--contents"], &["--match", "f*"], &["--keep-newest", "1"]] {
            let ran = run(at, &[&["remove", "--yes", "--log", log], options, &["t", "outside/old"]].concat());
            ran.complains(2, &["'t'", "the log lies below it"]);
        }
        assert!(files(at) == before && at.join("outside/old").exists(), "{log}");
    }
    run(at, &["remove", "--yes", "--log", "outside/old", "t", "outside/old"])
        .complains(2, &["'outside/old'", "it is the log"]);
    assert_eq!(files(at), before);
    // In a list the others go.
    std::fs::write(at.join("list"), "t\0outside/old\0t/old\0t/0/other\0").unwrap();
    let ran = run(at, &["remove", "--yes", "--files0-from", "list", "--log", "t/old"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("refused to remove 't': the log lies below it"), "{ran:?}");
    assert!(ran.err.contains("refused to remove 't/old': it is the log"), "{ran:?}");
    assert_eq!(logged(&at.join("t/old")).0, ["outside/old", "t/0/other"]);
    // The link goes, the log stays.
    run(at, &["remove", "--yes", "--quiet", "--log", "t/out", "t"]).quiet();
    assert!(!at.join("t").exists() && logged(&at.join("outside/log")).0.contains(&"t".to_owned()));
}

#[test]
fn a_full_log_ends_the_removal() {
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    let before = files(at);
    let ran = run(at, &["remove", "--yes", "--log", "/dev/full", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("write to '/dev/full'") && ran.err.contains("No space left"), "{ran:?}");
    assert_eq!(files(at), before);
}

#[test]
fn every_entry_removed_before_a_kill_is_in_the_log() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    let all = ["t/0/", "t/1/", "t/0/a", "t/0/b", "t/1/c", "t/1/d", "t/e", "t/f"];
    let mut midway = 0;
    for threads in ["1", "2"] {
        let command = || {
            let _ = std::fs::remove_dir_all(at.join("t"));
            let _ = std::fs::remove_file(at.join("log"));
            fill(at, &all);
            megadir(at, &["remove", "--yes", "--log", "log", "-j", threads, "t"])
        };
        before_each_call(&["write", "unlinkat", "fdatasync"], 1, command, |call| {
            let (logged, _) = logged(&at.join("log"));
            let exists = |path: &str| at.join(path).symlink_metadata().is_ok();
            let removed: Vec<&str> =
                all.iter().map(|path| path.trim_end_matches('/')).filter(|path| !exists(path)).collect();
            for path in &removed {
                assert!(
                    logged.iter().any(|logged| logged == path),
                    "before {call}: {path} is not in {logged:?}"
                );
            }
            let early = logged.iter().filter(|path| exists(path)).count();
            assert!(early <= 2, "before {call}: {early} entries are logged too early");
            midway += usize::from(!removed.is_empty() && removed.len() < all.len());
        });
    }
    assert!(midway > 8, "killed midway {midway} times");
}

#[test]
fn rate_without_conditions_removes_everything() {
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    run(at, &["remove", "--yes", "--quiet", "--rate", "auto", "t"]).quiet();
    assert!(!at.join("t").exists());
}
