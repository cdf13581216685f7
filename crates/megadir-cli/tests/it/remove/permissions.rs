//! Entries that may not be removed are reported with the reason, the others are removed, and the exit code is
//! 1.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{BTRFS, EXT4, Mount, run as run_tool};
use megadir_testkit::require;

use crate::support::{Ran, by_std, fill, named, run, run_as_nobody, scratch, unprivileged};

/// Asserts that a dry run failed where the run did, with the same messages.
#[track_caller]
fn foresaw(dry: &Ran, ran: &Ran) {
    let failures = |ran: &Ran| -> BTreeSet<String> {
        let lines = ran.err.lines().filter(|line| line.starts_with("megadir: ") && line.contains(": "));
        lines.filter(|line| line.contains("remove '") || line.contains("open '")).map(str::to_owned).collect()
    };
    assert_eq!((dry.code, failures(dry)), (Some(1), failures(ran)), "{dry:?}, {ran:?}");
    assert!(!failures(ran).is_empty(), "{ran:?}");
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn immutable_and_append_only_files_stay_and_are_reported() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    fill(&at, &["t/", "t/d/", "t/d/immutable", "t/d/f", "t/e/", "t/e/append", "t/g", "t/h/", "t/h/in_fixed"]);
    let attribute =
        |change: &str, name: &str| run_tool(Command::new("chattr").arg(change).arg(at.join(name)));
    require!(attribute("+i", "t/d/immutable"));
    require!(attribute("+a", "t/e/append"));
    require!(attribute("+i", "t/h"));
    let dry = run(&at, &["remove", "--dry-run", "--json", "t"]);
    let ran = run(&at, &["remove", "--yes", "--json", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    foresaw(&dry, &ran);
    for name in ["t/d/immutable", "t/e/append", "t/h/in_fixed"] {
        let line = format!("megadir: remove '{name}': Operation not permitted\n");
        assert!(ran.err.contains(&line), "{line} {ran:?}");
    }
    let result: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((&result["failures"], &result["directories_kept"]), (&3.into(), &4.into()), "{result}");
    assert_eq!(result["failed"].as_array().unwrap().len(), 3);
    assert_eq!(by_std(&at.join("t")), named(&["d", "e", "h"]));
    for (change, name) in [("-i", "t/d/immutable"), ("-a", "t/e/append"), ("-i", "t/h")] {
        attribute(change, name).unwrap();
    }
    assert_eq!(run(&at, &["remove", "--yes", "t"]).code, Some(0));
}

#[test]
fn read_only_mount_keeps_and_reports_every_entry() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    fill(&at, &["t/", "t/f", "t/g"]);
    let remount = |option: &str| run_tool(Command::new("mount").args(["-o", option]).arg(&at));
    require!(remount("remount,ro"));
    let dry = run(&at, &["remove", "--dry-run", "t"]);
    let ran = run(&at, &["remove", "--yes", "t"]);
    foresaw(&dry, &ran);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.err.matches("Read-only file system").count(), 2, "{ran:?}");
    assert_eq!(by_std(&at.join("t")), named(&["f", "g"]));
    remount("remount,rw").unwrap();
}

#[test]
fn a_read_only_snapshot_stays_and_a_dry_run_foresees_it() {
    let mount = require!(Mount::make(&BTRFS));
    let at = mount.path();
    let btrfs = |words: &[&str]| run_tool(Command::new("btrfs").args(words).current_dir(&at));
    require!(btrfs(&["subvolume", "create", "v"]));
    fill(&at, &["v/f", "v/g", "t/", "t/f"]);
    btrfs(&["subvolume", "snapshot", "-r", "v", "t/s"]).unwrap();
    let dry = run(&at, &["remove", "--dry-run", "t"]);
    assert!(dry.out.starts_with(b"would remove 1 entry, "), "{dry:?}");
    let ran = run(&at, &["remove", "--yes", "t"]);
    foresaw(&dry, &ran);
    assert_eq!((ran.code, ran.err.matches("Read-only file system").count()), (Some(1), 2), "{ran:?}");
    assert_eq!((by_std(&at.join("t")), by_std(&at.join("t/s"))), (named(&["s"]), named(&["f", "g"])));
}

#[test]
fn sticky_directory_keeps_files_of_other_users() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    fill(
        at,
        &[
            "t/",
            "t/mine/",
            "t/mine/f",
            "t/mine_too",
            "t/theirs",
            "t/their_dir/",
            "t/their_dir/f",
            "t/closed/",
            "t/closed/f",
        ],
    );
    mode(&at.join("t"), 0o1777);
    for name in ["t/mine", "t/mine/f", "t/mine_too"] {
        chown(at.join(name), Some(65534), Some(65534)).unwrap();
    }
    mode(&at.join("t/closed"), 0o700);
    let dry = run_as_nobody(&megadir, at, &["remove", "--dry-run", "t"]);
    let ran = run_as_nobody(&megadir, at, &["remove", "--yes", "t"]);
    foresaw(&dry, &ran);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("megadir: remove 't/theirs': Operation not permitted\n"), "{ran:?}");
    assert!(ran.err.contains("megadir: remove 't/their_dir/f': Permission denied\n"), "{ran:?}");
    assert!(ran.err.contains("megadir: open 't/closed': Permission denied\n"), "{ran:?}");
    assert_eq!(by_std(&at.join("t")), named(&["theirs", "their_dir", "closed"]));
}

#[test]
fn leftovers_that_cannot_be_searched_are_not_reported_missing() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    fill(at, &["t/", "t/mine/", "t/mine/f"]);
    chown(at.join("t/mine"), Some(65534), Some(65534)).unwrap();
    mode(&at.join("t"), 0o333);
    let ran = run_as_nobody(&megadir, at, &["remove", "--yes", "--detach", "t/gone"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.starts_with("megadir: ") && ran.err.contains("'t/': Permission denied\n"), "{ran:?}");
    // A directory that is there needs no list of the others.
    let ran = run_as_nobody(&megadir, at, &["remove", "--yes", "--detach", "t/mine"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(by_std(&at.join("t")).is_empty());
}

#[test]
fn of_many_kept_entries_the_first_are_reported_and_the_rest_counted() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    std::fs::create_dir(at.join("t")).unwrap();
    megadir_testkit::tree::Flat::plain(1500).build(&at.join("t/d"));
    let ran = run_as_nobody(&megadir, at, &["remove", "--yes", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<_> = ran.err.lines().collect();
    assert_eq!(lines.len(), 12, "{ran:?}");
    assert!(lines[..10].iter().all(|line| line.starts_with("megadir: remove 't/d/")), "{ran:?}");
    assert_eq!(lines[10], "megadir: and 1 490 more: remove: Permission denied (--all-errors prints each)");
    assert!(lines[11].contains("; 1 500 could not be removed; 2 directories stay"), "{ran:?}");
    let ran = run_as_nobody(&megadir, at, &["remove", "--yes", "--all-errors", "t"]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1501), "{ran:?}");
}

#[test]
fn reported_names_cannot_control_the_terminal() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    fill(at, &["t/", "t/\x1b[2J\nmegadir: all is well"]);
    let ran = run_as_nobody(&megadir, at, &["remove", "--yes", "--json", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.err, "megadir: remove 't/\\x1b[2J\\nmegadir: all is well': Permission denied\n");
    let result: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(result["failed"][0]["path"], "t/\x1b[2J\nmegadir: all is well");
    assert!(!ran.out.contains(&0x1b));
}
