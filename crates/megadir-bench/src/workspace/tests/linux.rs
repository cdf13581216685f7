//! Linux: a run killed at any moment leaves nothing behind and touches nothing else.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::super::{MARKER, Workspace, find_leftovers, remove_leftovers};

use super::names;

fn workspace(parent: &Path) -> Workspace {
    Workspace::create(parent).unwrap()
}

/// Abandons a workspace like a killed process: the lock is released, the directory stays.
fn abandon(workspace: Workspace) -> String {
    let name = workspace.name.clone();
    let marker = workspace.path().join(MARKER);
    drop(workspace);
    // A child started by another test holds the lock too, until exec.
    let is_locked = || {
        let marker = std::fs::File::open(&marker).unwrap();
        rustix::fs::flock(&marker, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err()
    };
    while is_locked() {
        std::thread::sleep(Duration::from_millis(5));
    }
    name
}

/// Removes abandoned directories. A child started by another test holds copies of all descriptors, and so of
/// locks, until exec: meanwhile an abandoned directory looks alive.
fn remove_abandoned(parent: &Path) -> crate::Leftovers {
    for _ in 0..100 {
        let found = remove_leftovers(parent, &AtomicU64::new(0)).unwrap();
        if !found.removed.is_empty() || !found.left.is_empty() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("an abandoned directory stays locked");
}

#[test]
fn a_run_removes_its_own_files() {
    let parent = tempfile::tempdir().unwrap();
    let own = workspace(parent.path());
    let data = own.path().join("data0");
    drop(own.data_directory("data0").unwrap());
    for index in 0..3000 {
        std::fs::write(data.join(format!("file{index}")), "x").unwrap();
    }
    own.remove(&AtomicU64::new(0)).unwrap();
    assert!(names(parent.path()).is_empty());
}

#[test]
fn a_living_run_is_left_alone_and_a_dead_one_removed() {
    let parent = tempfile::tempdir().unwrap();
    let living = workspace(parent.path());
    let dead = workspace(parent.path());
    std::fs::write(dead.path().join("left"), "x").unwrap();
    let dead = abandon(dead);
    let found = remove_abandoned(parent.path());
    assert_eq!((found.removed, found.left), (vec![dead], vec![]));
    assert_eq!(names(parent.path()), std::slice::from_ref(&living.name));
}

#[test]
fn links_planted_in_a_directory_are_removed_and_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("precious"), "x").unwrap();
    let parent = tempfile::tempdir().unwrap();
    let own = workspace(parent.path());
    symlink(outside.path(), own.path().join("data0")).unwrap();
    symlink(outside.path().join("precious"), own.path().join("data1")).unwrap();
    abandon(own);
    remove_abandoned(parent.path());
    assert!(names(parent.path()).is_empty());
    assert_eq!(names(outside.path()), ["precious"]);
}

#[test]
fn similar_directories_of_others_stay() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("precious"), "x").unwrap();
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    for name in [
        "megadir-bench-nomark",
        "megadir-bench-badmrk",
        "megadir-bench-copied",
        "megadir-bench-full00.new",
        "megadir-bench-longer-name",
    ] {
        std::fs::create_dir(at(name)).unwrap();
        std::fs::write(at(name).join("precious"), "x").unwrap();
    }
    std::fs::write(at("megadir-bench-badmrk").join(MARKER), "{\"program\":\"other\"}").unwrap();
    // A marker copied from another run's directory names that directory.
    let own = workspace(parent.path());
    std::fs::copy(own.path().join(MARKER), at("megadir-bench-copied").join(MARKER)).unwrap();
    own.remove(&AtomicU64::new(0)).unwrap();
    symlink(outside.path(), at("megadir-bench-linked")).unwrap();
    std::fs::write(at("megadir-bench-afile0"), "x").unwrap();
    // A marker that is a link to a valid marker.
    let other = workspace(outside.path());
    std::fs::create_dir(at(&other.name)).unwrap();
    symlink(other.path().join(MARKER), at(&other.name).join(MARKER)).unwrap();
    let before = names(parent.path());
    let found = remove_leftovers(parent.path(), &AtomicU64::new(0)).unwrap();
    assert!(found.removed.is_empty(), "{:?}", found.removed);
    assert_eq!(found.left.len(), before.len() - 1, "{:?}", found.left);
    assert_eq!(names(parent.path()), before);
    assert!(at("megadir-bench-nomark").join("precious").exists());
    assert!(outside.path().join("precious").exists());
}

/// A very small file system in memory; unmounted on drop.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn make(options: &str) -> Result<Self, String> {
        let at = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        megadir_testkit::mount::run(mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(at.path()))?;
        Ok(Self(at))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = megadir_testkit::mount::run(Command::new("umount").arg("--lazy").arg(self.0.path()));
    }
}

#[test]
fn a_directory_that_cannot_be_finished_is_not_left_behind() {
    // Space for the directory but not for its marker.
    let inodes = megadir_testkit::require!(Tiny::make("nr_inodes=2"));
    let error = Workspace::create(inodes.0.path()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(28), "{error}");
    assert!(names(inodes.0.path()).is_empty());
    // Space for the marker but not for its text.
    let blocks = megadir_testkit::require!(Tiny::make("size=4096"));
    std::fs::write(blocks.0.path().join("full"), [0; 4096]).unwrap();
    let error = Workspace::create(blocks.0.path()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(28), "{error}");
    assert_eq!(names(blocks.0.path()), ["full"]);
}

#[test]
fn a_directory_that_is_mounted_under_our_name_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir_in(parent.path()).unwrap();
    let own = workspace(elsewhere.path());
    std::fs::write(own.path().join("victim"), "precious").unwrap();
    let (path, name) = (own.path().to_owned(), abandon(own));
    let at = parent.path().join(&name);
    std::fs::create_dir(&at).unwrap();
    let mut bind = Command::new("mount");
    megadir_testkit::require!(megadir_testkit::mount::run(bind.arg("--bind").args([&path, &at])));
    let found = remove_leftovers(parent.path(), &AtomicU64::new(0));
    megadir_testkit::mount::run(Command::new("umount").arg("--lazy").arg(&at)).unwrap();
    let found = found.unwrap();
    assert_eq!(found.left, [(name, "something else is mounted there".to_owned())]);
    assert!(found.removed.is_empty());
    assert_eq!(std::fs::read(path.join("victim")).unwrap(), b"precious");
}

#[test]
fn unfinished_directories_are_removed_at_every_stage() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    std::fs::create_dir(at("megadir-bench-aaaaaa.new")).unwrap();
    std::fs::create_dir(at("megadir-bench-bbbbbb.new")).unwrap();
    std::fs::write(at("megadir-bench-bbbbbb.new").join(MARKER), "").unwrap();
    std::fs::create_dir(at("megadir-bench-cccccc.new")).unwrap();
    std::fs::write(at("megadir-bench-cccccc.new").join(MARKER), "{\"program\":\"mega").unwrap();
    // Killed during removal: renamed back, the marker still present.
    let own = workspace(parent.path());
    let name = abandon(own);
    std::fs::rename(at(&name), at(&format!("{name}.new"))).unwrap();
    let found = remove_leftovers(parent.path(), &AtomicU64::new(0)).unwrap();
    assert_eq!(found.removed.len(), 4, "{:?}", found.left);
    assert!(names(parent.path()).is_empty());
}

#[test]
fn dry_run_of_clean_equals_the_removal() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let (living, dead) = (workspace(parent.path()), workspace(parent.path()));
    std::fs::write(dead.path().join("left"), "x").unwrap();
    let dead = abandon(dead);
    for name in [
        "megadir-bench-aaaaaa.new",
        "megadir-bench-full00.new",
        "megadir-bench-marked.new",
        "megadir-bench-nomark",
    ] {
        std::fs::create_dir(at(name)).unwrap();
    }
    std::fs::write(at("megadir-bench-full00.new").join("precious"), "x").unwrap();
    // An incomplete marker and other files: the marker stays too.
    std::fs::write(at("megadir-bench-marked.new").join(MARKER), "{").unwrap();
    std::fs::write(at("megadir-bench-marked.new").join("precious"), "x").unwrap();
    let before = names(parent.path());
    let mut would = find_leftovers(parent.path()).unwrap();
    while would.removed.len() < 2 {
        std::thread::sleep(Duration::from_millis(10));
        would = find_leftovers(parent.path()).unwrap();
    }
    assert_eq!(names(parent.path()), before);
    assert!(at(&dead).join("left").exists());
    let mut removed = vec![dead, "megadir-bench-aaaaaa.new".to_owned()];
    removed.sort();
    assert_eq!((&would.removed, would.left.len()), (&removed, 3));
    assert_eq!(remove_abandoned(parent.path()), would);
    assert_eq!(names(&at("megadir-bench-marked.new")), [MARKER, "precious"]);
    assert!(living.path().join(MARKER).exists());
}
