//! Entries that cannot be removed are reported and stay; everything else is removed.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use megadir::ErrorKind;
use megadir::remove::{Counts, Failures, RemoveOptions, Removed};
use megadir_testkit::mount::{self, Mount, run, unmount};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;
use rustix::fs::IFlags;

use crate::support::{empty, options, remove};

/// Removes a tree; returns the reports as lines.
fn failing(path: &Path, workers: usize) -> (Removed, Vec<String>) {
    let failures = Failures::new(100);
    let on_failure = |failure| failures.add(failure);
    let removed = remove(path, &RemoveOptions { on_failure: &on_failure, ..options(workers) }).unwrap();
    let mut lines: Vec<_> = failures.take().iter().map(ToString::to_string).collect();
    lines.sort();
    assert_eq!(removed.counts.failures, lines.len() as u64);
    assert_eq!(removed.complete, lines.is_empty());
    (removed, lines)
}

/// Creates files `a/b/c/N` and `a/N` below a directory.
fn tree(root: &Path) {
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    for index in 0..20 {
        fs::write(root.join(format!("a/b/c/{index}")), "x").unwrap();
        fs::write(root.join(format!("a/{index}")), "x").unwrap();
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn immutable_and_append_only_files_stay() {
    let mount = require!(Mount::make(&mount::EXT4));
    for (workers, flag) in [(1, IFlags::IMMUTABLE), (2, IFlags::APPEND)] {
        let root = mount.path().join("root");
        tree(&root);
        let file = File::open(root.join("a/b/c/7")).unwrap();
        let add = |file: &File, flag| {
            let before = rustix::fs::ioctl_getflags(file).unwrap();
            rustix::fs::ioctl_setflags(file, before | flag).unwrap();
            before
        };
        let before = add(&file, flag);
        let (removed, failures) = failing(&root, workers);
        let expected = format!("remove '{}': Operation not permitted", root.join("a/b/c/7").display());
        assert_eq!(failures, [expected]);
        let counts = Counts { entries: 39, failures: 1, directories_kept: 4, ..Counts::default() };
        assert_eq!(removed.counts, counts);
        rustix::fs::ioctl_setflags(&file, before).unwrap();
        // A directory without write permission keeps its entries.
        let directory = File::open(root.join("a/b")).unwrap();
        let before = add(&directory, IFlags::IMMUTABLE);
        let (_, failures) = failing(&root, workers);
        let expected = format!("remove '{}': Operation not permitted", root.join("a/b/c").display());
        assert_eq!(failures, [expected]);
        rustix::fs::ioctl_setflags(&directory, before).unwrap();
        let (removed, failures) = failing(&root, workers);
        assert_eq!((removed.counts.directories, failures.len()), (4, 0));
        assert!(!root.exists());
    }
}

#[test]
fn entries_without_permission_stay() {
    let scratch = tempfile::tempdir().unwrap();
    mode(scratch.path(), 0o777);
    let root = scratch.path().join("root");
    tree(&root);
    for path in ["", "a", "a/b", "a/b/c"] {
        mode(&root.join(path), 0o777);
    }
    // Sticky: files of other users stay, even though the directory is writable.
    mode(&root.join("a"), 0o1777);
    // Cannot be listed.
    let closed = root.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("file"), "x").unwrap();
    mode(&closed, 0o700);
    // Cannot be listed either, and is empty.
    let shut = root.join("shut");
    fs::create_dir(&shut).unwrap();
    mode(&shut, 0);
    let (removed, failures) = unprivileged(|| failing(&root, 2));
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // All entries of b can be removed, including c, but not b itself.
    let counts =
        Counts { entries: 20, directories: 2, failures: 22, directories_kept: 2, ..Counts::default() };
    assert_eq!(removed.counts, counts, "{failures:#?}");
    assert!(!shut.exists());
    assert!(failures.contains(&format!("open '{}': Permission denied", closed.display())), "{failures:#?}");
    let sticky = format!("remove '{}': Operation not permitted", root.join("a/b").display());
    assert!(failures.contains(&sticky), "{failures:#?}");
    let refused = failures.iter().filter(|line| line.ends_with("Operation not permitted")).count();
    assert_eq!(refused, 21, "20 files and b, all in the sticky directory");
}

#[test]
fn a_mount_that_is_read_only_loses_nothing() {
    let mount = require!(Mount::make(&mount::XFS));
    let root = mount.path().join("root");
    tree(&root);
    run(Command::new("mount").args(["-o", "remount,ro"]).arg(mount.path())).unwrap();
    let (removed, failures) = failing(&root, 2);
    assert_eq!(removed.counts, Counts { failures: 40, directories_kept: 4, ..Counts::default() });
    assert!(failures.iter().all(|line| line.ends_with(": Read-only file system")), "{failures:#?}");
    run(Command::new("mount").args(["-o", "remount,rw"]).arg(mount.path())).unwrap();
    assert!(failing(&root, 2).1.is_empty());
}

/// A bind mount, unmounted on drop.
struct Bind<'a>(&'a Path);

impl<'a> Bind<'a> {
    fn new(from: &Path, to: &'a Path) -> Result<Self, String> {
        run(Command::new("mount").arg("--bind").arg(from).arg(to)).map(|()| Self(to))
    }
}

impl Drop for Bind<'_> {
    fn drop(&mut self) {
        unmount(self.0).unwrap();
    }
}

#[test]
fn mounts_below_are_entered_only_on_request() {
    let scratch = tempfile::tempdir().unwrap();
    let (root, outside) = (scratch.path().join("root"), scratch.path().join("outside"));
    for directory in [&root, &outside] {
        tree(directory);
    }
    fs::create_dir(root.join("a/mount")).unwrap();
    fs::write(root.join("a/file"), "x").unwrap();
    let (at, on_file) = (root.join("a/mount"), root.join("a/file"));
    // On the same file system: only the mount ID differs.
    let bound = require!(Bind::new(&outside, &at));
    let file_bound = require!(Bind::new(&outside.join("a/1"), &on_file));
    for workers in [1, 2] {
        let (removed, failures) = failing(&root, workers);
        let busy = format!("remove '{}': Device or resource busy", on_file.display());
        let mounted =
            format!("enter '{}': another file system is mounted there and is not entered", at.display());
        assert_eq!(failures, [mounted, busy]);
        assert_eq!(removed.counts.mounts, 1);
        assert_eq!(fs::read_dir(outside.join("a")).unwrap().count(), 21);
    }
    drop(file_bound);
    let parent = megadir::Dir::open(at.parent().unwrap()).unwrap();
    let refused =
        megadir::remove::remove_tree(&parent, b"mount", &options(1), &megadir::remove::Progress::new());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::MountPoint);
    // Its contents may be removed, as requested.
    assert_eq!(empty(&at, &options(2)).unwrap().counts.entries, 40);
    tree(&outside);
    let failures = Failures::new(10);
    let on_failure = |failure| failures.add(failure);
    let cross = RemoveOptions { cross_mounts: true, on_failure: &on_failure, ..options(2) };
    let removed = remove(&root, &cross).unwrap();
    let failures: Vec<_> = failures.take().iter().map(ToString::to_string).collect();
    assert_eq!(failures, [format!("remove '{}': Device or resource busy", at.display())]);
    assert_eq!((removed.counts.entries, removed.counts.directories_kept), (41, 2));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    drop(bound);
    assert!(failing(&root, 1).1.is_empty());
}

#[test]
fn invalid_and_missing_names_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let parent = megadir::Dir::open(scratch.path()).unwrap();
    fs::create_dir_all(scratch.path().join("a/b")).unwrap();
    let refused = |name: &[u8], workers| {
        let progress = megadir::remove::Progress::new();
        megadir::remove::remove_tree(&parent, name, &options(workers), &progress).unwrap_err().kind()
    };
    for name in [&b""[..], b".", b"..", b"a/b", b"/", b"a/", b"a\0b"] {
        assert_eq!(refused(name, 1), ErrorKind::BadOption, "{name:?}");
    }
    for workers in [0, megadir::remove::WORKERS_MAX + 1] {
        assert_eq!(refused(b"a", workers), ErrorKind::BadOption);
    }
    assert_eq!(refused(b"none", 1), ErrorKind::NotFound);
    assert!(scratch.path().join("a/b").exists());
}

#[test]
fn a_subvolume_is_removed_like_a_directory() {
    let mount = require!(Mount::make(&mount::BTRFS));
    let root = mount.path().join("root");
    tree(&root);
    let sub = root.join("a/sub");
    require!(run(Command::new("btrfs").args(["subvolume", "create"]).arg(&sub)));
    fs::write(sub.join("file"), "x").unwrap();
    let frozen = root.join("a/frozen");
    require!(run(Command::new("btrfs").args(["subvolume", "snapshot", "-r"]).args([&sub, &frozen])));
    let (removed, failures) = failing(&root, 2);
    assert_eq!(failures, [format!("remove '{}': Read-only file system", frozen.join("file").display())]);
    assert_eq!((removed.counts.entries, removed.counts.directories_kept), (41, 3));
    assert!(!sub.exists());
}
