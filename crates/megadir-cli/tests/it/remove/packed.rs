//! `--packed`: what a pack holds goes, and nothing else.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::mount::{Mount, Recipe};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use super::witness::scratch_in_memory;
use crate::support::{
    Names, Ran, megadir, named, run, run_as_nobody, scratch, set, shell, split, unprivileged,
};

/// Six files in two directories, one with two names, a link and an empty directory, packed as `p`.
fn packed(at: &Path) {
    fs::create_dir_all(at.join("s/below/empty")).unwrap();
    for file in ["one", "two", "three", "below/four", "below/five", "below/six"] {
        fs::write(at.join("s").join(file), format!("{file}\n").repeat(700)).unwrap();
    }
    fs::hard_link(at.join("s/one"), at.join("s/below/second")).unwrap();
    symlink("one", at.join("s/link")).unwrap();
    run(at, &["pack", "create", "--quiet", "s", "p"]).quiet();
}

fn entries(at: &Path) -> Names {
    set(run(at, &["list", "-r", "s"]).lines())
}

fn json(ran: &Ran) -> serde_json::Value {
    serde_json::from_slice(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_dry_run_and_the_run_name_the_entries_that_stay_and_have_the_same_numbers() {
    let scratch = scratch();
    let at = scratch.path();
    packed(at);
    fs::write(at.join("s/two"), "changed").unwrap();
    fs::write(at.join("s/below/new"), "new").unwrap();
    let before = entries(at);
    let words = ["remove", "--packed", "p", "s"];
    let dry = run(at, &[&words[..], &["--dry-run"]].concat());
    let dry_json = json(&run(at, &[&words[..], &["--dry-run", "--json"]].concat()));
    let listed = run(at, &[&words[..], &["--dry-run", "--list"]].concat());
    assert_eq!(entries(at), before, "a dry run removes nothing");
    let ran = run(at, &[&words[..], &["--log", "log"]].concat());
    assert_eq!(entries(at), named(&["s/two", "s/below", "s/below/new"]), "{ran:?}");
    let stay = "; 1 directory stays because it is not empty; 2 entries stay: 1 changed since it was packed, 1 not in the pack\n";
    let text = String::from_utf8(dry.out.clone()).unwrap();
    assert!(text.starts_with("would remove 8 entries (1 directory), ") && text.ends_with(stay), "{dry:?}");
    assert!(ran.err.contains("megadir: removed 8 entries (1 directory), "), "{ran:?}");
    assert!(ran.err.ends_with(stay) && (ran.code, dry.code) == (Some(0), Some(0)), "{ran:?}");
    for line in
        ["'s/two' stays: it changed since it was packed", "'s/below/new' stays: it is not in the pack"]
    {
        assert!(ran.err.contains(line) && dry.err.contains(line), "{line}: {ran:?}");
    }
    let (removed, directories) = (&dry_json["removed"], &dry_json["directories"]);
    assert_eq!((removed, directories), (&8.into(), &1.into()), "{dry_json}");
    for (key, expected) in [("stay", 2), ("changed", 1), ("not_packed", 1), ("damaged", 0), ("problems", 0)] {
        assert_eq!(dry_json["packed"][key], expected, "{key}: {dry_json}");
    }
    assert_eq!(dry_json["packed"]["stayed"][0]["path"], "s/two", "{dry_json}");
    let removed_paths: Names = before.difference(&entries(at)).cloned().collect();
    assert_eq!(set(split(&listed.out, b'\n')), removed_paths);
    // A log has each entry before it goes, and takes the directory that stays back.
    let log = fs::read_to_string(at.join("log")).unwrap();
    assert!(
        removed_paths.iter().all(|path| log.contains(&format!("{:?}", String::from_utf8_lossy(path)))),
        "{log}"
    );
    assert!(log.contains("it is not empty") && !log.contains("s/two"), "{log}");
    let again = run(at, &words);
    assert!(again.code == Some(0) && again.err.contains("removed 0 entries, "), "{again:?}");
    run(at, &["remove", "--quiet", "--packed", "p", "s"]).quiet();
}

#[test]
fn the_directory_is_the_one_in_the_index_unless_another_path_is_given() {
    let scratch = scratch();
    let at = scratch.path();
    packed(at);
    let ran = run(at, &["remove", "--yes", "--packed", "p/index.parquet"]);
    assert_eq!((ran.code, entries(at)), (Some(0), Names::new()), "{ran:?}");
    assert!(at.join("s").is_dir(), "the directory itself stays");
    run(at, &["pack", "extract", "--quiet", "p", "back"]).quiet();
    assert_eq!(fs::read_to_string(at.join("back/below/six")).unwrap(), "below/six\n".repeat(700));
    fs::remove_dir(at.join("s")).unwrap();
    run(at, &["remove", "--packed", "p"]).complains(3, &["No such file or directory"]);
    // Extracted files are others than those that were packed.
    fs::rename(at.join("back"), at.join("s")).unwrap();
    run(at, &["remove", "--packed", "p"]).complains(2, &["the pack was made from another directory"]);
}

#[test]
fn a_damaged_pack_keeps_its_files_and_the_code_is_1() {
    let scratch = scratch();
    let at = scratch.path();
    packed(at);
    let tar = fs::read(at.join("p/pack-00000.tar")).unwrap();
    let place = tar.windows(18).position(|bytes| bytes == b"below/five\nbelow/f").unwrap();
    fs::File::options()
        .write(true)
        .open(at.join("p/pack-00000.tar"))
        .unwrap()
        .write_all_at(b"X", place as u64)
        .unwrap();
    let words = ["remove", "--packed", "p", "s"];
    let dry = run(at, &[&words[..], &["--dry-run"]].concat());
    let ran = run(at, &words);
    assert_eq!((ran.code, dry.code), (Some(1), Some(1)), "{ran:?}");
    assert_eq!(entries(at), named(&["s/below", "s/below/five"]), "{ran:?}");
    for line in [
        "verify 'below/five': its contents are not those that were packed",
        "'s/below/five' stays: the pack holds it damaged",
        "1 entry stays: 1 damaged in the pack",
    ] {
        assert!(ran.err.contains(line), "{line}: {ran:?}");
    }
    fs::remove_file(at.join("p/pack-00000.tar")).unwrap();
    let ran = run(at, &["remove", "--json", "--packed", "p", "s"]);
    let result = json(&ran);
    assert_eq!((ran.code, &result["removed"]), (Some(1), &0.into()), "{ran:?}");
    assert!(result["packed"]["problems"].as_u64() > Some(1), "{result}");
    fs::remove_file(at.join("p/index.parquet")).unwrap();
    run(at, &words).complains(3, &["it has no index.parquet"]);
    assert_eq!(entries(at), named(&["s/below", "s/below/five"]));
}

#[test]
fn options_that_contradict_a_pack_are_refused_in_one_line() {
    let scratch = scratch();
    let at = scratch.path();
    packed(at);
    fs::create_dir(at.join("other")).unwrap();
    symlink("s", at.join("to-s")).unwrap();
    let before = entries(at);
    for (words, message) in [
        (&["--match", "one", "s"][..], "cannot be used with"),
        (&["--older-than", "1d", "s"], "cannot be used with"),
        (&["--keep-within", "5 files", "s"], "cannot be used with"),
        (&["--keep-newest", "1", "s"], "cannot be used with"),
        (&["--contents", "s"], "cannot be used with"),
        (&["--contents", "--renew", "s"], "cannot be used with"),
        (&["--renew", "s"], "cannot be used with"),
        (&["--detach", "s"], "cannot be used with"),
        (&["--cross-mounts", "s"], "cannot be used with"),
        (&["--files0-from", "list"], "cannot be used with"),
        (&["--engine", "mpi", "s"], "leave --engine out"),
        (&["s", "other"], "give one directory"),
        (&["s/one"], "is not a directory"),
        (&["to-s"], "is not a directory"),
        (&["other"], "the pack was made from another directory"),
        (&["."], "'.'"),
        (&["--log", "s/log", "s"], "the log lies below it"),
    ] {
        let ran = run(at, &[&["remove", "--yes", "--packed", "p"], words].concat());
        assert_eq!((ran.code, entries(at)), (Some(2), before.clone()), "{words:?}: {ran:?}");
        assert!(ran.err.contains(message) && ran.err.lines().count() == 1, "{words:?}: {ran:?}");
    }
    let within = run(&at.join("s/below"), &["remove", "--yes", "--packed", "../../p", "../../s"]);
    within.complains(2, &["current directory"]);
    assert_eq!(entries(at), before);
    run(at, &["remove", "--yes", "--packed", "nothing", "s"]).complains(3, &["nothing"]);
}

#[test]
fn a_pack_in_the_directory_stays_with_its_directory() {
    let scratch = scratch();
    let at = scratch.path();
    packed(at);
    fs::rename(at.join("p"), at.join("s/below/p")).unwrap();
    let ran = run(at, &["remove", "--packed", "s/below/p"]);
    let left = ["s/below", "s/below/p", "s/below/p/index.parquet", "s/below/p/pack-00000.tar"];
    assert_eq!((ran.code, entries(at)), (Some(0), named(&left)), "{ran:?}");
    run(at, &["pack", "verify", "--quiet", "s/below/p"]).quiet();
}

#[test]
fn many_packed_entries_are_removed_only_after_a_yes() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("s")).unwrap();
    (0..1200).for_each(|file| fs::write(at.join(format!("s/{file}")), "").unwrap());
    run(at, &["pack", "create", "--quiet", "s", "p"]).quiet();
    fs::write(at.join("s/new"), "").unwrap();
    run(at, &["remove", "--quiet", "--packed", "p", "s"]).complains(2, &["there is no terminal to ask on"]);
    let answered = |answer: &str| {
        let line =
            format!("(printf '{answer}\\n'; sleep 1) | script -qec \"$M remove --packed p s\" /dev/null");
        String::from_utf8(shell(at, &line).out).unwrap().replace("\r\n", "\n").replace("\n  ", " ")
    };
    let shown = answered("n");
    let question = "megadir: remove 1 200 entries (0 bytes on disk) in 's' that 'p' holds unchanged; 1 entry stays: 1 not in the pack; the directory itself stays? [y/N]";
    assert!(shown.contains(question), "{shown}");
    assert_eq!(entries(at).len(), 1201);
    answered("y");
    assert_eq!(entries(at), named(&["s/new"]));
}

#[test]
fn entries_that_may_not_be_read_or_removed_are_named() {
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    let at = scratch.path();
    packed(at);
    fs::create_dir(at.join("s/closed")).unwrap();
    fs::set_permissions(at.join("s/closed"), fs::Permissions::from_mode(0o700)).unwrap();
    for path in ["p", "p/index.parquet", "p/pack-00000.tar", "s", "s/below"] {
        fs::set_permissions(at.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let before = entries(at);
    let words = ["remove", "--packed", "p", "s"];
    let dry = run_as_nobody(&program, at, &[&words[..], &["--dry-run"]].concat());
    let ran = run_as_nobody(&program, at, &words);
    assert_eq!((ran.code, dry.code, entries(at)), (Some(1), Some(1), before), "{ran:?}");
    for line in
        ["open 's/closed': Permission denied", "remove 's/one': Permission denied", "could not be read"]
    {
        assert!(ran.err.contains(line), "{line}: {ran:?}");
    }
    let text = String::from_utf8(dry.out).unwrap();
    assert!(text.starts_with("would remove 0 entries, "), "{text}");
}

/// Each mount has another device number, and XFS on a loop device another `f_fsid`.
#[test]
fn unchanged_files_are_known_after_a_remount() {
    for name in ["xfs", "btrfs"] {
        let mut mount = require!(Mount::make(&Recipe::of_lab(name)));
        let scratch = scratch();
        let (at, tree) = (scratch.path(), mount.path().join("s"));
        fs::create_dir_all(tree.join("below")).unwrap();
        for file in ["one", "two", "below/three", "below/four"] {
            fs::write(tree.join(file), format!("{file}\n").repeat(300)).unwrap();
        }
        let words = ["pack", "create", "--quiet", tree.to_str().unwrap(), "p"];
        run(at, &words).quiet();
        mount.remount(|_| Ok(())).unwrap();
        // The same size and time of modification.
        let modified = fs::metadata(tree.join("two")).unwrap().modified().unwrap();
        let file = fs::File::options().write(true).open(tree.join("two")).unwrap();
        file.write_all_at(b"TWO", 0).unwrap();
        file.set_modified(modified).unwrap();
        drop(file);
        let dry = json(&run(at, &["remove", "--json", "--dry-run", "--packed", "p"]));
        let ran = run(at, &["remove", "--yes", "--packed", "p"]);
        assert_eq!((ran.code, &dry["removed"]), (Some(0), &4.into()), "{name}: {ran:?}");
        assert!(ran.err.contains("1 entry stays: 1 changed since it was packed"), "{name}: {ran:?}");
        let left: Vec<_> = fs::read_dir(&tree).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["two"], "{name}: {ran:?}");
    }
}

#[test]
fn killed_removal_of_packed_entries_resumes() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let words = ["remove", "--yes", "--threads", "2", "--log", "log", "--packed", "p", "s"];
    let (mut midway, mut whole) = (0, Names::new());
    let command = || {
        for path in ["s", "p"] {
            let _ = fs::remove_dir_all(at.join(path));
        }
        let _ = fs::remove_file(at.join("log"));
        packed(at);
        fs::write(at.join("s/new"), "new").unwrap();
        megadir(at, &words)
    };
    let look = |call: &str| {
        let left = entries(at);
        if whole.is_empty() {
            whole = left.clone();
        }
        let log = fs::read_to_string(at.join("log")).unwrap_or_default();
        for path in whole.difference(&left) {
            assert!(log.contains(&*String::from_utf8_lossy(path)), "before {call}: {log}");
        }
        midway += u32::from(left.len() > 1 && left.len() < whole.len());
        let verified = run(at, &["pack", "verify", "--quiet", "p"]);
        assert_eq!(verified.code, Some(0), "before {call}: {verified:?}");
        let again = run(at, &words);
        assert_eq!((again.code, entries(at)), (Some(0), named(&["s/new"])), "before {call}: {again:?}");
    };
    before_each_call(CHANGING_CALLS, if full() { 1 } else { 2 }, command, look);
    assert!(midway > 1, "killed {midway} times while it removed");
}
