//! A run killed at any moment leaves nothing behind and touches nothing else. Each system has tests for its critical moments.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use megadir_testkit::tree::names;

use super::{Workspace, remove_leftovers};

const CHILD: &str = "MEGADIR_TEST_WORKSPACE_IN";
/// Wine starts processes slowly.
const KILLS: usize = if cfg!(windows) { 12 } else { 60 };

/// The process to be killed: creates and removes workspaces forever. Does nothing unless started for that purpose.
#[test]
fn child_that_is_killed() {
    let Some(parent) = std::env::var_os(CHILD) else { return };
    loop {
        let own = Workspace::create(Path::new(&parent)).unwrap();
        drop(own.data_directory("data0").unwrap());
        for index in 0..30 {
            std::fs::write(own.path().join("data0").join(format!("file{index}")), "x").unwrap();
        }
        own.remove(&AtomicU64::new(0)).unwrap();
    }
}

#[test]
fn after_a_kill_at_any_moment_the_next_run_removes_everything() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::write(parent.path().join("precious"), "x").unwrap();
    let mut random = megadir_stats::permutation::SplitMix64::new(u64::from(std::process::id()));
    let mut left = 0;
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["workspace::tests::child_that_is_killed", "--exact", "--test-threads=1"])
            .env(CHILD, parent.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Once it has begun, kill it at any microsecond of the few milliseconds of an iteration.
        while names(parent.path()).len() == 1 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(random.next_u64() % 8_000));
        child.kill().unwrap();
        child.wait().unwrap();
        left += names(parent.path()).len() - 1;
        // On Windows, locks and handles of a process are released shortly after its end.
        let mut tries = if cfg!(windows) { 500 } else { 1 };
        loop {
            let found = remove_leftovers(parent.path(), &AtomicU64::new(0)).unwrap();
            tries -= 1;
            if tries == 0 {
                assert!(found.left.is_empty(), "{:?}", found.left);
            }
            if tries == 0 || names(parent.path()).len() == 1 {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(names(parent.path()), ["precious"]);
    }
    assert!(left > 0, "none of {KILLS} kills left anything to remove: the test tests nothing");
}
