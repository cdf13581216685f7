//! The optional examiner `uring` passes the suite of all examiners.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::path::Path;

use megadir::{Dir, examiner};
use megadir_testkit::examining::examining;
use megadir_testkit::mount::{Mount, TMPFS};
use megadir_testkit::{require, require::unavailable};

fn suite(directory: &Path) {
    let uring = examiner("uring").unwrap();
    // Containers may forbid it. Then it must report that for any directory.
    if let Err(error) = uring.probe(&Dir::open(directory).unwrap()) {
        unavailable("uring::suite", &error.reason());
        assert_eq!(examining(uring, directory).examined, 0);
        return;
    }
    let outcome = examining(uring, directory);
    assert!(outcome.examined > 0 && outcome.refused == 0, "{outcome:?}");
}

#[test]
fn uring_is_equal_to_std_here() {
    suite(tempfile::tempdir().unwrap().path());
}

#[test]
fn uring_is_equal_to_std_on_tmpfs() {
    suite(&require!(Mount::make(&TMPFS)).path());
}
