//! Windows: a run killed at any moment leaves nothing behind and touches nothing else.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::super::{MARKER, Workspace, find_leftovers, remove_leftovers};

use super::names;

/// Abandons a workspace like a killed process: the lock is released, the directory stays.
fn abandon(workspace: Workspace) -> String {
    workspace.close().name
}

fn heartbeat() -> AtomicU64 {
    AtomicU64::new(0)
}

#[test]
fn a_run_removes_its_own_files_and_keeps_the_files_of_a_live_run() {
    let parent = tempfile::tempdir().unwrap();
    let own = Workspace::create(parent.path()).unwrap();
    drop(own.data_directory("data0").unwrap());
    for index in 0..100 {
        std::fs::write(own.path().join("data0").join(format!("file{index}")), "x").unwrap();
    }
    let living = Workspace::create(parent.path()).unwrap();
    let dead = Workspace::create(parent.path()).unwrap();
    std::fs::create_dir(dead.path().join("below")).unwrap();
    std::fs::write(dead.path().join("below").join("left"), "x").unwrap();
    let dead = abandon(dead);
    let would = find_leftovers(parent.path()).unwrap();
    assert_eq!(names(parent.path()).len(), 3, "nothing went yet");
    let found = remove_leftovers(parent.path(), &heartbeat()).unwrap();
    assert_eq!((&found.removed, &found.left), (&vec![dead], &vec![]));
    assert_eq!(found, would);
    drop(own.set_aside_data_directory("data0", "used1").unwrap());
    assert_eq!(names(own.path()), [MARKER, "data0", "used1"]);
    drop(own.renew_data_directory("used1", &heartbeat()).unwrap());
    own.remove(&heartbeat()).unwrap();
    assert_eq!(names(parent.path()), std::slice::from_ref(&living.name));
}

#[test]
fn similar_directories_of_others_stay() {
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
    // Nothing is created in a directory before its marker is complete.
    std::fs::write(at("megadir-bench-cutoff0123456789").join(MARKER), "{\"program\":\"mega").unwrap();
    // A marker copied from another run's directory names that directory.
    let own = Workspace::create(parent.path()).unwrap();
    let (path, own_path) = (at("megadir-bench-copied0123456789").join(MARKER), own.path().to_owned());
    abandon(own);
    std::fs::copy(own_path.join(MARKER), path).unwrap();
    std::fs::remove_dir_all(own_path).unwrap();
    std::fs::write(at("megadir-bench-afile00123456789"), "x").unwrap();
    let before = names(parent.path());
    let found = remove_leftovers(parent.path(), &heartbeat()).unwrap();
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
    let found = remove_leftovers(parent.path(), &heartbeat()).unwrap();
    assert_eq!(found.removed.len(), 3, "{:?}", found.left);
    assert!(names(parent.path()).is_empty());
}

#[test]
fn a_data_set_in_which_something_is_open_is_removed_when_it_is_closed() {
    let parent = tempfile::tempdir().unwrap();
    let own = Workspace::create(parent.path()).unwrap();
    drop(own.data_directory("data0").unwrap());
    let open = std::fs::File::create(own.path().join("data0").join("open")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(open);
        });
        own.remove(&heartbeat()).unwrap();
    });
    assert!(names(parent.path()).is_empty());
}
