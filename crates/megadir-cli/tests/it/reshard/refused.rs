//! Files that cannot be moved stay, valid, and are named in one line.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{EXT4, Mount, XFS, run as run_tool, unmount};
use megadir_testkit::require;

use super::support::{files, make};
use crate::support::{fill, root, run, run_as_nobody, scratch, unprivileged};

fn tool(words: &[&str], at: &Path) -> Result<(), String> {
    run_tool(Command::new(words[0]).args(&words[1..]).arg(at))
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let scratch = scratch();
    let at = scratch.path();
    make(at, 3, "git");
    for (words, message) in [
        (&["--from", "git", "--to", "digest:2", "t"][..], "could belong to"),
        (&["--from", "git", "--to", "git", "t"], "are the same layout"),
        (&["--from", "git", "--to", "digest:2", "--into", "t", "t"], "omit --into"),
        (&["--from", "flat", "--to", "ccache", "--into", ".", "t"], "only counted in place"),
        (&["--from", "git", "--to", "flat", "--exclude", "a/b", "t"], "no '/'"),
        (&["--from", "git", "--to", "flat", "--exclude", "", "t"], "empty glob"),
        (&["--to", "flat", "t"], "--from git"),
        (&["--from", "git", "--to", "flat", "--offline", "--follow", "t"], "--follow"),
    ] {
        for way in ["--yes", "--dry-run"] {
            run(at, &[&["reshard", way], words].concat()).complains(2, &[message]);
        }
    }
    let quiet = ["--from", "git", "--to", "flat", "--until-quiet", "1s", "t"];
    for (more, message) in
        [("--yes", "--follow"), ("--dry-run", "--until-quiet"), ("--offline", "--until-quiet")]
    {
        run(at, &[&["reshard", more][..], &quiet].concat()).complains(2, &[message]);
    }
    run(at, &["reshard", "--to", "flat", "none"]).complains(3, &["none"]);
    assert_eq!(files(&at.join("t")).len(), 3);
}

#[test]
fn files_do_not_go_to_another_mount() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/abcdef"]);
    for way in ["--dry-run", "--yes"] {
        let ran = run(at, &["reshard", way, "--from", "flat", "--to", "prefix:2", "--into", "/proc", "t"]);
        ran.complains(2, &["reshard into '/proc': on another file system or mount"]);
    }
    assert!(at.join("t/abcdef").is_file());
}

#[test]
fn a_directory_above_may_receive_the_files_if_none_comes_back() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["ab/", "ab/abcdef", "ab/xyz", "ab/cd/"]);
    for (to, directory) in [("prefix:2", "ab"), ("prefix:2/2", "ab/cd")] {
        for way in ["--yes", "--dry-run"] {
            let words = ["reshard", way, "--from", "flat", "--to", to, "--into", ".", directory];
            let message = format!("'{directory}' has the path of a directory of {to} in it");
            run(at, &words).complains(2, &["reshard into '.': ", &message, "name another directory"]);
        }
    }
    run(at, &["reshard", "--quiet", "--from", "flat", "--to", "digest:2+label=x", "--into", ".", "ab"])
        .quiet();
    assert!(at.join("xbe/abcdef").is_file() && !at.join("ab/xyz").exists());
}

#[test]
fn a_wrong_old_layout_and_a_link_to_replace_are_named() {
    let scratch = scratch();
    let at = scratch.path();
    make(at, 30, "digest:2");
    let ran = run(at, &["reshard", "--yes", "--from", "suffix:2/2", "--to", "digest:1", "t"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("no file lies where suffix:2/2 has it; 'megadir layout' finds"), "{ran:?}");
    std::os::unix::fs::symlink("t", at.join("link")).unwrap();
    let words = ["reshard", "--yes", "--renew", "--from", "flat", "--to", "digest:2", "link"];
    run(at, &words).complains(2, &["link", "name the directory that it leads to"]);
    assert_eq!(files(&at.join("t")).len(), 30);
}

#[test]
fn files_that_a_layout_with_shortened_names_could_have_are_not_called_in_place() {
    let scratch = scratch();
    let at = scratch.path();
    make(at, 600, "digest:2");
    run(at, &["reshard", "--yes", "--to", "git", "t"]).complains(2, &["could belong to digest:2"]);
    make(&at.join("t"), 600, "git");
    let ran = run(at, &["reshard", "--yes", "--to", "git", "t/t"]);
    assert!(ran.code == Some(0) && ran.err.contains(" sampled files is where git puts it\n"), "{ran:?}");
}

#[test]
fn immutable_files_and_taken_paths_stay() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    fill(&at, &["t/", "t/abcdef", "t/abxyz", "t/cdefgh", "t/ab/", "t/ab/abxyz"]);
    require!(tool(&["chattr", "+i"], &at.join("t/cdefgh")));
    let ran = run(&at, &["reshard", "--json", "--from", "flat", "--to", "prefix:2", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 2, "{ran:?}");
    assert!(ran.err.contains("megadir: rename 't/cdefgh': Operation not permitted\n"), "{ran:?}");
    assert!(ran.err.contains("megadir: rename 't/abxyz': another entry has its new path\n"), "{ran:?}");
    let report: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let counts = ["moved", "conflicts", "failures"].map(|key| report[key].as_u64().unwrap());
    assert_eq!((counts, report["failed"].as_array().unwrap().len()), ([1, 1, 1], 2), "{report}");
    assert!(at.join("t/ab/abcdef").exists() && at.join("t/cdefgh").exists() && at.join("t/abxyz").exists());
    tool(&["chattr", "-i"], &at.join("t/cdefgh")).unwrap();
}

#[test]
fn another_project_or_mount_is_named() {
    // ext4 has projects only if the kernel was built with quotas.
    let mount = require!(Mount::make(&XFS));
    let at = mount.path();
    fill(&at, &["t/", "t/abcdef", "t/cdefgh", "t/ab/", "t/cd/"]);
    require!(tool(&["chattr", "+P", "-p", "5"], &at.join("t/ab")));
    tool(&["mount", "-t", "tmpfs", "none"], &at.join("t/cd")).unwrap();
    let ran = run(&at, &["reshard", "--from", "flat", "--to", "prefix:2", "t"]);
    unmount(&at.join("t/cd")).unwrap();
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 3), "{ran:?}");
    assert!(ran.err.contains(
        "megadir: rename 't/abcdef': the new directory is on another mount, or of another project"
    ));
    assert!(ran.err.contains("megadir: create 't/cd': another file system is mounted there"), "{ran:?}");
    assert!(at.join("t/abcdef").exists() && at.join("t/cdefgh").exists());
}

#[test]
fn a_full_file_system_leaves_a_valid_tree_and_the_same_command_finishes() {
    require!(root());
    let scratch = scratch();
    let at = scratch.path().join("full");
    std::fs::create_dir(&at).unwrap();
    let inodes = |option: &str| tool(&["mount", "-t", "tmpfs", "-o", option, "none"], &at);
    inodes("nr_inodes=310").unwrap();
    make(&at, 300, "flat");
    let before: Vec<u64> = files(&at.join("t")).into_keys().collect();
    let ran = run(&at, &["reshard", "--yes", "--to", "digest:1", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("No space left on device"), "{ran:?}");
    let found = files(&at.join("t"));
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), before);
    let moved = found.values().filter(|(name, path)| name != path).count();
    assert!(moved > 0 && moved < 300, "{moved}");
    inodes("remount,nr_inodes=1000").unwrap();
    let ran = run(&at, &["reshard", "--yes", "--to", "digest:1", "t"]);
    let layout: megadir::layout::Layout = "digest:1".parse().unwrap();
    let found = files(&at.join("t"));
    unmount(&at).unwrap();
    assert_eq!((ran.code, found.len()), (Some(0), 300), "{ran:?}");
    for (name, path) in found.values() {
        assert_eq!(layout.path_for(name.as_bytes()).unwrap(), Path::new(path));
    }
}

#[test]
fn without_permission_nothing_is_moved() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    make(at, 5, "flat");
    std::fs::set_permissions(at.join("t"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = run_as_nobody(&megadir, at, &["reshard", "--to", "digest:1", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("Permission denied") && ran.err.contains("stay because the system refused"),
        "{ran:?}"
    );
    assert!(files(&at.join("t")).values().all(|(name, path)| name == path));
}

#[test]
fn the_files_that_a_directory_keeps_back_are_counted() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    fill(at, &["t/", "t/abc1", "t/abc2", "t/cdef", "t/ab/"]);
    std::fs::set_permissions(at.join("t/ab"), std::fs::Permissions::from_mode(0o700)).unwrap();
    chown(at.join("t"), Some(65534), Some(65534)).unwrap();
    let reshard = |words: &[&str]| run_as_nobody(&megadir, at, &[&["reshard"], words].concat());
    let ran = reshard(&["--from", "flat", "--to", "prefix:2", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("megadir: open 't/ab': Permission denied; 2 files stay\n"), "{ran:?}");
    assert!(ran.err.contains("moved 1 file from") && ran.err.contains("2 files stay because"), "{ran:?}");
    let ran = reshard(&["--yes", "--json", "--from", "prefix:2", "--to", "flat", "t"]);
    assert!(ran.err.contains("megadir: open 't/ab': Permission denied; files in it stay\n"), "{ran:?}");
    let report: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let counts = ["moved", "failures", "unread_directories"].map(|key| report[key].as_u64().unwrap());
    assert_eq!((ran.code, counts), (Some(1), [1, 1, 1]), "{report}");
    let ran = reshard(&["--yes", "--from", "prefix:2", "--to", "digest:2", "t"]);
    assert!(ran.err.contains("; files stay in 1 directory that could not be read\n"), "{ran:?}");
}

#[test]
fn who_can_make_the_directories_is_named() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    fill(at, &["t/", "t/abc1", "t/abc2"]);
    std::fs::set_permissions(at.join("t"), std::fs::Permissions::from_mode(0o777)).unwrap();
    for (user, hint) in [(0, "belong to user 0: run as this user"), (65534, "have group 0: run as a member")]
    {
        chown(at.join("t"), Some(user), Some(0)).unwrap();
        let ran = run_as_nobody(&megadir, at, &["reshard", "--from", "flat", "--to", "prefix:2", "t"]);
        assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 2), "{ran:?}");
        let line = format!("megadir: create 't/ab': the new directory must {hint} or as root, or move ");
        assert!(ran.err.contains(&line) && ran.err.contains("(--into); 2 files stay\n"), "{ran:?}");
    }
}
