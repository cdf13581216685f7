//! Windows: killed at any moment, nothing is left behind and nothing else is touched.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::super::{MARKER, Workspace, find_leftovers, remove_leftovers};

const CHILD: &str = "MEGADIR_TEST_WORKSPACE_IN";

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Gives a workspace up as a killed process would: the lock goes, the directory stays.
fn abandon(workspace: Workspace) -> String {
    workspace.close().name
}

fn beat() -> AtomicU64 {
    AtomicU64::new(0)
}

#[test]
fn a_run_removes_what_it_made_and_a_living_one_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let own = Workspace::create(parent.path(), 1, 1).unwrap();
    drop(own.data_directory("data0").unwrap());
    for index in 0..100 {
        std::fs::write(own.path().join("data0").join(format!("file{index}")), "x").unwrap();
    }
    let living = Workspace::create(parent.path(), 1, 2).unwrap();
    let dead = Workspace::create(parent.path(), 1, 3).unwrap();
    std::fs::create_dir(dead.path().join("below")).unwrap();
    std::fs::write(dead.path().join("below").join("left"), "x").unwrap();
    let dead = abandon(dead);
    let would = find_leftovers(parent.path()).unwrap();
    assert_eq!(names(parent.path()).len(), 3, "nothing went yet");
    let found = remove_leftovers(parent.path(), &beat()).unwrap();
    assert_eq!((&found.removed, &found.left), (&vec![dead], &vec![]));
    assert_eq!(found, would);
    drop(own.set_aside_data_directory("data0", "used1").unwrap());
    assert_eq!(names(own.path()), [MARKER, "data0", "used1"]);
    drop(own.renew_data_directory("used1", &beat()).unwrap());
    own.remove(&beat()).unwrap();
    assert_eq!(names(parent.path()), std::slice::from_ref(&living.name));
}

#[test]
fn what_only_looks_like_ours_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let full = [
        "megadir-bench-nomark0123456789",
        "megadir-bench-badmrk0123456789",
        "megadir-bench-cutoff0123456789",
        "megadir-bench-copied0123456789",
    ];
    for name in full.into_iter().chain(["megadir-bench-photos", "megadir-bench-longer-name-than-ours"]) {
        std::fs::create_dir(at(name)).unwrap();
        std::fs::write(at(name).join("precious"), "x").unwrap();
    }
    std::fs::write(at("megadir-bench-badmrk0123456789").join(MARKER), "{\"program\":\"other\"}").unwrap();
    // Nothing is made in a directory before its marker is whole.
    std::fs::write(at("megadir-bench-cutoff0123456789").join(MARKER), "{\"program\":\"mega").unwrap();
    // A marker that was copied from another run's directory names that one.
    let own = Workspace::create(parent.path(), 1, 4).unwrap();
    let (path, own_path) = (at("megadir-bench-copied0123456789").join(MARKER), own.path().to_owned());
    abandon(own);
    std::fs::copy(own_path.join(MARKER), path).unwrap();
    std::fs::remove_dir_all(own_path).unwrap();
    std::fs::write(at("megadir-bench-afile00123456789"), "x").unwrap();
    let before = names(parent.path());
    let found = remove_leftovers(parent.path(), &beat()).unwrap();
    assert!(found.removed.is_empty(), "{:?}", found.removed);
    assert_eq!(found.left.len(), before.len() - 2, "{:?}", found.left);
    assert_eq!(names(parent.path()), before);
    assert!(full.into_iter().all(|name| at(name).join("precious").exists()));
}

#[test]
fn unfinished_directories_are_removed_at_every_stage() {
    let parent = tempfile::tempdir().unwrap();
    for (name, marker) in [("a", None), ("b", Some("")), ("c", Some("{\"program\":\"mega"))] {
        let at = parent.path().join(format!("megadir-bench-{}", name.repeat(16)));
        std::fs::create_dir(&at).unwrap();
        if let Some(text) = marker {
            std::fs::write(at.join(MARKER), text).unwrap();
        }
    }
    let found = remove_leftovers(parent.path(), &beat()).unwrap();
    assert_eq!(found.removed.len(), 3, "{:?}", found.left);
    assert!(names(parent.path()).is_empty());
}

#[test]
fn a_data_set_in_which_something_is_open_is_removed_when_it_is_closed() {
    let parent = tempfile::tempdir().unwrap();
    let own = Workspace::create(parent.path(), 1, 1).unwrap();
    drop(own.data_directory("data0").unwrap());
    let open = std::fs::File::create(own.path().join("data0").join("open")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(open);
        });
        own.remove(&beat()).unwrap();
    });
    assert!(names(parent.path()).is_empty());
}

/// The process that is killed: makes and removes workspaces until it is. Nothing unless started for that.
#[test]
fn child_that_is_killed() {
    let Some(parent) = std::env::var_os(CHILD) else { return };
    let parent = Path::new(&parent);
    for seed in 0.. {
        let own = Workspace::create(parent, 1, seed).unwrap();
        drop(own.data_directory("data0").unwrap());
        for index in 0..20 {
            std::fs::write(own.path().join("data0").join(format!("file{index}")), "x").unwrap();
        }
        own.remove(&beat()).unwrap();
    }
}

#[test]
fn after_a_kill_at_any_moment_the_next_run_removes_everything() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::write(parent.path().join("precious"), "x").unwrap();
    let mut random = megadir_stats::permutation::SplitMix64::new(u64::from(std::process::id()));
    let mut left = 0;
    for _ in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["workspace::tests::windows::child_that_is_killed", "--exact", "--test-threads=1"])
            .env(CHILD, parent.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Once it has begun, at any moment of a turn.
        while names(parent.path()).len() == 1 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(random.next_u64() % 8_000));
        child.kill().unwrap();
        child.wait().unwrap();
        left += names(parent.path()).len() - 1;
        // What a process had locked and open goes a moment after it.
        let mut found = remove_leftovers(parent.path(), &beat()).unwrap();
        for _ in 0..500 {
            if names(parent.path()).len() == 1 {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
            found = remove_leftovers(parent.path(), &beat()).unwrap();
        }
        assert_eq!(names(parent.path()), ["precious"], "{:?}", found.left);
    }
    assert!(left > 0, "no kill left anything to remove: the test tests nothing");
}
