//! `megadir usage` against an oracle in Python, of trees and of inventories.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod changing;
mod output;
mod requests;

use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{EXT4, Mount, TMPFS};
use megadir_testkit::require;
use megadir_testkit::require::full;
use serde_json::Value;

use crate::support::{Ran, finish, have, megadir, root, run, run_as_nobody, scratch, unprivileged};

fn make_tree(path: &Path, seed: u64) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/usage/tree.py");
    let mut python = Command::new("python3");
    let made = finish(python.arg(script).arg(path).arg(seed.to_string()));
    assert_eq!(made.code, Some(0), "seed {seed}: {}", made.err);
}

fn parsed(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// Sorts the lists whose order has ties, by key as the oracle does by text.
fn sorted(mut value: Value) -> Value {
    for key in ["directories", "owners", "extensions"] {
        if let Some(rows) = value[key].as_array_mut() {
            rows.sort_by_key(Value::to_string);
        }
    }
    value
}

fn oracle(command: &mut Command, now_s: &Value, options: (&str, &str, &str), roots: &[&Path]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/usage/oracle.py");
    let text = std::fs::read_to_string(script).unwrap();
    let (by, top, depth) = options;
    command.args(["-c", &text]).args([&now_s.to_string(), by, top, depth]).args(roots);
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    sorted(parsed(&ran))
}

#[track_caller]
fn same(label: &str, mut found: Value, mut expected: Value) {
    let keys: Vec<String> = expected.as_object().unwrap().keys().cloned().collect();
    assert_eq!(found.as_object().unwrap().len(), keys.len(), "{label}: {found}");
    for key in keys {
        let (found, expected) = (found[&key].take(), expected[&key].take());
        assert_eq!(found, expected, "{label}: {key}");
    }
}

const VARIANTS: [(&str, &str, &str); 6] = [
    ("entries", "1000", "1000"),
    ("allocated", "1000", "2"),
    ("apparent", "7", "1000"),
    ("newest", "5", "3"),
    ("oldest", "5", "1000"),
    ("entries", "3", "1"),
];

#[test]
fn every_figure_is_the_oracles_live_and_from_an_inventory() {
    require!(have("python3"));
    let scratch = scratch();
    for seed in 0..if full() { 200 } else { 12 } {
        let tree = scratch.path().join(format!("t{seed}"));
        make_tree(&tree, seed);
        let inventory = scratch.path().join("tree.parquet");
        let path = [tree.to_str().unwrap(), inventory.to_str().unwrap()];
        run(scratch.path(), &["scan", "--quiet", path[0], "-o", path[1]]).quiet();
        let (by, top, depth) = VARIANTS[seed as usize % VARIANTS.len()];
        let options = ["usage", "--json", "--by", by, "-n", top, "-d", depth];
        for threads in ["1", "3"] {
            let live = parsed(&run(scratch.path(), &[&options[..], &["-j", threads, path[0]]].concat()));
            let expected = oracle(&mut Command::new("python3"), &live["now_s"], (by, top, depth), &[&tree]);
            let now_s = live["now_s"].clone();
            same(&format!("seed {seed}, {threads} threads"), sorted(live), expected.clone());
            let stored = run(scratch.path(), &[&options[..], &path[1..]].concat());
            assert_eq!((stored.code, stored.err.as_str()), (Some(0), ""), "{stored:?}");
            let mut stored = sorted(parsed(&stored));
            stored["now_s"] = now_s;
            same(&format!("seed {seed}, inventory"), stored, expected);
        }
        std::fs::remove_file(&inventory).unwrap();
    }
}

#[test]
fn a_directory_without_subdirectories_is_read_by_all_threads_alike() {
    require!(have("python3"));
    let scratch = scratch();
    let tree = scratch.path().join("flat");
    std::fs::create_dir(&tree).unwrap();
    for number in 0..5000 {
        let path = tree.join(format!("{number:x}.{}", if number % 3 == 0 { "txt" } else { "bin" }));
        match number % 5 {
            0 => std::os::unix::fs::symlink("nowhere", path).unwrap(),
            1 if number > 1000 => std::fs::hard_link(tree.join("2.bin"), path).unwrap(),
            _ => std::fs::write(path, vec![b'z'; number % 7000]).unwrap(),
        }
    }
    let path = tree.to_str().unwrap();
    for threads in ["1", "4"] {
        let live = parsed(&run(scratch.path(), &["usage", "--json", "-j", threads, path]));
        let expected =
            oracle(&mut Command::new("python3"), &live["now_s"], ("entries", "1000", "1000"), &[&tree]);
        same(&format!("{threads} threads"), sorted(live), expected);
    }
}

#[test]
fn several_trees_share_their_hard_links() {
    require!(have("python3"));
    let scratch = scratch();
    let trees = ["one", "two"].map(|name| scratch.path().join(name));
    (1..).zip(&trees).for_each(|(seed, tree)| make_tree(tree, seed));
    std::fs::write(trees[1].join("shared.bin"), [b'x'; 9000]).unwrap();
    std::fs::hard_link(trees[1].join("shared.bin"), trees[0].join("also.bin")).unwrap();
    let roots = trees.each_ref().map(std::path::PathBuf::as_path);
    let names = roots.map(|root| root.to_str().unwrap());
    let options = ["usage", "--json", "-n", "1000"];
    let live = parsed(&run(scratch.path(), &[&options[..], &names].concat()));
    let expected = oracle(&mut Command::new("python3"), &live["now_s"], ("entries", "1000", "1000"), &roots);
    same("live", sorted(live), expected.clone());
    run(scratch.path(), &[&["scan", "--quiet", "-o", "i.parquet"][..], &names].concat()).quiet();
    let mut stored = parsed(&run(scratch.path(), &[&options[..], &["i.parquet"]].concat()));
    stored["now_s"] = expected["now_s"].clone();
    same("inventory", sorted(stored), expected);
}

#[test]
fn a_mount_inside_is_an_entry_and_is_entered_only_on_request() {
    require!(have("python3"));
    let outer = require!(Mount::make(&EXT4));
    let inner = require!(Mount::make(&TMPFS));
    let at = outer.path();
    let tree = at.join("tree");
    make_tree(&tree, 5);
    std::fs::create_dir(tree.join("mounted")).unwrap();
    for name in ["seen.txt", "too.txt"] {
        std::fs::write(inner.path().join(name), [b'y'; 5000]).unwrap();
    }
    let mounted = tree.join("mounted");
    let bind = finish(Command::new("mount").arg("--bind").arg(inner.path()).arg(&mounted));
    assert_eq!(bind.code, Some(0), "{bind:?}");
    let path = tree.to_str().unwrap();
    let ran = run(&at, &["usage", "--json", "-n", "1000", path]);
    run(&at, &["scan", path, "-o", "i.parquet"]);
    let stored = run(&at, &["usage", "--json", "-n", "1000", "i.parquet"]);
    let crossed = run(&at, &["usage", "--json", "--cross-mounts", path]);
    let expected = {
        let now_s = parsed(&ran)["now_s"].clone();
        oracle(&mut Command::new("python3"), &now_s, ("entries", "1000", "1000"), &[&tree])
    };
    finish(Command::new("umount").arg(&mounted));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("mounted' is on another mount"), "{}", ran.err);
    same("live", sorted(parsed(&ran)), expected.clone());
    let mut stored = parsed(&stored);
    stored["now_s"] = expected["now_s"].clone();
    same("inventory", sorted(stored), expected.clone());
    let entries = |value: &Value| value["entries"].as_u64().unwrap();
    assert_eq!(entries(&parsed(&crossed)), entries(&expected) + 2);
}

#[test]
fn unreadable_directories_are_reported_and_the_rest_is_counted() {
    use std::os::unix::fs::PermissionsExt;
    require!(have("python3"));
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    require!(root());
    // A user's own installation may be closed to others.
    require!(have("/usr/bin/python3"));
    let tree = scratch.path().join("tree");
    make_tree(&tree, 7);
    for name in ["closed", "open"] {
        std::fs::create_dir(tree.join(name)).unwrap();
        std::fs::write(tree.join(name).join("file.txt"), "text").unwrap();
    }
    std::fs::set_permissions(tree.join("closed"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = tree.to_str().unwrap();
    let ran = run_as_nobody(&program, scratch.path(), &["usage", "--json", "-n", "1000", path]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("closed': Permission denied"), "{}", ran.err);
    let found = parsed(&ran);
    let mut python = Command::new("setpriv");
    python.args(["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3"]);
    let expected = oracle(&mut python, &found["now_s"], ("entries", "1000", "1000"), &[&tree]);
    assert_eq!(expected["unread"], 1);
    same("unprivileged", sorted(found), expected);
    let shown = run_as_nobody(&program, scratch.path(), &["usage", path]);
    assert!(String::from_utf8_lossy(&shown.out).contains("' has at least "), "{shown:?}");
    let whole = run_as_nobody(&program, scratch.path(), &["usage", &format!("{path}/closed")]);
    whole.complains(3, &["closed", "Permission denied"]);
    let text = finish(&mut megadir(scratch.path(), &["usage", path]));
    assert_eq!(text.code, Some(0), "root is refused nothing");
}
