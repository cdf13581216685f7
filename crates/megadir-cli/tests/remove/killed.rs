//! Killed at any moment: what is left is a smaller tree, and the same command goes on.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use megadir_testkit::require::full;
use megadir_testkit::rng::Rng;

use crate::support::{fill, megadir, run};
use crate::witness::{Witness, scratch_in_memory};

/// Makes a tree of 2000 files and 60 directories.
fn tree(at: &Path) {
    for directory in 0..20 {
        fill(at, &[&format!("t/{directory}/a/b/")]);
        for file in 0..50 {
            fill(at, &[&format!("t/{directory}/{file}"), &format!("t/{directory}/a/{file}")]);
        }
    }
}

#[test]
fn a_removal_killed_at_any_moment_goes_on() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let witness = Witness::make(&at.join("outside"));
    std::fs::create_dir(at.join("t")).unwrap();
    std::os::unix::fs::symlink("../outside", at.join("t/link")).unwrap();
    tree(at);
    let started = Instant::now();
    assert_eq!(run(at, &["remove", "--yes", "t"]).code, Some(0));
    let mut whole = started.elapsed();
    let mut random = Rng::new(7);
    let (mut early, mut midway, mut late) = (0, 0, 0);
    for round in 0..if full() { 200 } else { 20 } {
        tree(at);
        let mut command = megadir(at, &["remove", "--yes", "--threads", "2", "t"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let part = random.within(0, 999) as u32;
        std::thread::sleep(whole * part / 1000 + Duration::from_micros(u64::from(part)));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = std::fs::read_dir(at.join("t")).map(Iterator::count);
        match left {
            Ok(20) => early += 1,
            Ok(_) => midway += 1,
            Err(_) => late += 1,
        }
        // The first one may have been slower or faster than those that follow.
        match left {
            Ok(20) => whole = whole * 9 / 8,
            Ok(_) => {}
            Err(_) => whole = whole * 7 / 8,
        }
        let again = run(at, &["remove", "--yes", "t"]);
        // What was gone by then is no longer there to be removed.
        assert_eq!(again.code, Some(if left.is_ok() { 0 } else { 3 }), "round {round}: {again:?}");
        assert!(!at.join("t").exists(), "round {round}");
    }
    witness.is_untouched();
    assert!(midway > 0, "killed before {early} times, after {late} times, never while it removed");
}
