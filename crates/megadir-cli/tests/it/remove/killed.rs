//! A kill at any moment leaves a smaller tree, and the same command continues.

use std::path::Path;

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use super::witness::{Witness, scratch_in_memory};
use crate::support::{fill, megadir, run};

const DIRECTORIES: usize = 6;

/// Creates a tree of 48 files and 18 directories, or restores its missing parts.
fn tree(at: &Path) {
    for directory in 0..DIRECTORIES {
        fill(at, &[&format!("t/{directory}/a/b/")]);
        for file in 0..4 {
            fill(at, &[&format!("t/{directory}/{file}"), &format!("t/{directory}/a/{file}")]);
        }
    }
}

#[test]
fn killed_removal_resumes() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let witness = Witness::make(&at.join("outside"));
    let (mut untouched, mut midway, mut removed) = (0, 0, 0);
    for threads in ["1", "2"] {
        let command = || {
            tree(at);
            if !at.join("t/link").is_symlink() {
                std::os::unix::fs::symlink("../outside", at.join("t/link")).unwrap();
            }
            megadir(at, &["remove", "--yes", "--threads", threads, "t"])
        };
        let look = |call: &str| {
            match std::fs::read_dir(at.join("t")).map(Iterator::count) {
                Ok(left) if left == DIRECTORIES + 1 => untouched += 1,
                Ok(_) => midway += 1,
                Err(_) => removed += 1,
            }
            // Removing a path that is already gone fails with 3.
            let code = if at.join("t").exists() { 0 } else { 3 };
            let again = run(at, &["remove", "--yes", "t"]);
            assert_eq!(again.code, Some(code), "before {call}: {again:?}");
            assert!(!at.join("t").exists(), "before {call}");
        };
        before_each_call(CHANGING_CALLS, if full() { 1 } else { 3 }, command, look);
    }
    witness.is_untouched();
    assert!(
        midway > 5,
        "killed before {untouched} times, after {removed} times, while it removed {midway} times"
    );
}
