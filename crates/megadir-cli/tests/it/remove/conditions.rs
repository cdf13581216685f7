//! Conditions: matching entries are removed, the others stay.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use megadir_testkit::require;

use crate::support::{by_std, fill, have, named, run, scratch, shell};

/// Sets the modification time back by `days`.
fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    File::open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn only_older_files_are_removed() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/d/", "t/e/", "t/f/", "t/old", "t/new", "t/d/old", "t/d/new", "t/e/old"]);
    for path in ["t/old", "t/d/old", "t/e/old", "t/d", "t/e", "t/f", "t"] {
        age(&at.join(path), 40);
    }
    let ran = run(at, &["remove", "--yes", "--older-than", "30d", "t"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // Directories count by their time before the removal of their entries.
    assert_eq!(by_std(&at.join("t")), named(&["new", "d"]));
    assert_eq!(by_std(&at.join("t/d")), named(&["new"]));
}

#[test]
fn entries_without_an_age_stay() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/d/", "t/d/old", "t/old", "t/link"]);
    for path in ["t/old", "t/d/old", "t/d"] {
        age(&at.join(path), 40);
    }
    // The result mask of statx has everything but the modification time.
    let line = "strace -f -qq -o /dev/null -e inject=statx:poke_exit=@arg5=bf170000 \
        $M remove --yes --older-than 30d t";
    let ran = shell(at, line);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("its modification time is unknown, so it stays"), "{ran:?}");
    assert!(at.join("t/old").exists() && at.join("t/d/old").exists());
    assert_eq!(run(at, &["remove", "--yes", "--older-than", "30d", "t"]).code, Some(0));
    assert_eq!(by_std(&at.join("t")), named(&["link"]));
}

#[test]
fn only_matching_entries_are_removed() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a.tmp", "t/b", "t/d.tmp/", "t/d.tmp/kept", "t/e.tmp/", "t/e.tmp/x.tmp", "t/.h.tmp"]);
    std::fs::write(at.join(crate::support::path(b"t/\xff.tmp")), "").unwrap();
    let ran = run(at, &["remove", "--yes", "--match", "*.tmp", "t"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(by_std(&at.join("t")), named(&["b", "d.tmp"]));
    assert_eq!(by_std(&at.join("t/d.tmp")), named(&["kept"]));
}

#[test]
fn only_requested_types_are_removed() {
    let scratch = scratch();
    let at = scratch.path();
    let make = || {
        let _ = std::fs::remove_dir_all(at.join("t"));
        fill(at, &["t/d/", "t/d/f", "t/e/", "t/f"]);
        symlink("f", at.join("t/link")).unwrap();
    };
    for (types, left) in [
        ("f", &["d", "e", "link"][..]),
        ("l", &["d", "e", "f"]),
        ("d", &["d", "f", "link"]),
        ("f,d", &["link"]),
    ] {
        make();
        let ran = run(at, &["remove", "--yes", "--type", types, "t"]);
        assert_eq!(ran.code, Some(0), "{types}: {ran:?}");
        assert_eq!(by_std(&at.join("t")), named(left), "{types}");
    }
}

#[test]
fn a_named_directory_stays_and_a_named_file_is_judged() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["a.tmp/", "a.tmp/x", "b.tmp", "c"]);
    let ran = run(at, &["remove", "--yes", "--match", "*.tmp", "a.tmp", "b.tmp", "c"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(by_std(at), named(&["a.tmp", "c"]));
    assert_eq!(by_std(&at.join("a.tmp")), named(&["x"]));
}

#[test]
fn dry_run_counts_matching_entries() {
    let scratch = scratch();
    fill(scratch.path(), &["t/", "t/a.tmp", "t/b", "t/d/", "t/d/c.tmp"]);
    let ran = run(scratch.path(), &["remove", "--dry-run", "--match", "*.tmp", "t"]);
    assert!(String::from_utf8(ran.quiet()).unwrap().starts_with("would remove 2 entries, "));
    assert!(scratch.path().join("t/d/c.tmp").exists());
}
