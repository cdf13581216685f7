//! `--recursive` compared with find(1): loops, depth, width, mounts, unreadable directories.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{Mount, TMPFS};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::support::{fill, have, named, run, run_as_nobody, scratch, set, shell, split, unprivileged};

fn check(directory: &Path, named: &str) {
    let expected = set(split(&shell(directory, &format!("find {named} -mindepth 1 -print0")).quiet(), 0));
    for options in ["-j1", "-j2", "-j7", "--buffer 4KiB", "--sort name"] {
        let found = set(split(&shell(directory, &format!("$M list -r0 {options} {named}")).quiet(), 0));
        assert!(found == expected, "{options}: {} instead of {}", found.len(), expected.len());
    }
}

#[test]
fn trees_are_listed_as_find_does() {
    require!(have("find"));
    let scratch = scratch();
    for (index, names) in Names::ALL.into_iter().enumerate() {
        let directory = scratch.path().join(index.to_string());
        Flat { entries: 200, names, kinds: Kinds::Mixed, seed: 3 }.build(&directory);
        // Another level below one of the directories.
        let flat = Flat { entries: 20, names, kinds: Kinds::Mixed, seed: 4 };
        flat.build(&directory.join("below"));
        flat.build(&directory.join("below").join("deeper"));
    }
    check(scratch.path(), ".");
    check(scratch.path(), "0 1/ ./2//");
}

#[test]
fn symbolic_links_are_listed_and_never_followed() {
    require!(have("find"));
    let scratch = scratch();
    fill(scratch.path(), &["tree/", "tree/a/", "tree/a/b/", "tree/a/b/file", "outside/", "outside/x"]);
    let tree = scratch.path().join("tree");
    for (target, link) in [
        ("..", "a/up"),
        (".", "self"),
        ("a", "link"),
        ("../../outside", "a/out"),
        ("loop", "loop"),
        ("missing", "a/b/broken"),
    ] {
        symlink(target, tree.join(link)).unwrap();
    }
    check(scratch.path(), "tree");
    let links = run(scratch.path(), &["list", "-r", "--type", "l", "tree"]).lines();
    assert_eq!(links.len(), 6);
}

/// Creates a chain of directories with one-byte names, relative to descriptors: its path is longer than the
/// kernel accepts.
fn chain(top: &Path, levels: usize) {
    std::fs::create_dir(top).unwrap();
    let mut at = rustix::fs::open(top, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&at, "d", Mode::from_raw_mode(0o755)).unwrap();
        at = openat(&at, "d", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    }
}

#[test]
fn a_chain_of_ten_thousand_directories_is_walked_to_its_end() {
    let mount = require!(Mount::make(&TMPFS));
    chain(&mount.path().join("chain"), 10_000);
    for threads in ["1", "2"] {
        let count = run(&mount.path(), &["list", "-r", "-c", "-j", threads, "chain"]).quiet();
        assert_eq!(count, b"10000\n");
    }
    let output = run(&mount.path(), &["list", "-r", "chain"]).quiet();
    let mut level = 0;
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        level += 1;
        assert_eq!(line.len(), "chain".len() + 2 * level);
        assert!(line.ends_with(b"/d"));
    }
    assert_eq!(level, 10_000);
}

#[test]
fn a_tree_wider_than_the_queue_is_walked_once() {
    let scratch = scratch();
    // The queue holds 256 directories; here 700 are side by side, with 40 below some of them.
    for index in 0..700 {
        std::fs::create_dir(scratch.path().join(format!("{index}"))).unwrap();
    }
    for index in (0..700).step_by(35) {
        for below in 0..40 {
            fill(scratch.path(), &[&format!("{index}/{below}/"), &format!("{index}/{below}/f")]);
        }
    }
    let expected = 700 + 20 * 40 * 2;
    for threads in ["1", "2", "8"] {
        let lines = run(scratch.path(), &["list", "-r", "-j", threads]).lines();
        assert_eq!(set(lines).len(), expected);
    }
    require!(have("find"));
    check(scratch.path(), ".");
}

#[test]
fn unreadable_directories_are_reported_and_the_rest_is_listed() {
    let scratch = scratch();
    let copy = require!(unprivileged(&scratch));
    fill(
        scratch.path(),
        &[
            "t/",
            "t/a/",
            "t/a/x",
            "t/locked/",
            "t/locked/secret",
            "t/z/",
            "t/z/y",
            "t/r/",
            "t/r/only/",
            "t/r/file",
        ],
    );
    let mode = |path: &str, mode| {
        std::fs::set_permissions(scratch.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("t/locked", 0o700);
    // Readable but not searchable.
    mode("t/r", 0o744);
    let ran = run_as_nobody(&copy, scratch.path(), &["list", "-r", "t"]);
    assert_eq!(ran.code, Some(1));
    let listed = set(split(&ran.out, b'\n'));
    assert_eq!(listed, named(&["t/a", "t/a/x", "t/locked", "t/z", "t/z/y", "t/r", "t/r/only", "t/r/file"]));
    let mut complaints: Vec<_> = ran.err.lines().collect();
    complaints.sort_unstable();
    assert_eq!(
        complaints,
        ["megadir: open 't/locked': Permission denied", "megadir: open 't/r/only': Permission denied"]
    );
    let count = run_as_nobody(&copy, scratch.path(), &["list", "-rc", "t"]);
    assert_eq!((count.code, count.out.as_slice()), (Some(1), &b"8\n"[..]));
    let alone = run_as_nobody(&copy, scratch.path(), &["list", "-r", "t/locked"]);
    alone.complains(3, &["open 't/locked': Permission denied"]);
    // The same without recursion: r-- can be listed.
    let flat = run_as_nobody(&copy, scratch.path(), &["list", "t/r"]);
    assert_eq!(set(split(&flat.out, b'\n')), named(&["only", "file"]));
    assert_eq!((flat.code, flat.err.as_str()), (Some(0), ""));
}

#[test]
fn other_mounts_are_entered_only_on_request() {
    let mount = require!(Mount::make(&TMPFS));
    let root = mount.path();
    fill(&root, &["own/", "own/a", "mnt/", "mnt/hidden-by-the-mount", "bound/"]);
    let below = require!(Mounted::make(&["-t", "tmpfs", "none"], &root.join("mnt")));
    fill(&root, &["mnt/on-the-mount"]);
    let bound = require!(Mounted::make(&["--bind", "own"], &root.join("bound")));
    for threads in ["1", "3"] {
        let ran = run(&root, &["list", "-r", "-j", threads, "."]);
        assert_eq!(set(split(&ran.out, b'\n')), named(&["./own", "./own/a", "./mnt", "./bound"]));
        assert_eq!(ran.code, Some(0));
        let mut messages: Vec<_> = ran.err.lines().collect();
        messages.sort_unstable();
        assert_eq!(
            messages,
            [
                "megadir: './bound' is on another mount, not entered (--cross-mounts enters it)",
                "megadir: './mnt' is on another mount, not entered (--cross-mounts enters it)",
            ]
        );
        let all = run(&root, &["list", "-r", "--cross-mounts", "-j", threads, "."]).lines();
        assert_eq!(
            set(all),
            named(&["./own", "./own/a", "./mnt", "./mnt/on-the-mount", "./bound", "./bound/a"])
        );
    }
    // A mount that is itself an argument is entered.
    assert_eq!(run(&root, &["list", "-r", "mnt"]).lines(), [b"mnt/on-the-mount"]);
    drop((below, bound));
}

/// A mount below another; unmounted when dropped.
struct Mounted(std::path::PathBuf);

impl Mounted {
    fn make(arguments: &[&str], at: &Path) -> Result<Self, String> {
        let parent = at.parent().unwrap();
        megadir_testkit::mount::run(Command::new("mount").args(arguments).arg(at).current_dir(parent))?;
        Ok(Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}
