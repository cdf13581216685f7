//! Recipes of docs/inventory.md: back up only what changed.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::path::Path;

use megadir_testkit::require;

use crate::support::{fill, have, named, run, scratch, set, shell, split};

/// A tree with an inventory, changed since; `old` is a copy from before.
fn changed(at: &Path) {
    fill(at, &["t/", "t/d/", "t/d/kept", "t/gone", "t/grown", "t/d/grown"]);
    run(at, &["scan", "--quiet", "-o", "t.parquet", "t"]).quiet();
    let copied = shell(at, "cp -a t old");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    for path in ["t/grown", "t/d/grown", "t/new\nline", "t/d/ new"] {
        fs::write(at.join(path), "changed").unwrap();
    }
    fs::remove_file(at.join("t/gone")).unwrap();
    fill(at, &["t/n/", "t/n/x"]);
}

const CHANGED: [&str; 6] = ["grown", "d/grown", "new\nline", "d/ new", "n", "n/x"];

#[test]
fn only_the_kinds_that_are_asked_for_are_reported() {
    let scratch = scratch();
    let at = scratch.path();
    changed(at);
    let paths = |only: &str| {
        set(split(&run(at, &["changes", "t.parquet", "--only", only, "--paths", "-0"]).quiet(), 0))
    };
    assert_eq!(paths("added,modified"), named(&CHANGED));
    assert_eq!(paths("removed"), named(&["gone"]));
    assert_eq!(paths("renamed"), named(&[]));
    assert_eq!(run(at, &["changes", "t.parquet", "--quiet", "--only", "renamed"]).code, Some(0));
    assert_eq!(run(at, &["changes", "t.parquet", "--quiet", "--only", "removed"]).code, Some(10));
    run(at, &["changes", "t.parquet", "--only", "moved"]).complains(2, &["'moved'", "expected one of added"]);
    let update = run(at, &["changes", "t.parquet", "--only", "added", "--update"]);
    assert!(update.code == Some(2) && update.err.contains("--update"), "{update:?}");
}

/// Runs a recipe and asserts that `old` has all that was added or modified.
fn backs_up(recipe: &str) {
    let scratch = scratch();
    let at = scratch.path();
    changed(at);
    let ran = shell(at, &recipe.replace("megadir", "\"$M\""));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for path in CHANGED {
        let (new, old) = (at.join("t").join(path), at.join("old").join(path));
        assert_eq!(new.is_dir(), old.is_dir(), "{path}");
        assert!(new.is_dir() || fs::read(new).unwrap() == fs::read(old).unwrap(), "{path}");
    }
    assert!(at.join("old/gone").exists());
}

#[test]
fn rsync_takes_the_paths() {
    require!(have("rsync"));
    backs_up(
        "megadir changes t.parquet --only added,modified --paths -0 | rsync -a --from0 --files-from=- t/ old/",
    );
}

#[test]
fn tar_takes_the_paths() {
    require!(have("tar"));
    backs_up(
        "megadir changes t.parquet --only added,modified --paths -0 | \
         tar -C t --null --verbatim-files-from --no-recursion -T - -cf changed.tar && tar -C old -xf changed.tar",
    );
}
