//! Recipes of docs/backup.md: back up only what changed.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::path::Path;

use megadir_testkit::require;

use crate::support::{fill, have, named, run, scratch, set, shell, split};

/// A tree with an inventory, changed since; `old` is a copy from before.
fn changed(at: &Path) {
    fill(
        at,
        &["project/", "project/d/", "project/d/kept", "project/gone", "project/grown", "project/d/grown"],
    );
    fs::write(at.join("project/d/set-back"), "before!").unwrap();
    run(at, &["scan", "--quiet", "-o", "last.parquet", "project"]).quiet();
    let copied = shell(at, "cp -a project uploads");
    assert_eq!(copied.code, Some(0), "{copied:?}");
    for path in [
        "project/grown",
        "project/d/grown",
        "project/new\nline",
        "project/d/ new",
        "project/#a",
        "project/;b",
    ] {
        fs::write(at.join(path), "changed").unwrap();
    }
    // Of the same size, with the same mtime: only its ctime shows it.
    let set_back = at.join("project/d/set-back");
    let mtime = set_back.metadata().unwrap().modified().unwrap();
    fs::write(&set_back, "changed").unwrap();
    fs::File::options().write(true).open(&set_back).unwrap().set_modified(mtime).unwrap();
    fs::remove_file(at.join("project/gone")).unwrap();
    fill(at, &["project/n/", "project/n/x"]);
}

const CHANGED: [&str; 9] =
    ["grown", "d/grown", "d/set-back", "new\nline", "d/ new", "./#a", "./;b", "n", "n/x"];

#[test]
fn only_requested_kinds_of_change_are_reported() {
    let scratch = scratch();
    let at = scratch.path();
    changed(at);
    let paths = |only: &str| {
        set(split(&run(at, &["changes", "last.parquet", "--only", only, "--paths", "-0"]).quiet(), 0))
    };
    assert_eq!(paths("added,modified"), named(&CHANGED));
    assert_eq!(paths("removed"), named(&["gone"]));
    assert_eq!(paths("renamed"), named(&[]));
    assert_eq!(run(at, &["changes", "last.parquet", "--quiet", "--only", "renamed"]).code, Some(0));
    assert_eq!(run(at, &["changes", "last.parquet", "--quiet", "--only", "removed"]).code, Some(10));
    run(at, &["changes", "last.parquet", "--only", "moved"])
        .complains(2, &["'moved'", "expected one of added"]);
    let update = run(at, &["changes", "last.parquet", "--only", "added", "--update"]);
    assert!(update.code == Some(2) && update.err.contains("--update"), "{update:?}");
}

/// Runs a recipe, with one inventory and with two, and asserts that `old` has all that was added or modified.
fn backs_up(recipe: &str, paths: &[&str]) {
    for inventories in ["last.parquet", "last.parquet today.parquet"] {
        let scratch = scratch();
        let at = scratch.path();
        changed(at);
        run(at, &["scan", "--quiet", "-o", "today.parquet", "project"]).quiet();
        let line = recipe.replace("megadir", "\"$M\"");
        let line = match inventories.contains("today") {
            true => line,
            false => line.replace(" today.parquet", "").replace(" ../today.parquet", ""),
        };
        let ran = shell(at, &line);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        for path in paths {
            let (new, old) = (at.join("project").join(path), at.join("uploads").join(path));
            assert_eq!(new.is_dir(), old.is_dir(), "{path}");
            assert!(new.is_dir() || fs::read(new).unwrap() == fs::read(old).unwrap(), "{path}");
        }
        assert!(at.join("uploads/gone").exists());
    }
}

/// The recipe on the page, unchanged.
fn on_page(recipe: &str) -> &str {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/backup.md");
    assert!(fs::read_to_string(page).unwrap().contains(&format!("$ {recipe}\n")), "{recipe}");
    recipe
}

const RSYNC: &str = "megadir changes last.parquet today.parquet --only added,modified,renamed,type-changed,suspect --paths -0 | rsync -a -I -r --from0 --files-from=- project/ uploads/";

#[test]
fn rsync_takes_the_paths() {
    require!(have("rsync"));
    backs_up(on_page(RSYNC), &CHANGED);
}

/// With a new inventory, after a directory and a file were renamed as well.
fn changed_and_renamed(at: &Path) {
    changed(at);
    fs::rename(at.join("project/d"), at.join("project/e")).unwrap();
    fs::rename(at.join("project/grown"), at.join("project/larger")).unwrap();
    run(at, &["scan", "--quiet", "-o", "today.parquet", "project"]).quiet();
}

#[test]
fn rsync_copies_renamed_files() {
    require!(have("rsync"));
    let scratch = scratch();
    let at = scratch.path();
    changed_and_renamed(at);
    let ran = shell(at, &on_page(RSYNC).replace("megadir", "\"$M\""));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for path in ["e/kept", "e/grown", "larger"] {
        assert_eq!(
            fs::read(at.join("uploads").join(path)).unwrap(),
            fs::read(at.join("project").join(path)).unwrap(),
            "{path}"
        );
    }
}

const DELETIONS: &str = "rsync -r --delete --existing --ignore-existing project/ uploads/";

#[test]
fn after_both_commands_the_copy_equals_the_tree() {
    require!(have("rsync"));
    let scratch = scratch();
    let at = scratch.path();
    changed_and_renamed(at);
    for line in [RSYNC, DELETIONS] {
        let ran = shell(at, &on_page(line).replace("megadir", "\"$M\""));
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    }
    assert!(!at.join("uploads/gone").exists() && !at.join("uploads/d").exists());
    let differs = shell(at, "diff -r project uploads");
    assert!(differs.code == Some(0) && differs.out.is_empty(), "{differs:?}");
}

#[test]
fn tar_takes_the_paths() {
    require!(have("tar"));
    let recipe = "megadir changes last.parquet today.parquet --only added,modified,suspect --paths -0 | tar -C project --null --verbatim-files-from --no-recursion -T - -cf changed.tar";
    backs_up(&format!("{} && tar -C uploads -xf changed.tar", on_page(recipe)), &CHANGED);
}

#[test]
fn restic_takes_the_paths() {
    require!(have("restic"));
    let recipe = "megadir changes ../last.parquet ../today.parquet --only added,modified,suspect --type f,l --paths -0 | restic -r ../repository backup --files-from-raw -";
    let line = format!(
        "set -o pipefail; export RESTIC_PASSWORD=x RESTIC_CACHE_DIR=$PWD/cache; restic -q init -r repository && cd project && {} && \
         restic -q -r ../repository restore latest --target ../uploads",
        on_page(recipe)
    );
    let files: Vec<&str> = CHANGED.into_iter().filter(|path| *path != "n").collect();
    backs_up(&line, &files);
}
